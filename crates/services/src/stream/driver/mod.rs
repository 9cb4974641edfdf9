//! What drives the stream service in the real world.

mod facts;
mod files;
mod host;
mod identity;
mod wire;

pub use files::{appended, opened};
pub use host::{Delivery, Host, Outbox, Settings};
pub use wire::{Handshake, RemoteReply, RemoteRequest, Whereabouts, PIECE_MAX};
