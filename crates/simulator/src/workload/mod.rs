//! What machines are made to do.

pub mod applications;
pub mod operation;
pub mod synthetic;
