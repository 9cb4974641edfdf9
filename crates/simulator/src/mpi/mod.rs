//! What ranks of an application do to each other: point-to-point messages, and collectives as schedules of these.

pub mod collectives;
mod in_order;
mod matching;
mod protocol;

pub use in_order::{InOrder, Lane};
pub use matching::{Arrived, Matching, Posted};
pub use protocol::{Protocol, HANDSHAKE_BYTES};
