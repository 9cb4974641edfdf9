//! The messages of the staging service (docs/formats/staging-wire.md).

mod reply;
mod request;
mod stats;

pub use reply::{Entry, Grant, Habit, Lies, Part, Reduction, Reply, VersionState};
pub use request::{Bins, Publication, Purpose, Question, Request, Which, Wish};
pub use stats::Stats;

/// The version of this protocol; both sides must have the same.
pub const PROTOCOL: u32 = 3;
/// The most keys that one wait may name.
pub const WAIT_KEYS_MAX: usize = 512;
