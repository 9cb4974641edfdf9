//! The memory below the state machine: segments, the directory, and what each client holds.

use super::super::core::{Ground, PeerId};
use super::super::Location;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use thalweg_foundation::sync::{Directory, Ticket};
use thalweg_foundation::{Bytes, Result};
use thalweg_transport::link::Control;
use thalweg_transport::memory::Segment;

const PAGE: u64 = 4096;

/// Segments and shared words of one service.
#[derive(Debug)]
pub struct Memory {
    directory: Arc<Segment>,
    segments: Vec<Arc<Segment>>,
    prepared: u64,
    clients: BTreeMap<PeerId, Control>,
}

impl Memory {
    /// Memory with a directory of `slots` and one segment of `limit` bytes, of which the kernel gives each page when it is
    /// first used; `spill`: the folder and the size of a second one that is a file.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn new(slots: usize, limit: Bytes, spill: Option<(&Path, Bytes)>) -> Result<Memory> {
        let bytes = Bytes((Directory::words_for(slots) * 8) as u64);
        let directory = Arc::new(Segment::create(bytes)?);
        directory.prefault(0..bytes.0);
        let mut segments = vec![Arc::new(Segment::create(Bytes(limit.0.next_multiple_of(PAGE)))?)];
        if let Some((folder, bytes)) = spill {
            segments.push(Arc::new(Segment::in_file(folder, Bytes(bytes.0.next_multiple_of(PAGE)))?));
        }
        Ok(Memory { directory, segments, prepared: 0, clients: BTreeMap::new() })
    }

    /// The directory's memory.
    pub fn directory(&self) -> &Arc<Segment> {
        &self.directory
    }

    /// Segment number `n`.
    pub fn segment(&self, n: u32) -> Option<&Arc<Segment>> {
        self.segments.get(n as usize)
    }

    /// From now on the leases and spares in `control` count.
    pub fn add_client(&mut self, peer: PeerId, control: Control) {
        self.clients.insert(peer, control);
    }

    /// The leases and spares of `peer` count no more.
    pub fn remove_client(&mut self, peer: PeerId) {
        self.clients.remove(&peer);
    }
}

impl Ground for Memory {
    fn prepare(&mut self, segment: u32, end: Bytes) {
        if let Some(segment) = self.segments.get(segment as usize) {
            segment.prefault(self.prepared..end.0);
            self.prepared = end.0;
        }
    }

    fn give_back(&mut self, segment: u32, bytes: Range<Bytes>) {
        if let Some(segment) = self.segments.get(segment as usize) {
            self.prepared = self.prepared.min(bytes.start.0);
            segment.give_back(bytes.start.0..bytes.end.0);
        }
    }

    fn publish(&mut self, slot: u64, ticket: Ticket, hash: [u64; 2], location: &Location) {
        Directory::over(self.directory.words()).publish(slot, ticket, &location.payload(hash));
    }

    fn withdraw(&mut self, slot: u64) {
        Directory::over(self.directory.words()).withdraw(slot);
    }

    fn clear(&mut self, slot: u64) {
        Directory::over(self.directory.words()).clear(slot);
    }

    fn leased(&mut self, ticket: Ticket) -> bool {
        // Every holder is asked, so that each of them will tell when it lets go.
        self.clients.values().filter(|control| control.hazards().holds(ticket)).count() > 0
    }

    fn still_leased(&mut self, tickets: &BTreeSet<Ticket>) -> BTreeSet<Ticket> {
        let clients = self.clients.values();
        clients.flat_map(|control| control.hazards().held(&|ticket| tickets.contains(&ticket))).collect()
    }

    fn offer(&mut self, peer: PeerId, grant: u64) -> bool {
        self.clients.get(&peer).is_some_and(|c| c.spares().offer(grant))
    }

    fn revoke(&mut self, peer: PeerId, grant: u64) -> bool {
        self.clients.get(&peer).is_some_and(|c| c.spares().take(grant))
    }
}
