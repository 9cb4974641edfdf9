//! What must hold after every step; debug builds and the adversarial world check it.

use super::admission::Reservation;
use super::pool::Pool;
use super::state::Staging;
use thalweg_foundation::Nanos;

impl Staging {
    /// Checks the whole state.
    ///
    /// # Errors
    /// A sentence that says what is broken.
    pub fn invariants(&self) -> Result<(), String> {
        let entries = self.entries.values().map(|e| e.extent);
        let granted = self.peers.values().flat_map(|p| p.grants.values().map(|g| g.extent));
        let retired = self.retired.iter().map(|(_, e)| *e);
        self.pool.check(entries.chain(granted).chain(retired))?;
        ensure(self.pool.total() <= self.config.limit, || {
            format!("{} of memory above the limit {}", self.pool.total(), self.config.limit)
        })?;
        ensure(self.entries.len() == self.by_age.len(), || "the index by age has other entries".into())?;
        for (place, entry) in &self.entries {
            ensure(self.by_age.get(&entry.ticket) == Some(place), || format!("{} has no age", place.1))?;
            ensure(entry.shape.size().0 <= entry.extent.bytes, || {
                format!("{} is larger than its memory", place.1)
            })?;
        }
        let bytes: u64 = self.entries.values().map(|e| e.shape.size().0).sum();
        ensure(bytes == self.stats.entry_bytes, || {
            format!("{bytes} bytes held, {} counted", self.stats.entry_bytes)
        })?;
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
        let fits =
            |r: &Reservation| Pool::rounded(r.bytes) <= self.pool.largest().0 && !self.is_crowded(&r.place);
        ensure(!self.queue.front().is_some_and(fits), || "there is room, and somebody waits for it".into())?;
        ensure(self.deadlines.len() == self.queue.len() + self.waiting.len(), || {
            "a deadline without a wait".into()
        })
    }

    fn pending(&self, peer: super::PeerId, id: u64, deadline: Nanos) -> bool {
        self.peers.contains_key(&peer) && self.deadlines.contains(&(deadline, peer, id))
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(broken())
    }
}
