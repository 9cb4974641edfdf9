//! Memory that processes share and that the kernel frees by itself.

mod limit;
mod segment;

pub use limit::available;
pub use segment::{Access, Segment};
