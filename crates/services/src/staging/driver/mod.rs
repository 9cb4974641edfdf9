//! What drives the staging service over real memory and links: the host around the state machine, and the client.

mod client;
mod exchange;
mod host;
mod memory;
mod remote;
mod shared;
mod wire;

pub use client::{Client, Identity, Loan, Target, View};
pub use exchange::{node_address, tcp_address, Exchange};
pub use host::{Delivery, Host};
pub use remote::Remote;
pub use shared::{Lease, Shared, SharedLoan};
pub use wire::{receive_segment, send_segment, Handshake, RemoteReply, RemoteRequest};
