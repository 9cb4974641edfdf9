//! CosmoFlow: five steps of a batch of 8 MiB, 129 ms of computing, and an allreduce of 28.15 MiB of gradients.

use super::super::operation::{Operation, Program};
use crate::engine::Picos;

pub fn program(reads: bool) -> Program {
    let bytes = 8 << 20;
    let batch = if reads { Operation::read(bytes) } else { Operation::write(bytes) };
    let compute = Operation::Compute { time: Picos(129_000_000_000) };
    let step = [batch, compute, Operation::allreduce(7_379_200 * 4)];
    Box::new((0..5).flat_map(move |_| step.clone()))
}
