//! Links: how messages and descriptors get from one party to another.
//!
//! Within a process a `Mailbox`; on one node a `Channel` (two rings in shared memory, doorbells, a Unix socket for
//! descriptors and for noticing death); between nodes a `Stream` (TCP, frames, bulk bytes straight into their place).

mod bell;
mod channel;
mod correspondence;
mod socket;
mod stream;

pub use bell::{Bell, Event, Watch};
pub use channel::{Channel, Control, Side, LEASES_MAX};
pub use correspondence::{Correspondence, Post};
pub use socket::{Listener, Packet, Socket};
pub use stream::Stream;

use thalweg_foundation::{Nanos, Result};

/// How long a caller waits, and what it does meanwhile.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// At most this long.
    pub within: Nanos,
    /// Called a few times a second; an error ends the wait with that error.
    pub tick: &'a dyn Fn() -> Result<()>,
}

impl Patience<'_> {
    /// How often `tick` is called.
    pub const SLICE: Nanos = Nanos(200_000_000);

    /// Patience that nobody can end early.
    pub fn of(within: Nanos) -> Patience<'static> {
        Patience { within, tick: &|| Ok(()) }
    }
}

/// Nanoseconds on the clock that all processes of a node share.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
