//! What is put together to a run: machine, placement, applications and models.

mod machine;
mod placement;
mod rank;

pub use machine::{ApplicationResult, Machine, Settings};
pub use placement::{parse_nodes, terminal_of, COMPUTE_NODES};
