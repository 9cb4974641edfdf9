//! Clients that wait for versions to appear.

use super::super::message::{Reply, WAIT_KEYS_MAX};
use super::state::{refused, Place, Staging};
use super::Output;
use super::PeerId;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// One wait.
#[derive(Debug)]
pub(super) struct Waiter {
    pub places: Vec<Place>,
    pub all: bool,
    /// Places that are not there, counted as often as they are named.
    pub missing: usize,
    pub asked: Nanos,
    pub deadline: Nanos,
}

/// A client and the number of its request.
pub(super) type Id = (PeerId, u64);

/// All waits, by who waits and by what for.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    waiters: BTreeMap<Id, Waiter>,
    by_place: BTreeMap<Place, Vec<Id>>,
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    pub fn has(&self, peer: PeerId, id: u64) -> bool {
        self.waiters.contains_key(&(peer, id))
    }

    pub fn of(&self, peer: PeerId) -> usize {
        self.waiters.range((peer, 0)..=(peer, u64::MAX)).count()
    }

    pub fn ids(&self) -> impl Iterator<Item = (&Id, &Waiter)> {
        self.waiters.iter()
    }

    fn add(&mut self, id: Id, waiter: Waiter) {
        for place in &waiter.places {
            self.by_place.entry(place.clone()).or_default().push(id);
        }
        self.waiters.insert(id, waiter);
    }

    pub fn remove(&mut self, peer: PeerId, id: u64) -> Option<Waiter> {
        let waiter = self.waiters.remove(&(peer, id))?;
        for place in &waiter.places {
            if let Some(ids) = self.by_place.get_mut(place) {
                ids.retain(|i| *i != (peer, id));
                if ids.is_empty() {
                    self.by_place.remove(place);
                }
            }
        }
        Some(waiter)
    }

    pub fn forget(&mut self, peer: PeerId) {
        let ids: Vec<Id> = self.waiters.range((peer, 0)..=(peer, u64::MAX)).map(|(id, _)| *id).collect();
        for (peer, id) in ids {
            self.remove(peer, id);
        }
    }

    /// A version is there now: answers everybody for whom that is enough.
    pub fn appeared(
        &mut self,
        place: &Place,
        deadlines: &mut BTreeSet<(Nanos, PeerId, u64)>,
        out: &mut Vec<Output>,
    ) {
        let Some(ids) = self.by_place.get(place) else {
            return;
        };
        let mut ready = Vec::new();
        for id in ids {
            if let Some(waiter) = self.waiters.get_mut(id) {
                waiter.missing -= 1;
                if (!waiter.all || waiter.missing == 0) && ready.last() != Some(id) {
                    ready.push(*id);
                }
            }
        }
        for (peer, id) in ready {
            if let Some(waiter) = self.remove(peer, id) {
                deadlines.remove(&(waiter.deadline, peer, id));
                let indices = waiter.places.iter().enumerate().filter(|(_, p)| waiter.all || *p == place);
                let reply = Reply::Ready(indices.map(|(i, _)| i as u32).collect());
                out.push(Output::Send { to: peer, id, reply });
            }
        }
    }

    /// A version is gone: who waits for it and others must wait for it again.
    pub fn vanished(&mut self, place: &Place) {
        for id in self.by_place.get(place).into_iter().flatten() {
            if let Some(waiter) = self.waiters.get_mut(id) {
                waiter.missing += 1;
            }
        }
    }
}

impl Staging {
    pub(super) fn wait(
        &mut self,
        peer: PeerId,
        id: u64,
        namespace: &Name,
        keys: Vec<Key>,
        all: bool,
        within: Nanos,
    ) -> Option<Reply> {
        if self.is_pending(peer, id) {
            return None;
        }
        if keys.is_empty() || keys.len() > WAIT_KEYS_MAX {
            let detail = format!("{} keys; accepted are 1 to {WAIT_KEYS_MAX}", keys.len());
            return Some(refused(Kind::Invalid, "stage.wait", detail));
        }
        let places: Vec<Place> = keys.into_iter().map(|key| (namespace.clone(), key)).collect();
        let there: Vec<u32> =
            (0..places.len() as u32).filter(|i| self.entries.contains_key(&places[*i as usize])).collect();
        let missing = places.len() - there.len();
        if missing == 0 || (!all && !there.is_empty()) {
            return Some(Reply::Ready(there));
        }
        if let Err(e) = self.may_wait(peer, "stage.wait") {
            return Some(Reply::Failed(e));
        }
        let waiter = Waiter { places, all, missing, asked: self.now, deadline: self.now.after(within) };
        if within == Nanos(0) {
            return Some(refused(Kind::Timeout, "stage.wait", self.still_missing(&waiter, peer)));
        }
        self.deadlines.insert((waiter.deadline, peer, id));
        self.waiting.add((peer, id), waiter);
        None
    }

    /// Refuses a client with too many waits.
    pub(super) fn may_wait(&self, peer: PeerId, operation: &str) -> Result<()> {
        let most = self.config.waits_per_client;
        let gets = self.gets.range((peer, 0)..=(peer, u64::MAX)).count();
        let opens = self.describing.range((peer, 0)..=(peer, u64::MAX)).count();
        if self.waiting.of(peer) + gets + opens < most {
            return Ok(());
        }
        let detail = format!("{most} waits of this client are pending already");
        Err(Error::new(Kind::Full, operation, detail))
    }

    /// Names the first missing key and everybody who could put it.
    pub(super) fn still_missing(&self, waiter: &Waiter, peer: PeerId) -> String {
        let missing: Vec<&Place> = waiter.places.iter().filter(|p| !self.entries.contains_key(*p)).collect();
        let first = missing
            .first()
            .map_or_else(String::new, |(space, key)| format!("{key} in namespace {:?}", space.as_str()));
        let first = match missing.len() {
            0 | 1 => first,
            n => format!("{first} (and {} more of {} keys)", n - 1, waiter.places.len()),
        };
        let others = self.others(peer, &|space| waiter.places.iter().any(|(s, _)| s == space));
        format!("{first} was not put within {}; connected: {others}", waiter.deadline.since(waiter.asked))
    }
    /// Who else is connected in one of the namespaces.
    pub(super) fn others(&self, peer: PeerId, namespace: &dyn Fn(&Name) -> bool) -> String {
        const NAMED: usize = 8;
        let all = self.peers.iter().filter(|(id, other)| **id != peer && namespace(&other.namespace));
        let names: Vec<String> = all.take(NAMED).map(|(_, other)| other.to_string()).collect();
        match names.is_empty() {
            true if self.config.private => {
                "nobody else, as this is a server of this process alone: it was given no address, and THALWEG_ADDRESS is not \
                 set"
                    .to_string()
            }
            true => "nobody else".to_string(),
            false => names.join(", "),
        }
    }
}
