//! Mechanism without meaning: segments of memory, and links that carry messages between threads, processes and nodes.

pub mod link;
pub mod memory;
pub mod process;
