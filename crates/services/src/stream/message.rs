//! The messages of the stream service.

use super::definition::{Partition, Topic};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Nanos};

/// The version of this protocol; both sides must have the same.
pub const PROTOCOL: u32 = 1;
/// The most batches of one client that may be under way at a time.
pub const BATCHES_MAX: usize = 16;
/// The most records of a batch.
pub const RECORDS_MAX: u32 = 1 << 20;

/// Where a partition is: its topic, and its number there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The topic.
    pub topic: Name,
    /// The partition.
    pub partition: u32,
}

/// Events to be appended together: what they are, and where their bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Who made them: a number that no other producer has.
    pub producer: u64,
    /// The producer's own number for the first of them in this partition, counted from 0.
    pub sequence: u64,
    /// The producer has heard that all before this number were appended.
    pub heard: u64,
    /// How many they are.
    pub events: u32,
    /// Bytes of metadata.
    pub metadata_bytes: u32,
    /// Bytes of data, with the padding between.
    pub data_bytes: u64,
    /// Whether data and metadata are to lie apart.
    pub apart: bool,
    /// Where the batch begins in the producer's outbox.
    pub at: u64,
}

/// Where a consumer begins that has acknowledged nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Begin {
    /// With the first event that there is.
    First,
    /// With the first event to come.
    Next,
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Make a topic.
    Create {
        /// Its name.
        name: Name,
        /// What it is.
        topic: Topic,
    },
    /// Remove a topic and all its events.
    Delete {
        /// Its name.
        name: Name,
    },
    /// Which topics there are.
    List,
    /// What a topic is.
    Describe {
        /// Its name.
        name: Name,
    },
    /// Add a partition to a topic.
    AddPartition {
        /// The topic's name.
        name: Name,
        /// What it is.
        partition: Partition,
    },
    /// Append events.
    Produce {
        /// To which partition.
        place: Place,
        /// Which.
        batch: Batch,
    },
    /// Take part in the consumer `consumer`, whose members share the partitions.
    Join {
        /// The topic.
        topic: Name,
        /// The consumer's name.
        consumer: Name,
        /// The partitions that it may have; none: all.
        only: Option<Vec<u32>>,
        /// Where it begins where nothing was acknowledged.
        begin: Begin,
    },
    /// Wait until the partitions held are others than in `generation`, or one of them has events beyond what is known.
    Poll {
        /// The topic.
        topic: Name,
        /// The consumer's name.
        consumer: Name,
        /// The generation that the client knows.
        generation: u64,
        /// Up to where the client knows of events, for each partition that it holds.
        known: Vec<(u32, u64)>,
        /// How long to wait.
        within: Nanos,
    },
    /// All events of a partition before `next` need not be given to this consumer again.
    Acknowledge {
        /// The partition.
        place: Place,
        /// The consumer's name.
        consumer: Name,
        /// The number behind the last of them.
        next: u64,
    },
    /// Take part no more.
    Leave {
        /// The topic.
        topic: Name,
        /// The consumer's name.
        consumer: Name,
        /// Where nobody else takes part, forget the consumer with all that it has acknowledged.
        forget: bool,
    },
    /// Give up waiting.
    Cancel {
        /// For which request.
        request: u64,
    },
}

/// A partition as a consumer's member holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its number.
    pub partition: u32,
    /// The first event that was not acknowledged.
    pub next: u64,
    /// The events that can be read.
    pub events: Range<u64>,
    /// What tells its journal from another one in its place: events in memory end with their server.
    pub origin: u64,
}

/// What the service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Done.
    Done,
    /// To `List`.
    Topics(Vec<Name>),
    /// To `Describe`: what it is, and the events that can be read of each partition.
    Topic(Topic, Vec<Range<u64>>),
    /// To `Produce`: the number of the first event.
    Produced(u64),
    /// To `Join` and `Poll`.
    News {
        /// Changes whenever the partitions held do.
        generation: u64,
        /// The partitions that the client holds.
        held: Vec<Held>,
    },
    /// The request was refused.
    Failed(Error),
}
