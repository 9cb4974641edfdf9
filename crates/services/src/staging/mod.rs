//! Staging: named, versioned n-d arrays shared between processes.

pub mod core;
pub mod driver;
pub mod message;

mod definition;
mod published;

pub use definition::{Definition, Print, Strategy, LAYOUTS_MAX};
pub use published::{hash, Location};
