//! The service's state, and what each request does to it.

use super::super::hash;
use super::super::message::{Entry as Listed, Grant, Purpose, Reply, Request, Stats};
use super::admission::Reservation;
use super::get::{Describing, Get};
use super::peers::{Granted, Peer};
use super::pool::Extent;
use super::replica::Replica;
use super::store::{Store, Stored, AHEAD};
use super::task::Running;
use super::variable::Variable;
use super::waiting::{Id, Waiting};
use super::PeerId;
use super::{Ground, Output};
use crate::greeting::Hello;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use thalweg_foundation::array::Shape;
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result, Version};

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
    /// The most memory for replicas in other layouts; they give way to what is put.
    pub replicas: Bytes,
    /// Whether it is for one process alone, because nobody said where another one is.
    pub private: bool,
    /// The size of the file into which the oldest arrays are moved when memory is short; none: there is no such file.
    pub spill: Option<Bytes>,
}

impl Config {
    /// Arrays, pieces and replicas that can be held.
    pub fn entries_max(&self) -> usize {
        self.slots / 2
    }

    /// Replicas among them.
    pub fn replicas_max(&self) -> usize {
        (self.entries_max() / 4).max(1)
    }
}

/// An array of its own.
#[derive(Debug)]
pub(super) struct Entry {
    pub age: u64,
    pub stored: Stored,
}

/// A namespace and a key in it.
pub(super) type Place = (Name, Key);
/// A namespace and a variable in it.
pub(super) type VariablePlace = (Name, Name);

/// Whose bytes they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An array of its own.
    Array(Place),
    /// A version of a variable.
    Instance(VariablePlace, Version),
}

impl Owner {
    /// Where an array of its own stands.
    pub fn array(&self) -> Option<&Place> {
        match self {
            Owner::Array(place) => Some(place),
            Owner::Instance(..) => None,
        }
    }
}

/// The staging service.
#[derive(Debug)]
pub struct Staging {
    pub(super) config: Config,
    pub(super) now: Nanos,
    pub(super) store: Store,
    pub(super) entries: BTreeMap<Place, Entry>,
    pub(super) variables: BTreeMap<VariablePlace, Variable>,
    pub(super) by_age: BTreeMap<u64, Owner>,
    pub(super) peers: BTreeMap<PeerId, Peer>,
    pub(super) queue: VecDeque<Reservation>,
    pub(super) waiting: Waiting,
    pub(super) gets: BTreeMap<Id, Get>,
    pub(super) describing: BTreeMap<Id, Describing>,
    pub(super) deadlines: BTreeSet<(Nanos, PeerId, u64)>,
    pub(super) tasks: BTreeMap<u64, Running>,
    /// Replicas, abandoned ones with them.
    pub(super) replicas: usize,
    /// Replicas of versions that are gone, into which tasks still write.
    pub(super) abandoned: BTreeMap<u64, Replica>,
    /// Variables of which a version was dropped in this step.
    pub(super) dropped: BTreeSet<VariablePlace>,
    pub(super) stats: Stats,
    /// Nothing is moved into the spill file before this time.
    pub(super) no_spill_before: Nanos,
    /// What was not used until then is given back to the system.
    pub(super) give_back_at: Nanos,
    pub(super) next_age: u64,
    pub(super) next_task: u64,
    pub(super) next_replica: u64,
    next_grant: u64,
}

impl Staging {
    /// An empty service.
    pub fn new(config: Config) -> Staging {
        Staging {
            config,
            now: Nanos(0),
            store: Store::new(config.limit, config.spill, config.slots),
            entries: BTreeMap::new(),
            variables: BTreeMap::new(),
            by_age: BTreeMap::new(),
            peers: BTreeMap::new(),
            queue: VecDeque::new(),
            waiting: Waiting::default(),
            gets: BTreeMap::new(),
            describing: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            tasks: BTreeMap::new(),
            replicas: 0,
            abandoned: BTreeMap::new(),
            dropped: BTreeSet::new(),
            stats: Stats {
                limit_bytes: config.limit.0,
                replica_limit_bytes: config.replicas.0,
                spill_limit_bytes: config.spill.map_or(0, |bytes| bytes.0),
                ..Stats::default()
            },
            no_spill_before: Nanos(0),
            give_back_at: Nanos(0),
            next_age: 1,
            next_task: 1,
            next_replica: 1,
            next_grant: 1,
        }
    }

