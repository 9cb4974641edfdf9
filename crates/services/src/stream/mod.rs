//! Streams: topics of persistent events, each with metadata and data, in partitions that are read in order.

pub mod client;
pub mod core;
pub mod driver;
pub mod message;

mod definition;
mod laid;

pub use definition::{Durability, Partition, Rest, Retention, Topic, PARTITIONS_MAX, RULE_MAX};
pub use laid::Laid;
