//! What is put together to a run: machine, placement, applications and models.

mod application;
mod deadlock;
pub mod description;
mod envelope;
mod hearing;
mod machine;
mod model;
mod outcome;
mod partition;
mod performing;
mod placement;
mod placing;
mod rank;
mod serving;
mod tally;

pub use application::ApplicationResult;
pub use machine::{Machine, Settings};
pub use model::Model;
pub use outcome::{run, Outcome, Scenario, Task, Work};
pub use placement::{parse_nodes, Layout};
pub use placing::{Nodes, Policy};
pub use rank::Stored;
pub use tally::{tally, Tally};
