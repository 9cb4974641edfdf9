//! What drives the redirect service: contents in memory, replies to processes, files written behind them.

mod contents;
mod host;
mod saver;
mod wire;

pub use host::{Delivery, Host};
pub use wire::Handshake;
