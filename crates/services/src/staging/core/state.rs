//! The service's state, and what each request does to it.

use super::super::message::{Entry as Listed, Grant, Hello, Reply, Request, Stats};
use super::super::{hash, Location};
use super::admission::{Reservation, AHEAD};
use super::peers::{Granted, Peer, PeerId};
use super::pool::{Extent, Pool};
use super::slots::Slots;
use super::waiting::Waiting;
use super::{Ground, Output};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use thalweg_foundation::array::Shape;
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Kind, Nanos};

/// What to do with a put when memory is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait, within the caller's deadline, until somebody makes room.
    #[default]
    Block,
    /// Refuse.
    Fail,
    /// Drop the oldest versions that nobody is reading.
    DropOldest,
}

/// Limits of the service.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The most memory to take from the system.
    pub limit: Bytes,
    /// What to do when it is full.
    pub when_full: WhenFull,
    /// Slots of the directory, a power of two; half as many versions can be held.
    pub slots: usize,
    /// The most requests of one client that may wait at a time.
    pub waits_per_client: usize,
}

impl Config {
    /// Versions that can be held.
    pub fn entries_max(&self) -> usize {
        self.slots / 2
    }
}

/// One version.
#[derive(Debug)]
pub(super) struct Entry {
    pub ticket: Ticket,
    pub slot: u64,
    pub extent: Extent,
    pub shape: Shape,
}

/// A namespace and a key in it.
pub(super) type Place = (Name, Key);

/// The staging service.
#[derive(Debug)]
pub struct Staging {
    pub(super) config: Config,
    pub(super) now: Nanos,
    pub(super) pool: Pool,
    /// Memory that was used, or prepared for use, at some time.
    pub(super) prepared: u64,
    pub(super) slots: Slots,
    pub(super) entries: BTreeMap<Place, Entry>,
    pub(super) by_age: BTreeMap<Ticket, Place>,
    pub(super) peers: BTreeMap<PeerId, Peer>,
    pub(super) retired: Vec<(Ticket, Extent)>,
    pub(super) queue: VecDeque<Reservation>,
    pub(super) waiting: Waiting,
    pub(super) deadlines: BTreeSet<(Nanos, PeerId, u64)>,
    pub(super) stats: Stats,
    next_ticket: u64,
    next_grant: u64,
}

impl Staging {
    /// An empty service.
    pub fn new(config: Config) -> Staging {
        Staging {
            config,
            now: Nanos(0),
            pool: Pool::over(0, config.limit),
            prepared: 0,
            slots: Slots::new(config.slots),
            entries: BTreeMap::new(),
            by_age: BTreeMap::new(),
            peers: BTreeMap::new(),
            retired: Vec::new(),
            queue: VecDeque::new(),
            waiting: Waiting::default(),
            deadlines: BTreeSet::new(),
            stats: Stats { limit_bytes: config.limit.0, ..Stats::default() },
            next_ticket: Ticket::FIRST.0,
            next_grant: 1,
        }
    }

