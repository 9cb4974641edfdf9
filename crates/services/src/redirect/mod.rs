//! Redirected files: what programs write to files and read from them stays in memory, in the order that they agree on.

pub mod client;
pub mod core;
pub mod driver;
pub mod message;
mod rule;

pub use rule::{Mode, Rule, TURNS_MAX};
