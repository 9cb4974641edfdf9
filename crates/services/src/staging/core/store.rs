//! The store: published bytes in memory and in the spill file, without a meaning.
//!
//! What is published can be leased by readers and pinned by tasks; withdrawn bytes are free once neither holds them.

use super::super::Location;
use super::pool::{Extent, Pool};
use super::slots::Slots;
use super::{Ground, SPILL};
use std::collections::BTreeMap;
use thalweg_foundation::array::Shape;
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::Bytes;

/// At least this much fresh memory is prepared ahead of need.
pub(super) const AHEAD: u64 = 8 << 20;

/// Published bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub ticket: Ticket,
    pub slot: u64,
    pub hash: [u64; 2],
    pub extent: Extent,
    pub shape: Shape,
}

impl Stored {
    /// Whether the bytes rest in the spill file.
    pub fn is_spilled(&self) -> bool {
        self.extent.segment == SPILL
    }
}

/// Memory, the spill file, the directory, and what is still held of what was withdrawn.
#[derive(Debug)]
pub(super) struct Store {
    memory: Pool,
    spill: Option<Pool>,
    /// Memory that was used, or prepared for use, at some time.
    prepared: u64,
    /// Where the memory ended that was in use since `give_back` was called last.
    peak: u64,
    limit: u64,
    slots: Slots,
    published: usize,
    retired: Vec<(Ticket, Extent)>,
    pins: BTreeMap<Ticket, u32>,
    next_ticket: u64,
}

impl Store {
    pub fn new(limit: Bytes, spill: Option<Bytes>, slots: usize) -> Store {
        Store {
            memory: Pool::over(0, limit),
            spill: spill.map(|bytes| Pool::over(SPILL, bytes)),
            prepared: 0,
            peak: 0,
            limit: limit.0,
            slots: Slots::new(slots),
            published: 0,
            retired: Vec::new(),
            pins: BTreeMap::new(),
            next_ticket: Ticket::FIRST.0,
        }
    }

    /// How many arrays, pieces and replicas are published.
    pub fn published(&self) -> usize {
        self.published
    }

    /// Bytes of memory taken from the system.
    pub fn prepared(&self) -> u64 {
        self.prepared
    }

    /// Bytes withdrawn and still held.
    pub fn retired_bytes(&self) -> u64 {
        self.retired.iter().map(|(_, e)| e.bytes).sum()
    }

