//! Quantities with units, identifiers, and the one error type.

mod error;
mod name;
mod peer;
mod units;

pub use error::{Error, Kind, Result};
pub use name::{Key, Name, NAME_MAX};
pub use peer::PeerId;
pub use units::{Bytes, BytesPerSec, Nanos, Rank, Version};
