//! How messages of ranks are handed to the network.

use super::collectives::{Algorithms, Exchange};
use crate::engine::Picos;

/// What a message costs before it reaches the network interface, and how ranks agree on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protocol {
    /// For every message.
    pub overhead: Picos,
    /// For every byte, in picoseconds.
    pub per_byte: f64,
    /// Messages of at least so many bytes wait until their receive is posted; smaller ones are sent at once.
    pub rendezvous_bytes: u64,
    /// How collectives are made of messages.
    pub algorithms: Algorithms,
    /// How a rank sends and receives in a step of a collective.
    pub exchange: Exchange,
}

/// The request of a rendezvous, and its answer.
pub const HANDSHAKE_BYTES: u64 = 64;

impl Protocol {
    /// The published artifact: every message is eager, and 10 + 2500 + 1000 ns plus 0.55 ns a byte late.
    pub fn artifact() -> Protocol {
        Protocol {
            overhead: Picos(3_510_000),
            per_byte: 550.0,
            rendezvous_bytes: u64::MAX,
            algorithms: Algorithms::default(),
            exchange: Exchange::InTurn,
        }
    }

    /// MPI as it is: small messages are copied and sent, from 8,192 bytes on they wait for their receive and are not copied; the
    /// sender and the receiver of a step in a collective do not wait for each other.
    pub fn right() -> Protocol {
        Protocol { rendezvous_bytes: 8192, exchange: Exchange::AtOnce, ..Protocol::artifact() }
    }

    /// Whether a message waits for its receive.
    pub fn waits(&self, bytes: u64) -> bool {
        bytes >= self.rendezvous_bytes
    }

    /// From the call to the interface, for a message whose data are copied.
    pub fn delay(&self, bytes: u64) -> Picos {
        self.overhead + Picos((bytes as f64 * self.per_byte).round() as u64)
    }
}
