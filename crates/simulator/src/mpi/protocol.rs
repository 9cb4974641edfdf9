//! How messages of ranks are handed to the network.

use crate::engine::Picos;

/// What a message costs before it reaches the network interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protocol {
    /// For every message.
    pub overhead: Picos,
    /// For every byte, in picoseconds.
    pub per_byte: f64,
}

impl Protocol {
    /// The published artifact: every message is eager, and 10 + 2500 + 1000 ns plus 0.55 ns a byte late.
    pub const ARTIFACT: Protocol = Protocol { overhead: Picos(3_510_000), per_byte: 550.0 };

    /// From the call to the interface.
    pub fn delay(&self, bytes: u64) -> Picos {
        self.overhead + Picos((bytes as f64 * self.per_byte).round() as u64)
    }
}
