//! What a rank does, one operation after the other.

use crate::engine::Picos;

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

/// One operation of a rank; blocking ones end before the next one begins. Ranks are those of the application, sizes are bytes,
/// and a request is a number that the program gives, and may give again when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are named after what MPI calls them
pub enum Operation {
    /// Sends a message; blocks until its last packet has left the network interface.
    Send { to: u32, bytes: u64, tag: Tag },
    /// Begins to send a message; complete when its last packet has left the interface.
    Isend { to: u32, bytes: u64, tag: Tag, request: u32 },
    /// Receives a message; blocks until it is there. Without a tag it takes any.
    Recv { from: Source, tag: Option<Tag> },
    /// Begins to receive a message.
    Irecv { from: Source, tag: Option<Tag>, request: u32 },
    /// Blocks until a request is complete.
    Wait { request: u32 },
    /// Blocks until all requests are complete.
    WaitAll,
    /// Computes for a time.
    Compute { time: Picos },
    /// Combines `bytes` of every rank, so that all have the result.
    Allreduce { bytes: u64 },
    /// Blocks until every rank has come here.
    Barrier,
    /// Writes to the application's file, from its beginning; blocks until all is committed.
    Write { bytes: u64 },
    /// Reads from the application's file, from its beginning.
    Read { bytes: u64 },
}

/// What one rank does; ends when there is no further operation.
pub type Program = Box<dyn Iterator<Item = Operation> + Send>;
