//! Staging: named, versioned n-d arrays shared between processes.

pub mod core;
pub mod driver;
pub mod message;

mod published;

pub use published::{hash, Location};
