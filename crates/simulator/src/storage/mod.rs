//! Storage: devices by formulas, and the servers in front of them, which clients reach over the network.

mod arrangement;
mod device;
mod flat;
mod hdd;
mod numbers;
mod server;
mod ssd;
mod table1;

pub use arrangement::{Arrangement, Storage};
pub use device::{Device, Model, Request};
pub use flat::{Flat, SEEK_TOLERANCE};
pub use hdd::{Disk, Hdd};
pub use server::{Job, Reply, Server};
pub use ssd::Ssd;
pub use table1::{table1, Row};
