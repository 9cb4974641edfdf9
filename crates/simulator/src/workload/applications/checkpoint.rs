//! Checkpoint: computes for 100 ms, then writes 50 GB, the same share a rank.

use super::super::operation::{Operation, Program};
use crate::engine::Picos;

pub fn program() -> Program {
    Box::new([Operation::Compute { time: Picos(100_000_000_000) }, Operation::write(166_666_666)].into_iter())
}
