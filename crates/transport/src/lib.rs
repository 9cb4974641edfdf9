//! Mechanism without meaning: segments of memory, a journal on disk, and links that carry messages between threads,
//! processes and nodes.

pub mod journal;
pub mod link;
pub mod memory;
pub mod process;
