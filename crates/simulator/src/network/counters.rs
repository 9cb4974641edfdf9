//! What a network counts while it runs.

use super::histogram::Histogram;
use crate::engine::Picos;

/// Totals of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that were worked off.
    pub events: u64,
    /// Packets that interfaces made.
    pub made: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// When the last of them arrives.
    pub arrived: Picos,
    /// From a packet's sending by its interface to its arrival.
    pub packet_latency: Histogram,
    /// Routers that delivered packets went through, in all.
    pub hops: u64,
    /// Delivered packets that left the shortest path.
    pub non_minimal: u64,
    /// Delivered packets between terminals of one router.
    pub same_router: u64,
    /// Delivered packets between routers of one group.
    pub same_group: u64,
    /// From a message's sending to the arrival of its last packet, for each application.
    pub message_latency: Vec<Histogram>,
}

impl Counters {
    /// Adds what another part of the network counted.
    pub(super) fn merge(&mut self, other: &Counters) {
        self.events += other.events;
        self.made += other.made;
        self.delivered += other.delivered;
        self.arrived = self.arrived.max(other.arrived);
        self.packet_latency.merge(&other.packet_latency);
        self.hops += other.hops;
        self.non_minimal += other.non_minimal;
        self.same_router += other.same_router;
        self.same_group += other.same_group;
        for (mine, others) in self.message_latency.iter_mut().zip(&other.message_latency) {
            mine.merge(others);
        }
    }

    /// The mean number of routers on a packet's way; zero when none arrived.
    pub fn mean_hops(&self) -> f64 {
        if self.delivered == 0 {
            0.0
        } else {
            self.hops as f64 / self.delivered as f64
        }
    }
}

/// Which parts of a machine a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A router and a terminal.
    Terminal,
    /// Routers of one group.
    Local,
    /// Routers of different groups.
    Global,
}

/// What went over a link from a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The router.
    pub from: u32,
    /// The router or terminal at the far end.
    pub to: u32,
    /// What it joins.
    pub kind: LinkKind,
    /// Bytes that each application sent.
    pub bytes: Vec<u64>,
    /// How long all its buffers were full.
    pub saturated: Picos,
}
