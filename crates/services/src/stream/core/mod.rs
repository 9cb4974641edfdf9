//! The stream service as a state machine: no clock, no socket, no file, no byte of an event.
//!
//! It is driven by `step`. What is to be done with journals leaves as `Output`s, whose ends come back as `Input::Done`.

mod catalog;
mod clock;
mod consumer;
mod facts;
mod invariants;
mod partition;
mod producers;
mod reading;
mod recovery;
mod wall_clock;

pub use catalog::{Config, Streams};
pub use producers::{Written, PRODUCERS_MAX};
pub use recovery::{recovered, Recovered};

use super::definition::{Partition as Definition, Rest, Topic};
use super::message::{Batch, Place, Reply, Request};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Nanos, Result};

/// A partition's number in this service, never used twice; its folder has it as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartitionId {
    /// The topic's number.
    pub topic: u64,
    /// Its number in the topic.
    pub partition: u32,
}

/// What the service remembers over its end, beside the events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    /// The number of the next topic to be made; no other ever had it.
    Next,
    /// A topic.
    Topic(Name),
    /// Up to where a consumer has acknowledged a partition.
    Position(Place, Name),
    /// A partition whose files are to be removed, as its topic was deleted; with where it is stored.
    Removing(PartitionId),
}

/// Whose a partition is. It stands in the partition's folder too, so that a catalogue that is lost can be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The topic.
    pub topic: Name,
    /// Its rules, as in the topic's definition.
    pub validator: String,
    /// Likewise.
    pub selector: String,
    /// Likewise.
    pub serializer: String,
}

impl Owner {
    /// The topic `name`, which is `described`.
    pub fn of(name: &Name, described: &Topic) -> Owner {
        let Topic { validator, selector, serializer, .. } = described.clone();
        Owner { topic: name.clone(), validator, selector, serializer }
    }
}

/// The value of a fact in postcard encoding; none: it is forgotten.
pub type Value = Option<Vec<u8>>;

/// What happens to the service.
#[derive(Clone, Debug)]
pub enum Input {
    /// A client was let in.
    Joined(PeerId),
    /// A client's connection closed or its process died.
    Gone(PeerId),
    /// A client asks.
    Request {
        /// Who.
        from: PeerId,
        /// The request's number, unique for the client.
        id: u64,
        /// What.
        body: Request,
    },
    /// What was to be done has come to its end.
    Done {
        /// Its number.
        number: u64,
        /// The partition that it was about, if it was about one.
        partition: Option<PartitionId>,
        /// What came of it.
        outcome: Result<Outcome>,
    },
    /// Time has passed.
    Tick {
        /// What the wall clock says, in nanoseconds since 1970.
        wall: Nanos,
    },
}

/// What came of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Of `Open`: the events that are there, and who wrote the last of them.
    Opened {
        /// Their numbers.
        events: Range<u64>,
        /// What tells its journal from another one in its place.
        origin: u64,
        /// The batches that were written last, in order.
        written: Vec<Written>,
    },
    /// Of `Append`: the number of the first event of each batch.
    Appended(Vec<u64>),
    /// Of `Append`: why not; the journal is as it was.
    Refused(Error),
    /// Of `Retain`: the events that are still there begin here.
    Retained(u64),
    /// Of `Sync`, `Remove` and `Remember`.
    Done,
}

/// What the service wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// An answer is to be sent.
    Send {
        /// To whom.
        to: PeerId,
        /// In answer to which request.
        id: u64,
        /// What.
        reply: Reply,
    },
    /// Open the journal of a partition, or begin it.
    Open {
        /// The number under which the end is told.
        number: u64,
        /// Which.
        partition: PartitionId,
        /// How it is to be.
        definition: Definition,
        /// Whose it is.
        owner: Arc<Owner>,
    },
    /// Close the journal of a partition.
    Close {
        /// Which.
        partition: PartitionId,
    },
    /// Close the journal of a partition and remove its files.
    Remove {
        /// The number under which the end is told.
        number: u64,
        /// Which.
        partition: PartitionId,
        /// Where it is stored.
        rest: Rest,
    },
    /// Append batches, all or none.
    Append {
        /// The number under which the end is told.
        number: u64,
        /// To which partition.
        partition: PartitionId,
        /// Which, and whose.
        batches: Vec<(PeerId, Batch)>,
        /// Whether they must survive the end of the machine before it is done.
        sync: bool,
    },
    /// Make all that was appended survive the end of the machine.
    Sync {
        /// The number under which the end is told.
        number: u64,
        /// Of which partition.
        partition: PartitionId,
    },
    /// Let go of the oldest events.
    Retain {
        /// The number under which the end is told.
        number: u64,
        /// Of which partition.
        partition: PartitionId,
        /// Those appended before this time of day.
        since: Option<Nanos>,
        /// Those beyond so many bytes.
        bytes: Option<Bytes>,
        /// Those before this one.
        before: Option<u64>,
    },
    /// Remember facts, so that they survive the end of the machine.
    Remember {
        /// The number under which the end is told.
        number: u64,
        /// Which.
        facts: Vec<(Fact, Value)>,
    },
}

impl Output {
    /// The number under which its end is told, and the partition that it is about; none where no end is told.
    pub fn number(&self) -> Option<(u64, Option<PartitionId>)> {
        match self {
            Output::Open { number, partition, .. }
            | Output::Append { number, partition, .. }
            | Output::Sync { number, partition }
            | Output::Remove { number, partition, .. }
            | Output::Retain { number, partition, .. } => Some((*number, Some(*partition))),
            Output::Remember { number, .. } => Some((*number, None)),
            Output::Send { .. } | Output::Close { .. } => None,
        }
    }
}
