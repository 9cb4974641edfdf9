//! MILC: 486 KiB to each neighbour on a 3 × 4 × 5 × 5 torus, twice an iteration, then two small allreduces.

use super::super::operation::{Operation, Program, Source};
use super::{number, place};
use crate::engine::Picos;

const TORUS: [u32; 4] = [3, 4, 5, 5];
const BYTES: u64 = 497_664;
const COMPUTE: Picos = Picos(25_000);

/// The neighbours of a rank, backward before forward on each axis.
fn neighbours(rank: u32) -> [u32; 8] {
    let here = place(rank, &TORUS);
    std::array::from_fn(|index| {
        let (axis, extent) = (index / 2, TORUS[index / 2]);
        let step = if index % 2 == 0 { extent - 1 } else { 1 };
        let mut there = here;
        there[axis] = (there[axis] + step) % extent;
        number(&there, &TORUS)
    })
}

pub fn program(rank: u32, iterations: u32) -> Program {
    let neighbours = neighbours(rank);
    // What is sent forward comes from behind: a message's tag is the direction that it travels in.
    let exchange = move || {
        let receives = (0..8).map(move |index| Operation::Irecv {
            from: Source::Rank(neighbours[index]),
            bytes: BYTES,
            tag: Some(index as u32 ^ 1),
            request: index as u32,
        });
        let sends = (0..8).map(move |index| Operation::Isend {
            to: neighbours[index],
            bytes: BYTES,
            tag: index as u32,
            request: 8 + index as u32,
        });
        receives.chain(sends).chain([Operation::Compute { time: COMPUTE }, Operation::WaitAll])
    };
    Box::new((0..iterations).flat_map(move |_| {
        exchange().chain(exchange()).chain([Operation::allreduce(8), Operation::allreduce(8)])
    }))
}
