//! The simulator: what a workload would do on a machine that is not there.
//!
//! `engine` knows time and events and no network; `network` carries messages and does not know who sends them; `workload`
//! says what is sent.

pub mod engine;
pub mod mpi;
pub mod network;
pub mod scenario;
pub mod storage;
pub mod workload;
