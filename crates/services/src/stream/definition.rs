//! What a topic is: where its partitions rest, how durable they are, what is kept, and which rules its events obey.

use serde::{Deserialize, Serialize};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// The most partitions of a topic.
pub const PARTITIONS_MAX: usize = 4096;
/// The longest rule in bytes.
pub const RULE_MAX: usize = 64 << 10;

/// Where a partition rests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rest {
    /// In the server's memory; gone with the server.
    Memory,
    /// In files in a folder of the server's choice.
    Files,
    /// In files, the data apart from their metadata in this folder.
    Apart {
        /// The folder on the server's node, absolute.
        data: String,
    },
    /// Where the server likes it best: in files where it has a folder, else in memory.
    Anywhere,
}

/// When an event counts as appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// When the operating system has it: it survives the end of the server, not of the machine.
    None,
    /// As `None`, and so long after it at the latest it survives the machine too.
    Interval(Nanos),
    /// When it survives the end of the machine.
    Always,
}

/// What is kept; events go when any of these says so, whole files at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Events that are older go.
    pub age: Option<Nanos>,
    /// The oldest events go while there are more bytes.
    pub bytes: Option<Bytes>,
    /// Events go that every named consumer has acknowledged.
    pub acknowledged: bool,
}

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Where it rests.
    pub rest: Rest,
    /// When an event counts as appended.
    pub durability: Durability,
    /// What is kept.
    pub retention: Retention,
}

/// A topic, as all its clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Its partitions, by their number.
    pub partitions: Vec<Partition>,
    /// Which metadata are accepted: JSON that clients understand.
    pub validator: String,
    /// Which partition an event goes to: JSON that clients understand.
    pub selector: String,
    /// How metadata are written: JSON that clients understand.
    pub serializer: String,
}

impl Topic {
    /// Checks what anybody may have sent.
    ///
    /// # Errors
    /// `Invalid` with what was met and what is accepted.
    pub fn check(&self) -> Result<()> {
        let wrong = |detail: String| Err(Error::new(Kind::Invalid, "stream.create", detail));
        if !(1..=PARTITIONS_MAX).contains(&self.partitions.len()) {
            let n = self.partitions.len();
            return wrong(format!("{n} partitions; accepted are 1 to {PARTITIONS_MAX}"));
        }
        for (what, rule) in
            [("validator", &self.validator), ("selector", &self.selector), ("serializer", &self.serializer)]
        {
            if rule.len() > RULE_MAX {
                return wrong(format!("a {what} of {} bytes; accepted are at most {RULE_MAX}", rule.len()));
            }
        }
        self.partitions.iter().try_for_each(Partition::check)
    }
}

impl Partition {
    /// Checks what anybody may have sent.
    ///
    /// # Errors
    /// `Invalid` with what was met and what is accepted.
    pub fn check(&self) -> Result<()> {
        let wrong = |detail: String| Err(Error::new(Kind::Invalid, "stream.partition", detail));
        if self.rest == Rest::Memory && self.durability != Durability::None {
            return wrong("a partition in memory with durability; use files, or durability none".into());
        }
        match (&self.rest, self.durability) {
            (Rest::Apart { data }, _) if !data.starts_with('/') => {
                wrong(format!("the folder {data:?} for data; accepted are absolute paths"))
            }
            (_, Durability::Interval(Nanos(interval)))
                if !(1_000_000..=3_600_000_000_000).contains(&interval) =>
            {
                wrong(format!("an interval of {}; accepted are 1 ms to 1 h", Nanos(interval)))
            }
            _ => Ok(()),
        }
    }
}
