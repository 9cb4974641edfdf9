//! Topologies: which routers there are, and where their links lead.

mod dragonfly;

pub use dragonfly::{Dragonfly, Gateway};
