//! What must hold after every step; debug builds and the adversarial world check it.

use super::admission::Reservation;
use super::pool::Pool;
use super::state::{Owner, Staging};
use super::store::Stored;
use super::task::Running;
use super::variable::{Instance, Piece, Rests};
use thalweg_foundation::{Nanos, Version};

impl Staging {
    /// Checks the whole state.
    ///
    /// # Errors
    /// A sentence that says what is broken.
    pub fn invariants(&self) -> Result<(), String> {
        let pieces = || self.pieces().filter_map(|p| stored(&p.rests));
        let replicas = || self.instances().flat_map(|(_, i)| &i.replicas);
        let entries = self.entries.values().map(|e| e.stored.extent);
        let granted = self.peers.values().flat_map(|p| p.grants.values().map(|g| g.extent));
        let moving = self.tasks.values().filter_map(|t| match t {
            Running::Moving { to, .. } => Some(*to),
            _ => None,
        });
        let copies = replicas().chain(self.abandoned.values()).map(|r| r.extent);
        let held = pieces().map(|s| s.extent).chain(copies).chain(moving);
        self.store.check(entries.chain(granted).chain(held))?;
        let owners = self.entries.len() + self.instances().count();
        ensure(owners == self.by_age.len(), || "the index by age has other entries".into())?;
        for (place, entry) in &self.entries {
            let owner = Owner::Array(place.clone());
            ensure(self.by_age.get(&entry.age) == Some(&owner), || format!("{} has no age", place.1))?;
        }
        let arrays = self.entries.values().map(|e| &e.stored);
        for stored in arrays.clone().chain(pieces()) {
            ensure(stored.shape.size().0 <= stored.extent.bytes, || {
                format!("{} is larger than its memory", stored.shape)
            })?;
        }
        let bytes: u64 = arrays.chain(pieces()).map(|s| s.shape.size().0).sum();
        ensure(bytes == self.stats.entry_bytes, || {
            format!("{bytes} bytes held, {} counted", self.stats.entry_bytes)
        })?;
        let copied: u64 = replicas().chain(self.abandoned.values()).map(|r| r.extent.bytes).sum();
        ensure(copied == self.stats.replica_bytes && copied <= self.config.replicas.0, || {
            format!("{copied} bytes of replicas, {} counted", self.stats.replica_bytes)
        })?;
        let count = replicas().count() + self.abandoned.len();
        ensure(count == self.replicas && count <= self.config.replicas_max(), || {
            format!("{count} replicas, {} counted", self.replicas)
        })?;
        let ready = replicas().filter(|r| r.stored.is_some()).count();
        let published = self.entries.len() + pieces().count() + ready;
        ensure(published == self.store.published(), || {
            format!("{published} are published, {} counted", self.store.published())
        })?;
        for (version, instance) in self.instances() {
            whole(instance).map_err(|e| format!("version {}: {e}", version.0))?;
        }
        for (id, get) in &self.gets {
            ensure(self.pending(id.0, id.1, get.deadline), || {
                format!("get {id:?} has no deadline or no client")
            })?;
            let variable = self.variables.get(&get.place);
            ensure(variable.is_some_and(|v| v.gets.contains(id)), || format!("get {id:?} is not indexed"))?;
        }
        for (id, waiter) in self.waiting.ids() {
            let missing = waiter.places.iter().filter(|p| !self.entries.contains_key(*p)).count();
            ensure(missing == waiter.missing, || {
                format!("wait {id:?} counts {} of {missing}", waiter.missing)
            })?;
            let due = waiter.all && missing == 0 || !waiter.all && missing < waiter.places.len();
            ensure(!due, || format!("wait {id:?} is due and was not answered"))?;
            ensure(self.pending(id.0, id.1, waiter.deadline), || {
                format!("wait {id:?} has no deadline or no client")
            })?;
        }
        for r in &self.queue {
            ensure(self.pending(r.peer, r.id, r.deadline), || {
                format!("reservation {:?} has no deadline or no client", (r.peer, r.id))
            })?;
        }
        let fits = |r: &Reservation| {
            Pool::rounded(r.bytes) <= self.store.largest().0 && !self.is_crowded(r.owner.array())
        };
        let served =
            self.queue.iter().enumerate().all(|(n, r)| {
                !(fits(r) && self.may_pass(&r.owner, n) && self.leaves_room(r.bytes, &r.owner))
            });
        ensure(served, || "there is room, and somebody waits for it".into())?;
        let summed = self.summaries().filter(|(_, due)| due.is_some()).count();
        let waits = self.queue.len() + self.waiting.len() + self.gets.len() + self.describing.len() + summed;
        ensure(self.deadlines.len() == waits, || "a deadline without a wait".into())
    }

    fn instances(&self) -> impl Iterator<Item = (&Version, &Instance)> {
        self.variables.values().flat_map(|v| &v.versions)
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.instances().flat_map(|(_, i)| &i.pieces)
    }

    fn pending(&self, peer: super::PeerId, id: u64, deadline: Nanos) -> bool {
        self.peers.contains_key(&peer) && self.deadlines.contains(&(deadline, peer, id))
    }
}

fn stored(rests: &Rests) -> Option<&Stored> {
    match rests {
        Rests::Here(stored) => Some(stored),
        Rests::There { .. } => None,
    }
}

/// The cells of a version do not meet, and each replica knows how much of it is written.
fn whole(instance: &Instance) -> Result<(), String> {
    let cells: u128 = instance.cover.iter().map(|(r, _)| r.cells()).sum();
    ensure(cells == instance.covered, || format!("{cells} cells, {} counted", instance.covered))?;
    for (i, (a, at)) in instance.cover.iter().enumerate() {
        let meets = instance.cover[i + 1..].iter().any(|(b, _)| a.intersection(b).is_some());
        ensure(!meets, || format!("cells {a} are there twice"))?;
        let held = instance.pieces.get(*at).is_some_and(|p| p.region.contains(a));
        ensure(held, || format!("cells {a} are not in their piece"))?;
    }
    for replica in &instance.replicas {
        let cells = replica.region.cells();
        let sound = replica.written <= replica.come
            && replica.come <= cells
            && (replica.running || replica.written == replica.come)
            && replica.is_ready() == (replica.written == cells);
        ensure(sound, || format!("replica of {} has {} of {cells} cells", replica.region, replica.written))?;
    }
    Ok(())
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(broken())
    }
}
