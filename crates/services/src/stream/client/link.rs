//! What a client needs of its connection, whatever it is made of.

use super::super::message::{Place, Reply, Request};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Entry, Read};
use thalweg_transport::link::Patience;
use thalweg_transport::memory::Segment;

/// A connection to the service.
pub trait Link: Send + Sync {
    /// Asks and waits for the reply; not on a link whose replies are taken by `next`.
    ///
    /// # Errors
    /// `Gone`, `Timeout` or what the tick says. A refusal by the service is an error too.
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply>;
    /// Says something to which no reply matters.
    fn tell(&self, body: Request);
    /// Sends a request with a number that is the caller's own; a batch lies in the outbox.
    ///
    /// # Errors
    /// `Gone`, `Timeout` or what the tick says.
    fn send(&self, id: u64, body: &Request, patience: Patience<'_>) -> Result<()>;
    /// The next reply; one thread at a time.
    ///
    /// # Errors
    /// `Gone`, `Timeout` or what the tick says.
    fn next(&self, patience: Patience<'_>) -> Result<(u64, Reply)>;
    /// The memory for batches, made once.
    ///
    /// # Errors
    /// `Gone`, `Full`, `Io`.
    fn outbox(&self, bytes: Bytes, patience: Patience<'_>) -> Result<Arc<Segment>>;
    /// A way to read the events of a partition.
    fn source(&self, place: &Place) -> Box<dyn Source>;
    /// The first event that was appended at a time, in nanoseconds since 1970, or later; that of the next where there is none.
    ///
    /// # Errors
    /// `Gone`, `Timeout`, or what the service says.
    fn first_since(&self, place: &Place, time: Nanos, patience: Patience<'_>) -> Result<u64>;
    /// Whether the service is there; looks, and sends no message.
    ///
    /// # Errors
    /// `Gone` when it is not.
    fn alive(&self) -> Result<()>;
}

/// Makes a new link to the same service.
pub type Connect = Box<dyn Fn(Patience<'_>) -> Result<Arc<dyn Link>> + Send + Sync>;

/// Reads the events of one partition.
pub trait Source: Send {
    /// Batches from the one on that holds event `wanted`, those before event `until`, which is there: about `most` bytes, at
    /// least one batch; `bytes` is memory to be used again.
    ///
    /// # Errors
    /// `Gone`, `Io`, `NotFound` when `wanted` has been let go of.
    fn entries(
        &mut self,
        wanted: u64,
        until: u64,
        most: u64,
        bytes: Vec<u8>,
        patience: Patience<'_>,
    ) -> Result<Read>;
    /// Copies `range` of the data of a batch, which lie apart, to `into`.
    ///
    /// # Errors
    /// `Gone`, `Io`; `Corrupt` when they are not what was written.
    fn data(
        &mut self,
        entry: &Entry<'_>,
        range: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()>;
}

/// A reply that is none to what was asked.
pub fn unexpected(reply: &impl std::fmt::Debug) -> Error {
    Error::new(Kind::Protocol, "stream", format!("unexpected answer {reply:?}"))
}

/// A refusal is an error.
pub fn accepted(reply: Reply) -> Result<Reply> {
    match reply {
        Reply::Failed(e) => Err(e),
        reply => Ok(reply),
    }
}
