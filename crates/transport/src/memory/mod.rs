//! Memory that processes share and that the kernel frees by itself.

mod buffer;
mod limit;
mod segment;

pub use buffer::Buffer;
pub use limit::available;
pub use segment::{Access, Segment};
