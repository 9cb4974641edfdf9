//! What drives the stream service in the real world.

mod facts;
mod files;
mod host;

pub use files::{appended, opened};
pub use host::{Delivery, Host, Outbox, Settings};
