//! What drives the stream service in the real world.

mod facts;
mod files;
mod host;
mod identity;
mod repair;
mod wire;

pub use files::{appended, opened};
pub use host::{Delivery, Host, Outbox, Settings};
pub use repair::{check, repair, Problem};
pub use wire::{Handshake, RemoteReply, RemoteRequest, Whereabouts, PIECE_MAX};
