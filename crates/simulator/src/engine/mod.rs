//! The event engine: time, a queue of what happens next, and random numbers. It knows no network.

mod barrier;
mod calendar;
pub mod parallel;
pub mod random;
mod time;

pub use calendar::{Calendar, Event};
pub use time::Picos;
