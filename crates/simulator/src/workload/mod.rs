//! What machines are made to do.

pub mod applications;
pub mod language;
pub mod operation;
pub mod synthetic;
