//! An application: the nodes and ranks that it has, and what it did.

use super::rank::Rank;
use crate::engine::Picos;
use crate::network::Histogram;

/// What an application did.
#[derive(Clone, Debug)]
pub struct ApplicationResult {
    /// When its last rank ended.
    pub elapsed: Picos,
    /// For each rank: how long it waited for messages, for the storage, and computed.
    pub ranks: Vec<[Picos; 3]>,
    /// From the sending of its messages to their arrival, those to and from the storage among them.
    pub message_latency: Histogram,
    /// Messages that its ranks sent to each other, and their bytes.
    pub sent: (u64, u64),
}

pub(super) struct Application {
    /// The compute node of each rank.
    pub nodes: Vec<u32>,
    pub ranks: Vec<Rank>,
}

impl Application {
    /// What it did, with the latency of its messages.
    pub fn result(&self, message_latency: &Histogram) -> ApplicationResult {
        ApplicationResult {
            elapsed: self.ranks.iter().map(|rank| rank.end).max().unwrap_or_default(),
            ranks: self
                .ranks
                .iter()
                .map(|rank| [rank.spent.communication, rank.spent.io, rank.spent.compute])
                .collect(),
            message_latency: message_latency.clone(),
            sent: self.ranks.iter().fold((0, 0), |sum, rank| (sum.0 + rank.sent.0, sum.1 + rank.sent.1)),
        }
    }
}