    /// When `Tick` is needed next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.deadlines.first().map(|(at, _, _)| *at)
    }

    /// Counters, as a client would get them.
    pub fn stats(&self) -> Stats {
        let granted = self.peers.values().flat_map(|p| p.grants.values());
        Stats {
            clients: self.peers.len() as u64,
            entries: self.entries.len() as u64,
            granted_bytes: granted.map(|g| g.extent.bytes).sum(),
            retired_bytes: self.retired.iter().map(|(_, e)| e.bytes).sum(),
            memory_bytes: self.prepared,
            blocked_now: self.queue.len() as u64,
            waiting_now: self.waiting.len() as u64,
            ..self.stats
        }
    }

    pub(super) fn joined(&mut self, peer: PeerId, hello: Hello, takes_spares: bool, ground: &mut dyn Ground) {
        // The first client's first put finds its pages there.
        self.prepare_up_to(0, AHEAD, ground);
        self.peers.entry(peer).or_insert_with(|| Peer::new(hello, takes_spares));
    }

    pub(super) fn namespace_of(&self, peer: PeerId) -> Option<Name> {
        self.peers.get(&peer).map(|p| p.namespace.clone())
    }

    pub(super) fn gone(&mut self, peer: PeerId, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        let Some(left) = self.peers.remove(&peer) else {
            return;
        };
        left.grants.into_values().for_each(|g| self.pool.release(g.extent));
        self.queue.retain(|r| r.peer != peer);
        self.waiting.forget(peer);
        self.deadlines.retain(|(_, p, _)| *p != peer);
        self.sweep(ground);
        self.admit(ground, out);
    }

    pub(super) fn request(
        &mut self,
        from: PeerId,
        id: u64,
        namespace: Name,
        body: Request,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Option<Reply> {
        match body {
            Request::Reserve { bytes, key, replace, within } => {
                let place = (namespace, key);
                if !replace && self.entries.contains_key(&place) {
                    return Some(there_already(&place));
                }
                self.reserve(from, id, bytes, place, within, ground, out)
            }
            Request::Put { grant, key, shape, replace } => {
                Some(self.put(from, grant, (namespace, key), shape, replace, ground, out))
            }
            Request::Abandon { grant } => Some(self.abandon(from, grant, ground, out)),
            Request::Wait { keys, all, within } => self.wait(from, id, &namespace, keys, all, within),
            Request::Cancel { request } => {
                self.queue.retain(|r| (r.peer, r.id) != (from, request));
                self.waiting.remove(from, request);
                self.deadlines.retain(|(_, p, i)| (*p, *i) != (from, request));
                // Who waited behind it may fit.
                self.admit(ground, out);
                Some(Reply::Done)
            }
            Request::Delete { key } => {
                let there = self.remove(&(namespace, key), ground);
                self.stats.deletes += u64::from(there);
                self.admit(ground, out);
                Some(Reply::Deleted(there))
            }
            Request::List { after } => Some(self.list(namespace, after)),
            Request::DropNamespace => {
                let places: Vec<Place> =
                    self.in_namespace(&namespace).map(|(place, _)| place.clone()).collect();
                places.iter().for_each(|place| {
                    self.remove(place, ground);
                });
                self.stats.deletes += places.len() as u64;
                self.admit(ground, out);
                Some(Reply::Dropped(places.len() as u64))
            }
            Request::Stats => {
                self.sweep(ground);
                self.admit(ground, out);
                Some(Reply::Stats(self.stats()))
            }
            Request::Released => {
                self.sweep(ground);
                self.admit(ground, out);
                None
            }
        }
    }

    /// Hands `extent` to `peer`.
    pub(super) fn grant(&mut self, peer: PeerId, extent: Extent, spare: bool) -> Option<Grant> {
        let id = self.next_grant;
        self.next_grant += 1;
        self.peers.get_mut(&peer)?.grants.insert(id, Granted { extent, spare });
        Some(Grant { id, segment: extent.segment, offset: extent.offset, bytes: Bytes(extent.bytes) })
    }

    #[allow(clippy::too_many_arguments)]
    fn put(
        &mut self,
        from: PeerId,
        grant: u64,
        place: Place,
        shape: Shape,
        replace: bool,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        let Some(granted) = self.peers.get_mut(&from).and_then(|p| p.grants.remove(&grant)) else {
            return refused(
                Kind::Invalid,
                "stage.put",
                format!("grant {grant} is not in this client's hands"),
            );
        };
        let extent = granted.extent;
        if self.is_crowded(&place) && self.config.when_full == WhenFull::DropOldest {
            self.drop_oldest(ground);
        }
        if let Err(reply) = self.admissible(&place, &shape, extent, replace) {
            self.pool.release(extent);
            self.admit(ground, out);
            return reply;
        }
        let hash = hash(&place.0, &place.1);
        let Some(slot) = self.slots.take(hash) else {
            self.pool.release(extent);
            self.admit(ground, out);
            return refused(
                Kind::Full,
                "stage.put",
                "the directory's window for this key is full; delete versions",
            );
        };
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let location = Location { segment: extent.segment, offset: extent.offset, shape };
        // The new version is shown before the old one is hidden, so that there is always one.
        ground.publish(slot, ticket, hash, &location);
        self.remove(&place, ground);
        self.stats.puts += 1;
        self.stats.put_bytes += shape.size().0;
        self.stats.entry_bytes += shape.size().0;
        self.by_age.insert(ticket, place.clone());
        self.waiting.appeared(&place, &mut self.deadlines, out);
        self.entries.insert(place, Entry { ticket, slot, extent, shape });
        self.admit(ground, out);
        Reply::Stored { spare: self.spare(from, extent.bytes, ground) }
    }

    fn admissible(&self, place: &Place, shape: &Shape, extent: Extent, replace: bool) -> Result<(), Reply> {
        let there = self.entries.contains_key(place);
        if shape.size().0 > extent.bytes {
            let detail = format!("shape {shape} does not fit the {} granted", Bytes(extent.bytes));
            return Err(refused(Kind::Shape, "stage.put", detail));
        }
        if there && !replace {
            return Err(there_already(place));
        }
        let most = self.config.entries_max();
        if !there && self.entries.len() >= most {
            let detail = format!("{most} versions are held, which is the limit; delete some");
            return Err(refused(Kind::Full, "stage.put", detail));
        }
        Ok(())
    }

    fn abandon(&mut self, from: PeerId, grant: u64, ground: &mut dyn Ground, out: &mut Vec<Output>) -> Reply {
        match self.peers.get_mut(&from).and_then(|p| p.grants.remove(&grant)) {
            Some(granted) => {
                self.pool.release(granted.extent);
                self.admit(ground, out);
                Reply::Done
            }
            None => refused(
                Kind::Invalid,
                "stage.abandon",
                format!("grant {grant} is not in this client's hands"),
            ),
        }
    }

    /// Removes a version; its memory is free once nobody reads it.
    pub(super) fn remove(&mut self, place: &Place, ground: &mut dyn Ground) -> bool {
        let Some(entry) = self.entries.remove(place) else {
            return false;
        };
        ground.withdraw(entry.slot);
        self.slots.free(entry.slot).into_iter().for_each(|slot| ground.clear(slot));
        self.by_age.remove(&entry.ticket);
        self.stats.entry_bytes -= entry.shape.size().0;
        self.waiting.vanished(place);
        if ground.leased(entry.ticket) {
            self.retired.push((entry.ticket, entry.extent));
        } else {
            self.pool.release(entry.extent);
        }
        true
    }

    fn in_namespace<'a>(&'a self, namespace: &'a Name) -> impl Iterator<Item = (&'a Place, &'a Entry)> {
        let first = Bound::Included((namespace.clone(), Key::first()));
        self.entries.range((first, Bound::Unbounded)).take_while(move |(place, _)| place.0 == *namespace)
    }

    fn list(&self, namespace: Name, after: Option<Key>) -> Reply {
        const PAGE: usize = 512;
        let from = match after {
            Some(key) => Bound::Excluded((namespace.clone(), key)),
            None => Bound::Included((namespace.clone(), Key::first())),
        };
        let mut rest =
            self.entries.range((from, Bound::Unbounded)).take_while(|(place, _)| place.0 == namespace);
        let entries = rest
            .by_ref()
            .take(PAGE)
            .map(|((_, key), e)| Listed { key: key.clone(), shape: e.shape })
            .collect();
        Reply::Entries { entries, more: rest.next().is_some() }
    }
}

fn there_already(place: &Place) -> Reply {
    let detail = format!("{} is there already; put a new version, or replace it", place.1);
    refused(Kind::Exists, "stage.put", detail)
}

pub(super) fn refused(kind: Kind, operation: &str, detail: impl std::fmt::Display) -> Reply {
    Reply::Failed(Error::new(kind, operation, detail))
}
