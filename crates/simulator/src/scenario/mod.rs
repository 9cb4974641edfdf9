//! What is put together to a run: machine, placement, applications and models.

mod machine;
mod outcome;
mod placement;
mod rank;
mod serving;

pub use machine::{ApplicationResult, Machine, Settings};
pub use outcome::{run, Outcome, Scenario, Work};
pub use placement::{parse_nodes, terminal_of, COMPUTE_NODES};
