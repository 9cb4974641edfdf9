//! The spill file: when memory is short the oldest arrays and pieces move there, and the writers wait instead of failing.
//!
//! What was moved is published again at its new place and stays readable without being brought back: the file is mapped
//! like any segment. Who holds a view of the old place keeps it; its memory is free when the view ends.

use super::pool::Pool;
use super::state::{Owner, Staging};
use super::store::Stored;
use super::task::{Running, Task};
use super::variable::Rests;
use super::{Ground, Output, SPILL};
use thalweg_foundation::{Bytes, Nanos};

/// Moves under way at a time.
const MOVES_MAX: usize = 4;
/// How long nothing is moved after a move has failed.
const PAUSE: Nanos = Nanos(1_000_000_000);

impl Staging {
    /// Everything of `owner` that is stored here, replicas not counted.
    pub(super) fn stored_of(&self, owner: &Owner) -> Box<dyn Iterator<Item = &Stored> + '_> {
        match owner {
            Owner::Array(place) => Box::new(self.entries.get(place).map(|e| &e.stored).into_iter()),
            Owner::Instance(place, version) => {
                let instance = self.variables.get(place).and_then(|v| v.versions.get(version));
                let pieces = instance.into_iter().flat_map(|i| &i.pieces);
                Box::new(pieces.filter_map(|p| match &p.rests {
                    Rests::Here(stored) => Some(stored),
                    Rests::There { .. } => None,
                }))
            }
        }
    }

    fn moves(&self) -> usize {
        self.tasks.values().filter(|t| matches!(t, Running::Moving { .. })).count()
    }

    fn may_spill(&self) -> bool {
        self.config.spill.is_some() && self.now >= self.no_spill_before
    }

    /// Whether something is being moved, or would be next: it is there, and the file has room for it.
    pub(super) fn can_spill(&self, ground: &mut dyn Ground) -> bool {
        let fits = |(_, stored): (Owner, Stored)| stored.extent.bytes <= self.store.largest_in_file().0;
        self.moves() > 0 || (self.may_spill() && self.next_to_spill(ground).is_some_and(fits))
    }

    /// The oldest that rests in memory and nobody moves or reads.
    fn next_to_spill(&self, ground: &mut dyn Ground) -> Option<(Owner, Stored)> {
        for owner in self.by_age.values() {
            for stored in self.stored_of(owner) {
                let free = stored.shape.size().0 > 0
                    && !stored.is_spilled()
                    && !self.store.is_pinned(stored.ticket)
                    && !ground.leased(stored.ticket);
                if free {
                    return Some((owner.clone(), *stored));
                }
            }
        }
        None
    }

    /// Has the oldest moved to the spill file so that `bytes` may find room; whether something is under way.
    pub(super) fn spill_for(&mut self, bytes: Bytes, ground: &mut dyn Ground, out: &mut Vec<Output>) -> bool {
        if !self.may_spill() {
            return false;
        }
        let moving: u64 = self
            .tasks
            .values()
            .filter_map(|t| match t {
                Running::Moving { to, .. } => Some(to.bytes),
                _ => None,
            })
            .sum();
        let mut coming = moving;
        while coming < Pool::rounded(bytes) && self.moves() < MOVES_MAX {
            let Some((owner, stored)) = self.next_to_spill(ground) else { break };
            let Some(to) = self.store.allocate_spill(Bytes(stored.extent.bytes)) else { break };
            debug_assert_eq!(to.segment, SPILL);
            coming += to.bytes;
            let number = self.begin(Running::Moving { owner, ticket: stored.ticket, to });
            let task = Task::Move { from: stored.extent, to, bytes: stored.shape.size() };
            out.push(Output::Work { number, task });
        }
        self.moves() > 0
    }

    /// Something has been moved, or could not be.
    pub(super) fn moved(
        &mut self,
        owner: &Owner,
        ticket: thalweg_foundation::sync::Ticket,
        to: super::Extent,
        written: bool,
        ground: &mut dyn Ground,
    ) {
        self.store.unpin(ticket);
        if !written {
            // A full disk: asking again at once would keep a core busy.
            self.no_spill_before = self.now.after(PAUSE);
        }
        let old = self.stored_of(owner).find(|stored| stored.ticket == ticket).copied();
        let new = old.filter(|_| written).and_then(|old| {
            // Only what has a hash of its own is looked for by it.
            let hash = matches!(owner, Owner::Array(_)).then_some(old.hash);
            self.store.publish(hash, to, old.shape, ground)
        });
        let (Some(old), Some(new)) = (old, new) else {
            self.store.release(to);
            self.sweep(ground);
            return;
        };
        let place = match owner {
            Owner::Array(place) => self.entries.get_mut(place).map(|e| &mut e.stored),
            Owner::Instance(place, version) => {
                let instance = self.variables.get_mut(place).and_then(|v| v.versions.get_mut(version));
                instance.and_then(|i| {
                    i.pieces.iter_mut().find_map(|p| match &mut p.rests {
                        Rests::Here(stored) if stored.ticket == ticket => Some(stored),
                        _ => None,
                    })
                })
            }
        };
        if let Some(place) = place {
            *place = new;
        }
        self.stats.spilled += 1;
        self.store.withdraw(old, ground);
    }
}