    /// When `Tick` is needed next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let give_back = self.store.excess().then_some(self.give_back_at);
        self.deadlines.first().map(|(at, _, _)| *at).into_iter().chain(give_back).min()
    }

    /// Counters, as a client would get them.
    pub fn stats(&self) -> Stats {
        let granted = self.peers.values().flat_map(|p| p.grants.values());
        Stats {
            clients: self.peers.len() as u64,
            entries: self.entries.len() as u64
                + self.variables.values().map(|v| v.versions.len() as u64).sum::<u64>(),
            granted_bytes: granted.map(|g| g.extent.bytes).sum(),
            retired_bytes: self.store.retired_bytes(),
            memory_bytes: self.store.prepared(),
            blocked_now: self.queue.len() as u64,
            waiting_now: (self.waiting.len() + self.gets.len() + self.describing.len()) as u64,
            variables: self.variables.len() as u64,
            spilled_bytes: self.store.spilled_bytes(),
            tasks_now: self.tasks.len() as u64,
            ..self.stats
        }
    }

    pub(super) fn joined(&mut self, peer: PeerId, hello: Hello, takes_spares: bool, ground: &mut dyn Ground) {
        // The first client's first put finds its pages there.
        self.store.prepare_up_to(AHEAD, ground);
        self.peers.entry(peer).or_insert_with(|| Peer::new(hello, takes_spares));
    }

    pub(super) fn namespace_of(&self, peer: PeerId) -> Option<Name> {
        self.peers.get(&peer).map(|p| p.namespace.clone())
    }

    pub(super) fn gone(&mut self, peer: PeerId, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        let Some(left) = self.peers.remove(&peer) else {
            return;
        };
        let name: std::sync::Arc<str> = left.to_string().into();
        left.grants.into_values().for_each(|g| self.store.release(g.extent));
        self.queue.retain(|r| r.peer != peer);
        self.waiting.forget(peer);
        let gets: Vec<Id> = self.gets.range((peer, 0)..=(peer, u64::MAX)).map(|(id, _)| *id).collect();
        gets.into_iter().for_each(|id| {
            self.forget_get(id);
        });
        self.describing.retain(|id, _| id.0 != peer);
        self.forget_summaries(|(asker, _)| asker == peer);
        self.deadlines.retain(|(_, p, _)| *p != peer);
        self.writer_left(peer, &left.namespace, &name);
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
            Request::Reserve { bytes, key, purpose: Purpose::Array { replace }, within } => {
                let place = (namespace, key);
                if !replace && self.entries.contains_key(&place) {
                    return Some(Reply::Failed(there_already(&place)));
                }
                self.reserve(from, id, bytes, Owner::Array(place), within, ground, out)
            }
            Request::Reserve { bytes, key, purpose: Purpose::Piece, within } => {
                match self.may_put(&namespace, &key, None) {
                    Ok(()) => {
                        let owner = Owner::Instance((namespace, key.name), key.version);
                        self.reserve(from, id, bytes, owner, within, ground, out)
                    }
                    Err(e) => Some(Reply::Failed(e)),
                }
            }
            Request::Put { grant, key, shape, replace } => {
                Some(self.put(from, grant, (namespace, key), shape, replace, ground, out))
            }
            Request::Abandon { grant } => Some(self.abandon(from, grant, ground, out)),
            Request::Wait { keys, all, within } => self.wait(from, id, &namespace, keys, all, within),
            Request::Cancel { request } => {
                self.queue.retain(|r| (r.peer, r.id) != (from, request));
                self.waiting.remove(from, request);
                self.forget_get((from, request));
                self.forget_summaries(|asker| asker == (from, request));
                self.describing.remove(&(from, request));
                self.deadlines.retain(|(_, p, i)| (*p, *i) != (from, request));
                // Who waited behind it may fit.
                self.admit(ground, out);
                Some(Reply::Done)
            }
            Request::Delete { key } => {
                let there = self.remove_array(&(namespace, key), ground);
                self.stats.deletes += u64::from(there);
                self.admit(ground, out);
                Some(Reply::Deleted(there))
            }
            Request::List { after } => Some(self.list(namespace, after)),
            Request::DropNamespace => {
                let places: Vec<Place> =
                    self.in_namespace(&namespace).map(|(place, _)| place.clone()).collect();
                places.iter().for_each(|place| {
                    self.remove_array(place, ground);
                });
                let versions = self.drop_variables(&namespace, ground, out);
                let all = places.len() as u64 + versions;
                self.stats.deletes += all;
                self.admit(ground, out);
                Some(Reply::Dropped(all))
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
            Request::Define { name, definition, part } => {
                Some(self.define((namespace, name), definition, part, out))
            }
            Request::Describe { name, within } => self.describe(from, id, (namespace, name), within),
            Request::Variables { after } => Some(self.list_variables(namespace, after)),
            Request::Annotate { name, attribute, value } => {
                Some(self.annotate(&(namespace, name), attribute, value))
            }
            Request::PutPiece { grant, key, of, region, put, layout } => {
                Some(self.put_piece(from, grant, namespace, key, (of, region, put, layout), ground, out))
            }
            Request::Refer { key, of, region, put, layout, address, source } => Some(self.refer(
                from,
                namespace,
                key,
                (of, region, put, layout),
                (address, source),
                ground,
                out,
            )),
            Request::Get { name, of, which, region, wish, within } => {
                self.get((from, id), ((namespace, name), of), which, region, wish, within, ground, out)
            }
            Request::Seal { key, writer } => Some(self.seal(namespace, key, writer, ground, out)),
            Request::Release { key } => Some(self.release_version(namespace, &key, ground, out)),
            Request::Versions { name, after } => Some(self.list_versions(&(namespace, name), after)),
            Request::Patterns { name } => Some(match self.variable(&(namespace, name)) {
                Ok(variable) => Reply::Patterns(variable.habits()),
                Err(e) => Reply::Failed(e),
            }),
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
        self.make_place(Some(&place), ground);
        if let Err(e) = self.admissible(&place, &shape, extent, replace) {
            self.store.release(extent);
            self.admit(ground, out);
            return Reply::Failed(e);
        }
        let hash = hash(&place.0, &place.1);
        // The new version is shown before the old one is hidden, so that there is always one.
        let Some(stored) = self.store.publish(Some(hash), extent, shape, ground) else {
            self.store.release(extent);
            self.admit(ground, out);
            return refused(Kind::Full, "stage.put", CROWDED);
        };
        self.remove_array(&place, ground);
        self.stats.puts += 1;
        self.stats.put_bytes += shape.size().0;
        self.stats.entry_bytes += shape.size().0;
        let age = self.aged(Owner::Array(place.clone()));
        self.waiting.appeared(&place, &mut self.deadlines, out);
        self.entries.insert(place, Entry { age, stored });
        self.admit(ground, out);
        Reply::Stored { spare: self.spare(from, extent.bytes, ground) }
    }

    /// A place in the order in which things are dropped or spilled.
    pub(super) fn aged(&mut self, owner: Owner) -> u64 {
        let age = self.next_age;
        self.next_age += 1;
        self.by_age.insert(age, owner);
        age
    }

    fn admissible(&self, place: &Place, shape: &Shape, extent: Extent, replace: bool) -> Result<()> {
        let there = self.entries.contains_key(place);
        if shape.size().0 > extent.bytes {
            let detail = format!("shape {shape} does not fit the {} granted", Bytes(extent.bytes));
            return Err(Error::new(Kind::Shape, "stage.put", detail));
        }
        if there && !replace {
            return Err(there_already(place));
        }
        let most = self.config.entries_max();
        if self.is_crowded(Some(place)) {
            let detail = format!("{most} versions are held, which is the limit; delete some");
            return Err(Error::new(Kind::Full, "stage.put", detail));
        }
        Ok(())
    }

    fn abandon(&mut self, from: PeerId, grant: u64, ground: &mut dyn Ground, out: &mut Vec<Output>) -> Reply {
        match self.peers.get_mut(&from).and_then(|p| p.grants.remove(&grant)) {
            Some(granted) => {
                self.store.release(granted.extent);
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

    /// Removes an array; its memory is free once nobody reads it.
    pub(super) fn remove_array(&mut self, place: &Place, ground: &mut dyn Ground) -> bool {
        let Some(entry) = self.entries.remove(place) else {
            return false;
        };
        self.by_age.remove(&entry.age);
        self.stats.entry_bytes -= entry.stored.shape.size().0;
        self.waiting.vanished(place);
        self.store.withdraw(entry.stored, ground);
        true
    }

    pub(super) fn remove_owner(&mut self, owner: &Owner, ground: &mut dyn Ground) {
        match owner {
            Owner::Array(place) => {
                self.remove_array(place, ground);
            }
            Owner::Instance(place, version) => {
                self.remove_instance(place, *version, ground);
            }
        }
    }

    /// What of `owner` is published, replicas not counted.
    pub(super) fn tickets_of(&self, owner: &Owner) -> Vec<Ticket> {
        self.stored_of(owner).map(|stored| stored.ticket).collect()
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
            .map(|((_, key), e)| Listed { key: key.clone(), shape: e.stored.shape })
            .collect();
        Reply::Entries { entries, more: rest.next().is_some() }
    }
}

pub(super) const CROWDED: &str = "the directory's window for this key is full; delete versions";

fn there_already(place: &Place) -> Error {
    let detail = format!("{} is there already; put a new version, or replace it", place.1);
    Error::new(Kind::Exists, "stage.put", detail)
}

pub(super) fn refused(kind: Kind, operation: &str, detail: impl std::fmt::Display) -> Reply {
    Reply::Failed(Error::new(kind, operation, detail))
}
