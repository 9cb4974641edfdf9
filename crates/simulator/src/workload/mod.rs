//! What machines are made to do.

pub mod synthetic;
