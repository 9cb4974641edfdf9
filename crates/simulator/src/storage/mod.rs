//! Storage: devices by formulas, and the servers in front of them, which clients reach over the network.

mod device;
mod server;

pub use device::{Device, SEEK_TOLERANCE};
pub use server::{Job, Reply, Server};
