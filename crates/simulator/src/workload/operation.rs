//! What a rank does, one operation after the other.

use crate::engine::Picos;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// Most bytes of one operation: 1 TiB.
pub const MOST_BYTES: u64 = 1 << 40;

/// The tag of a message within an application.
pub type Tag = u32;

/// From whom a receive takes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From this rank.
    Rank(u32),
    /// From any.
    Any,
}

/// What ranks do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// Waits until every rank has come here; has no data.
    Barrier,
    /// Brings the root's data to every rank.
    Bcast,
    /// Combines the data of every rank at the root.
    Reduce,
    /// Combines the data of every rank, so that all have the result.
    Allreduce,
    /// Brings the data of every rank to every rank.
    Allgather,
    /// Brings a part of the data of every rank to each rank; its bytes are those of one part.
    Alltoall,
}

impl Collective {
    /// All, with their names.
    pub const NAMES: [(&'static str, Collective); 6] = [
        ("barrier", Collective::Barrier),
        ("bcast", Collective::Bcast),
        ("reduce", Collective::Reduce),
        ("allreduce", Collective::Allreduce),
        ("allgather", Collective::Allgather),
        ("alltoall", Collective::Alltoall),
    ];

    /// The collective of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Collective> {
        Collective::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).ok_or_else(|| {
            let known: Vec<_> = Collective::NAMES.iter().map(|(name, _)| *name).collect();
            let detail = format!("there is no collective {name:?}; accepted are {}", known.join(", "));
            Error::new(Kind::Invalid, "collective", detail)
        })
    }

    /// Its name, as MPI calls it.
    pub fn name(self) -> &'static str {
        Collective::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

/// Which ranks take part in a collective.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// All of the application.
    All,
    /// These, in ascending order.
    Of(Arc<[u32]>),
}

/// One operation of a rank; blocking ones end before the next one begins. Ranks are those of the application, sizes are bytes,
/// and a request is a number that the program gives, and may give again when it is complete. File 0 is the application's own;
/// others have the numbers that the program gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are named after what MPI calls them
pub enum Operation {
    /// Sends a message; blocks until its last packet has left the network interface.
    Send { to: u32, bytes: u64, tag: Tag },
    /// Begins to send a message; complete when its last packet has left the interface.
    Isend { to: u32, bytes: u64, tag: Tag, request: u32 },
    /// Receives a message of at most `bytes`; blocks until it is there. Without a tag it takes any.
    Recv { from: Source, bytes: u64, tag: Option<Tag> },
    /// Begins to receive a message.
    Irecv { from: Source, bytes: u64, tag: Option<Tag>, request: u32 },
    /// Blocks until a request is complete.
    Wait { request: u32 },
    /// Blocks until all requests are complete.
    WaitAll,
    /// Computes for a time.
    Compute { time: Picos },
    /// Takes part in a collective; blocks until this rank's part is done. Only some have a root.
    Collective { kind: Collective, root: u32, bytes: u64, group: Group },
    /// Opens a file.
    Open { file: u32 },
    /// Writes to a file; blocks until all is committed.
    Write { file: u32, at: u64, bytes: u64 },
    /// Reads from a file.
    Read { file: u32, at: u64, bytes: u64 },
    /// Blocks until what was written to a file would survive a loss of power.
    Sync { file: u32 },
    /// Closes a file.
    Close { file: u32 },
}

impl Operation {
    /// An allreduce of all ranks.
    pub fn allreduce(bytes: u64) -> Operation {
        Operation::Collective { kind: Collective::Allreduce, root: 0, bytes, group: Group::All }
    }

    /// A barrier of all ranks.
    pub fn barrier() -> Operation {
        Operation::Collective { kind: Collective::Barrier, root: 0, bytes: 0, group: Group::All }
    }

    /// A write to the application's file from its beginning.
    pub fn write(bytes: u64) -> Operation {
        Operation::Write { file: 0, at: 0, bytes }
    }

    /// A read from the application's file from its beginning.
    pub fn read(bytes: u64) -> Operation {
        Operation::Read { file: 0, at: 0, bytes }
    }

    /// What it is called, and how many bytes it moves from the rank's view.
    pub fn kind(&self) -> (&'static str, u64) {
        match self {
            Operation::Send { bytes, .. } => ("send", *bytes),
            Operation::Isend { bytes, .. } => ("isend", *bytes),
            Operation::Recv { bytes, .. } => ("recv", *bytes),
            Operation::Irecv { bytes, .. } => ("irecv", *bytes),
            Operation::Wait { .. } => ("wait", 0),
            Operation::WaitAll => ("waitall", 0),
            Operation::Compute { .. } => ("compute", 0),
            Operation::Collective { kind, bytes, .. } => (kind.name(), *bytes),
            Operation::Open { .. } => ("open", 0),
            Operation::Write { bytes, .. } => ("write", *bytes),
            Operation::Read { bytes, .. } => ("read", *bytes),
            Operation::Sync { .. } => ("sync", 0),
            Operation::Close { .. } => ("close", 0),
        }
    }
}

/// What a rank has seen when it is asked for its next operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The time.
    pub now: Picos,
    /// Messages that it sent, and their bytes.
    pub sent: (u64, u64),
    /// Messages that came for it, and their bytes.
    pub received: (u64, u64),
}

/// What a rank does, asked for one operation after the other.
pub trait Behaviour: Send {
    /// The next operation; none when the rank is done.
    ///
    /// # Errors
    /// What is wrong with a program and shows only when it runs, such as a division by zero.
    fn next(&mut self, seen: &Seen) -> Result<Option<Operation>>;
}

impl<I: Iterator<Item = Operation> + Send> Behaviour for I {
    fn next(&mut self, _seen: &Seen) -> Result<Option<Operation>> {
        Ok(Iterator::next(self))
    }
}

/// What one rank does.
pub type Program = Box<dyn Behaviour>;

/// What the ranks of an application do, whoever says it.
pub trait Generator: Send + Sync + std::fmt::Debug {
    /// What messages call the application.
    fn name(&self) -> &str;

    /// How many ranks it has.
    fn ranks(&self) -> u32;

    /// What a rank does.
    fn rank(&self, rank: u32) -> Program;
}
