//! Nekbone: exchanges with up to 26 neighbours on a 5 × 6 × 10 grid and small allreduces, for three polynomial orders.

use super::super::operation::{Operation, Program, Source};
use super::{number, place};

const GRID: [u32; 3] = [5, 6, 10];
const ORDERS: [u64; 3] = [8, 11, 14];
/// Of each order: iterations of one exchange and three allreduces, after two of each to begin with.
const ITERATIONS: u32 = 200;

/// The neighbours of a rank, each with its direction (0 to 26, where 13 is the rank itself) and on how many axes it lies apart.
fn neighbours(rank: u32) -> Vec<(u32, u32, u32)> {
    let here = place(rank, &GRID);
    let mut found = Vec::with_capacity(26);
    for direction in (0..27).filter(|direction| *direction != 13) {
        let steps = place(direction, &[3, 3, 3]);
        let inside = (0..3).all(|axis| (1..=GRID[axis]).contains(&(here[axis] + steps[axis])));
        if inside {
            let there: [u32; 3] = std::array::from_fn(|axis| here[axis] + steps[axis] - 1);
            found.push((
                number(&there, &GRID),
                direction,
                steps.iter().filter(|step| **step != 1).count() as u32,
            ));
        }
    }
    found
}

/// What goes to a neighbour that lies apart on `axes` axes: a face, an edge or a corner of 13 elements an axis.
fn bytes(order: u64, axes: u32) -> u64 {
    (13 * order + 1).pow(3 - axes) * 8
}

pub fn program(rank: u32) -> Program {
    let neighbours = neighbours(rank);
    Box::new(ORDERS.into_iter().flat_map(move |order| {
        let neighbours = neighbours.clone();
        let exchange = move || {
            let (from, to) = (neighbours.clone(), neighbours.clone());
            let count = neighbours.len() as u32;
            let receives = from.into_iter().zip(0..).map(move |((rank, direction, axes), request)| {
                let bytes = bytes(order, axes);
                Operation::Irecv { from: Source::Rank(rank), bytes, tag: Some(26 - direction), request }
            });
            let sends = to.into_iter().zip(count..).map(move |((rank, direction, axes), request)| {
                Operation::Isend { to: rank, bytes: bytes(order, axes), tag: direction, request }
            });
            receives.chain(sends).chain([Operation::WaitAll])
        };
        let allreduces = |count| (0..count).map(|_| Operation::allreduce(8));
        let first = exchange.clone();
        let begin = (0..2).flat_map(move |_| first().chain(allreduces(1)));
        let iterations = (0..ITERATIONS).flat_map(move |_| exchange().chain(allreduces(3)));
        begin.chain(iterations).chain([Operation::barrier()])
    }))
}
