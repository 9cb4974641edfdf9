//! The client of the stream service, wherever the service is.

mod consumer;
mod driver;
mod events;
mod link;
mod node;
mod outbox;
mod producer;
mod promise;
mod remote;

pub use consumer::{Consumer, ConsumerOptions, Position};
pub use driver::{Driver, Identity};
pub use events::Events;
pub use link::{Connect, Link, Source};
pub use producer::{BatchSize, Column, Ordering, Producer, ProducerOptions};
pub use promise::{Pushed, PushedMany};