    /// Bytes in the spill file.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, |pool| pool.total().0 - pool.unused().0)
    }

    /// The largest free piece of memory.
    pub fn largest(&self) -> Bytes {
        self.memory.largest()
    }

    /// The largest free piece of the spill file.
    pub fn largest_in_file(&self) -> Bytes {
        self.spill.as_ref().map_or(Bytes(0), Pool::largest)
    }

    /// Free memory for `bytes`. Warm memory is preferred; when fresh memory is used, more is prepared behind it.
    pub fn allocate(&mut self, bytes: Bytes, ground: &mut dyn Ground) -> Option<Extent> {
        let extent = self.memory.allocate(bytes)?;
        let end = extent.offset + extent.bytes;
        self.peak = self.peak.max(end);
        if end > self.prepared {
            self.prepare_up_to(end.saturating_add(extent.bytes.max(AHEAD)), ground);
        }
        Some(extent)
    }

    pub fn prepare_up_to(&mut self, end: u64, ground: &mut dyn Ground) {
        let end = end.min(self.limit);
        if end > self.prepared {
            self.prepared = end;
            ground.prepare(0, Bytes(end));
        }
    }

    /// Memory for which there is no use now, prepared ahead or used before.
    pub fn excess(&self) -> bool {
        Store::kept(self.memory.used_end()) < self.prepared
    }

    /// How much stays prepared where memory is used up to `end`: whole huge pages.
    fn kept(end: u64) -> u64 {
        end.saturating_add(AHEAD).next_multiple_of(2 << 20)
    }

    /// Gives memory back to the system that was not used since this was called last.
    pub fn give_back(&mut self, ground: &mut dyn Ground) {
        let keep = Store::kept(self.peak);
        if keep < self.prepared {
            ground.give_back(0, Bytes(keep)..Bytes(self.prepared));
            self.prepared = keep;
        }
        self.peak = self.memory.used_end();
    }

    /// Free space in the spill file for `bytes`.
    pub fn allocate_spill(&mut self, bytes: Bytes) -> Option<Extent> {
        self.spill.as_mut()?.allocate(bytes)
    }

    /// Gives back what was never published.
    pub fn release(&mut self, extent: Extent) {
        match (&mut self.spill, extent.segment) {
            (Some(spill), SPILL) => spill.release(extent),
            _ => self.memory.release(extent),
        }
    }

    /// Shows the bytes in `extent` to all clients under `hash`; none when the directory has no place for it.
    pub fn publish(
        &mut self,
        hash: Option<[u64; 2]>,
        extent: Extent,
        shape: Shape,
        ground: &mut dyn Ground,
    ) -> Option<Stored> {
        let ticket = Ticket(self.next_ticket);
        // What is found by its ticket only gets a hash that spreads.
        let hash = hash.unwrap_or([ticket.0.wrapping_mul(0x9e37_79b9_7f4a_7c15), ticket.0]);
        let slot = self.slots.take(hash)?;
        self.next_ticket += 1;
        self.published += 1;
        ground.publish(
            slot,
            ticket,
            hash,
            &Location { segment: extent.segment, offset: extent.offset, shape },
        );
        Some(Stored { ticket, slot, hash, extent, shape })
    }

    /// Hides published bytes; their memory is free once nobody holds it.
    pub fn withdraw(&mut self, stored: Stored, ground: &mut dyn Ground) {
        ground.withdraw(stored.slot);
        self.slots.free(stored.slot).into_iter().for_each(|slot| ground.clear(slot));
        self.published -= 1;
        if self.pins.contains_key(&stored.ticket) || ground.leased(stored.ticket) {
            self.retired.push((stored.ticket, stored.extent));
        } else {
            self.release(stored.extent);
        }
    }

    /// Keeps bytes where they are until `unpin`, also when they are withdrawn.
    pub fn pin(&mut self, ticket: Ticket) {
        *self.pins.entry(ticket).or_default() += 1;
    }

    /// Ends a `pin`; `sweep` frees what was withdrawn meanwhile.
    pub fn unpin(&mut self, ticket: Ticket) {
        if let Some(count) = self.pins.get_mut(&ticket) {
            *count -= 1;
            if *count == 0 {
                self.pins.remove(&ticket);
            }
        }
    }

    /// Whether a task holds it.
    pub fn is_pinned(&self, ticket: Ticket) -> bool {
        self.pins.contains_key(&ticket)
    }

    /// Frees what was withdrawn and is no longer held; whether there was any.
    pub fn sweep(&mut self, ground: &mut dyn Ground) -> bool {
        if self.retired.is_empty() {
            return false;
        }
        let before = self.retired.len();
        let held = ground.still_leased(&self.retired.iter().map(|(ticket, _)| *ticket).collect());
        let (held, free): (Vec<_>, Vec<_>) = self
            .retired
            .drain(..)
            .partition(|(ticket, _)| held.contains(ticket) || self.pins.contains_key(ticket));
        self.retired = held;
        free.into_iter().for_each(|(_, extent)| self.release(extent));
        self.retired.len() < before
    }

    /// Checks that `used`, what was withdrawn and what is free cover memory and spill file exactly once.
    pub fn check(&self, used: impl Iterator<Item = Extent>) -> Result<(), String> {
        let all = used.chain(self.retired.iter().map(|(_, e)| *e));
        let (spilled, here): (Vec<Extent>, Vec<Extent>) = all.partition(|e| e.segment == SPILL);
        self.memory.check(here)?;
        match &self.spill {
            Some(pool) => pool.check(spilled),
            None if spilled.is_empty() => Ok(()),
            None => Err("something is in a spill file that is not there".into()),
        }?;
        match self.memory.total().0 <= self.limit {
            true => Ok(()),
            false => Err(format!("{} of memory above the limit {}", self.memory.total(), self.limit)),
        }
    }
}
