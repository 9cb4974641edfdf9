//! The stream service in the adversarial world.

mod clients;
mod readers;
mod store;
mod world;

pub use readers::Readers;
pub use world::World as StreamWorld;
