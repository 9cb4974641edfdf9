//! Toy memory: segments are vectors, the directory is a map, leases and spares are lists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::Bytes;
use thalweg_services::staging::core::{Ground, PeerId};
use thalweg_services::staging::Location;

/// What one client shares with the service.
#[derive(Debug, Default)]
pub struct Words {
    /// Tickets that the client has leased, or tries to.
    pub hazards: Vec<Ticket>,
    /// The service wants to hear of the next release.
    pub notify: bool,
    /// Spare grants.
    pub spares: Vec<u64>,
}

/// The memory of one service.
#[derive(Debug, Default)]
pub struct Toy {
    /// Segments.
    pub segments: Vec<Vec<u8>>,
    /// What is published, by slot.
    pub directory: BTreeMap<u64, (Ticket, [u64; 2], Location)>,
    /// The words of the clients that count.
    pub words: BTreeMap<PeerId, Words>,
}

impl Toy {
    /// Fresh memory of `bytes`, and perhaps a spill file.
    pub fn of(bytes: Bytes, spill: Option<Bytes>) -> Toy {
        let segments = std::iter::once(bytes).chain(spill).map(|bytes| vec![0; bytes.0 as usize]);
        Toy { segments: segments.collect(), ..Toy::default() }
    }

    /// The published entry with `hash`.
    pub fn find(&self, hash: [u64; 2]) -> Option<(Ticket, Location)> {
        // The newest one, as during a replacement both are there.
        let all = self.directory.values().filter(|(_, h, _)| *h == hash);
        all.max_by_key(|(ticket, ..)| *ticket).map(|(ticket, _, location)| (*ticket, *location))
    }

    /// Whether `ticket` is still published.
    pub fn published(&self, ticket: Ticket) -> bool {
        self.directory.values().any(|(t, ..)| *t == ticket)
    }

    /// The bytes at `location`; none when it lies outside its segment.
    pub fn bytes(&self, location: &Location) -> Option<&[u8]> {
        self.at(location.segment, location.offset, location.shape.size().0 as usize)
    }

    /// So many bytes at an offset of a segment.
    pub fn at(&self, segment: u32, offset: u64, bytes: usize) -> Option<&[u8]> {
        let from = offset as usize;
        self.segments.get(segment as usize)?.get(from..from + bytes)
    }
}

impl Ground for Toy {
    fn prepare(&mut self, segment: u32, end: Bytes) {
        assert!(end.0 <= self.segments[segment as usize].len() as u64, "more is prepared than there is");
    }

    fn give_back(&mut self, segment: u32, bytes: Range<Bytes>) {
        self.segments[segment as usize][bytes.start.0 as usize..bytes.end.0 as usize].fill(0);
    }

    fn publish(&mut self, slot: u64, ticket: Ticket, hash: [u64; 2], location: &Location) {
        let before = self.directory.insert(slot, (ticket, hash, *location));
        assert!(before.is_none(), "slot {slot} was taken");
    }

    fn withdraw(&mut self, slot: u64) {
        assert!(self.directory.remove(&slot).is_some(), "slot {slot} was empty");
    }

    fn clear(&mut self, slot: u64) {
        assert!(!self.directory.contains_key(&slot), "slot {slot} is taken");
    }

    fn leased(&mut self, ticket: Ticket) -> bool {
        let mut held = false;
        for words in self.words.values_mut().filter(|w| w.hazards.contains(&ticket)) {
            words.notify = true;
            held = true;
        }
        held
    }

    fn still_leased(&mut self, tickets: &BTreeSet<Ticket>) -> BTreeSet<Ticket> {
        tickets.iter().copied().filter(|ticket| self.leased(*ticket)).collect()
    }

    fn offer(&mut self, peer: PeerId, grant: u64) -> bool {
        match self.words.get_mut(&peer) {
            Some(words) if words.spares.len() < 4 => {
                words.spares.push(grant);
                true
            }
            _ => false,
        }
    }

    fn revoke(&mut self, peer: PeerId, grant: u64) -> bool {
        self.words.get_mut(&peer).is_some_and(|w| take(&mut w.spares, grant))
    }
}

/// Takes `grant` out of `spares`, if it is there.
pub fn take(spares: &mut Vec<u64>, grant: u64) -> bool {
    let at = spares.iter().position(|s| *s == grant);
    at.map(|at| spares.swap_remove(at)).is_some()
}
