//! What is put together to a run: machine, placement, applications and models.

mod application;
mod deadlock;
mod envelope;
mod hearing;
mod machine;
mod outcome;
mod performing;
mod placement;
mod rank;
mod serving;
mod tally;

pub use application::ApplicationResult;
pub use machine::{Machine, Settings};
pub use outcome::{run, Outcome, Scenario, Task, Work};
pub use placement::{parse_nodes, terminal_of, COMPUTE_NODES};
pub use tally::{tally, Tally};
