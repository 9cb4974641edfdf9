//! Lock-free structures that live in memory shared by processes, and the std/loom switch under them.
//!
//! All of them are built from `AtomicU64` words only, so that a model checker can own the words in a test
//! and a mapped segment can own them in production.

mod lease;
mod ring;
mod spare;

pub use lease::{Directory, Hazards, Payload, Probe, Ticket, PAYLOAD_WORDS, SLOT_WORDS};
pub use ring::{Corrupt, Ring, RingFull, RING_HEAD_WORDS};
pub use spare::Spares;

#[cfg(not(loom))]
pub(crate) mod atomic {
    pub use std::sync::atomic::{fence, AtomicU64, Ordering};
}

#[cfg(loom)]
pub(crate) mod atomic {
    pub use loom::sync::atomic::{fence, AtomicU64, Ordering};
}

/// The word that all structures here are made of.
pub type Word = atomic::AtomicU64;
