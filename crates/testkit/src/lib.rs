//! The adversarial world: the staging service's production state machine in a seeded, deterministic world that delays,
//! reorders, duplicates and drops messages, and kills and restarts clients and servers.
//!
//! `World::run(seed)` is one life of the service; a failure names its seed, and the same seed replays it step by step.

mod chance;
mod client;
mod disk;
mod field;
mod ground;
mod stream;
mod task;
mod world;

pub use chance::Chance;
pub use disk::ToyDisk;
pub use ground::{Toy, Words};
pub use stream::{Readers, StreamWorld};
pub use world::{Failure, World};
