//! The stream service in the adversarial world.

mod clients;
mod store;
mod world;

pub use world::World as StreamWorld;
