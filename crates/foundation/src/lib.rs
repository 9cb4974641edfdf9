//! The ground floor: units and errors, n-d array geometry, lock-free structures.
//!
//! Pure: no I/O, no clocks, no threads. Everything above imports it; it imports nothing of ours.

pub mod array;
pub mod base;
pub mod sync;

pub use base::{Bytes, Error, Kind, Nanos, Result, Version};
