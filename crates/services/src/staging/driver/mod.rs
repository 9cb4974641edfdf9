//! What drives the staging service over real memory and links: the host around the state machine, and the client.

mod client;
mod exchange;
mod held;
mod host;
mod memory;
mod region;
mod remote;
mod shared;
mod stage;
mod together;
mod variable;
mod wire;
mod work;

pub use client::{Client, Committed, Identity, Loan, Target, View};
pub use exchange::{node_address, tcp_address, Exchange};
pub use held::{Lying, RegionLoan, RegionView};
pub use host::{Delivery, Host};
pub use remote::Remote;
pub use shared::{Lease, Shared, SharedLoan};
pub use stage::Stage;
pub use variable::Variable;
pub use wire::{receive_segment, send_segment, Handshake, RemoteReply, RemoteRequest};
