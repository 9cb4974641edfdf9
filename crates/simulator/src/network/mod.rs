//! The interconnect: terminals, routers and links, and the packets on them.
//!
//! *Compute, don't schedule*: a port serves packets in the order in which it accepted them, so a packet's departure is known
//! when it arrives, and only its arrival at the next router is an event. A credit is a time stamp that is read when somebody
//! asks how full a buffer is; it becomes an event only where a packet waits for it.

mod arena;
mod calls;
mod carrier;
mod channel;
mod counters;
mod fabric;
mod findings;
mod flow;
mod histogram;
mod interface;
mod message;
mod packet;
mod parameters;
mod part;
mod plan;
mod port;
mod router;
pub mod routing;
mod side;
mod terminal;
pub mod topology;
mod traffic;
mod wiring;

pub use carrier::{Carrier, Fidelity};
pub use counters::{Counters, Link, LinkKind};
pub use fabric::{Network, Notice};
pub use findings::Findings;
pub use flow::Flows;
pub use histogram::Histogram;
pub use message::{Order, Wants};
pub use parameters::{LinkParameters, Parameters};
pub use part::Crossing;
pub use side::{run, Side};
pub use traffic::{Timeline, INTERVALS};
