//! Services: what the bytes mean. Each one is a state machine without I/O (`core`) and what drives it (`driver`).

pub mod envelope;
pub mod greeting;
pub mod line;
pub mod patterns;
pub mod redirect;
pub mod server;
pub mod staging;
pub mod stream;
