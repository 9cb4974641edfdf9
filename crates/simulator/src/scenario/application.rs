//! An application: the nodes and ranks that it has, and what it did.

use super::rank::{Rank, Stored};
use crate::engine::Picos;
use crate::network::Histogram;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// What an application did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationResult {
    /// When its last rank ended.
    pub elapsed: Picos,
    /// For each rank: how long it waited for messages, for the storage, and computed.
    pub ranks: Vec<[Picos; 3]>,
    /// From the sending of its messages to their arrival, those to and from the storage among them.
    pub message_latency: Histogram,
    /// Messages that its ranks sent to each other, and their bytes.
    pub sent: (u64, u64),
    /// Bytes that its ranks read and wrote.
    pub stored: Stored,
    /// Messages that nobody received.
    pub unreceived: u64,
}

/// What a part of the machine has of an application.
pub(super) struct Application {
    /// The compute node of each rank.
    pub nodes: Arc<[u32]>,
    pub ranks: Ranks,
}

/// The ranks that lie in a part of the machine, by their numbers in the application.
pub(super) struct Ranks {
    /// For each rank of the application, its place among those of its part.
    places: Arc<[u32]>,
    own: Vec<(u32, Rank)>,
}

impl Ranks {
    /// Ranks with their numbers; `places` has the place of each among those of its part.
    pub fn new(places: Arc<[u32]>, own: Vec<(u32, Rank)>) -> Ranks {
        Ranks { places, own }
    }

    /// How many ranks the application has, elsewhere as well.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The ranks with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Rank)> {
        self.own.iter().map(|(number, rank)| (*number, rank))
    }
}

impl Index<usize> for Ranks {
    type Output = Rank;

    fn index(&self, rank: usize) -> &Rank {
        &self.own[self.places[rank] as usize].1
    }
}

impl IndexMut<usize> for Ranks {
    fn index_mut(&mut self, rank: usize) -> &mut Rank {
        &mut self.own[self.places[rank] as usize].1
    }
}

/// What an application did, by what each part has of it.
pub(super) fn result<'a>(
    parts: impl Iterator<Item = &'a Application>,
    message_latency: Histogram,
) -> ApplicationResult {
    let mut result = ApplicationResult {
        elapsed: Picos::ZERO,
        ranks: Vec::new(),
        message_latency,
        sent: (0, 0),
        stored: Stored::default(),
        unreceived: 0,
    };
    for part in parts {
        result.ranks.resize(part.nodes.len(), [Picos::ZERO; 3]);
        for (number, rank) in part.ranks.iter() {
            result.elapsed = result.elapsed.max(rank.end);
            result.ranks[number as usize] = [rank.spent.communication, rank.spent.io, rank.spent.compute];
            result.sent = (result.sent.0 + rank.sent.0, result.sent.1 + rank.sent.1);
            result.stored.add(rank.stored);
            result.unreceived += rank.matching.unexpected() as u64;
        }
    }
    result
}
