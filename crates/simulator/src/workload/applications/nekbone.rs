//! Nekbone: exchanges with up to 26 neighbours on a 5 × 6 × 10 grid and small allreduces, for three polynomial orders.

use super::super::operation::{Operation, Program, Source};
use super::{number, place};

const GRID: [u32; 3] = [5, 6, 10];
const ORDERS: [u64; 3] = [8, 11, 14];
/// Of each order: twice so many iterations of the solver, a barrier in between.
const ITERATIONS: u32 = 100;

/// Where neighbours lie, in the order in which they are sent to: faces, corners, edges. Source: the SWM skeleton of Nekbone.
const DIRECTIONS: [[i32; 3]; 26] = [
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, -1],
    [1, -1, -1],
    [-1, -1, -1],
    [-1, 1, -1],
    [1, 1, 1],
    [1, -1, 1],
    [-1, -1, 1],
    [-1, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
    [0, 1, 1],
    [1, 0, -1],
    [1, 0, 1],
    [-1, 0, 1],
    [-1, 0, -1],
    [-1, -1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [1, 1, 0],
];

/// The neighbours of a rank, each with the tags of what goes there and comes from there, and on how many axes it lies apart.
fn neighbours(rank: u32) -> Vec<(u32, [u32; 2], u32)> {
    let here = place(rank, &GRID);
    let tag = |steps: [i32; 3]| steps.iter().fold(0, |tag, step| tag * 3 + (step + 1) as u32);
    let neighbour = |steps: [i32; 3]| {
        let mut there = here;
        for (axis, step) in steps.into_iter().enumerate() {
            there[axis] = there[axis].checked_add_signed(step).filter(|at| *at < GRID[axis])?;
        }
        let apart = steps.iter().filter(|step| **step != 0).count() as u32;
        Some((number(&there, &GRID), [tag(steps), tag(steps.map(|step| -step))], apart))
    };
    DIRECTIONS.into_iter().filter_map(neighbour).collect()
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
            let receives = from.into_iter().zip(0..).map(move |((rank, [_, tag], axes), request)| {
                let bytes = bytes(order, axes);
                Operation::Irecv { from: Source::Rank(rank), bytes, tag: Some(tag), request }
            });
            let sends = to.into_iter().zip(count..).map(move |((rank, [tag, _], axes), request)| {
                Operation::Isend { to: rank, bytes: bytes(order, axes), tag, request }
            });
            receives.chain(sends).chain([Operation::WaitAll])
        };
        let allreduces = |count| (0..count).map(|_| Operation::allreduce(8));
        let solved = {
            let exchange = exchange.clone();
            move || {
                let exchange = exchange.clone();
                let iterations =
                    (0..ITERATIONS).flat_map(move |_| allreduces(1).chain(exchange()).chain(allreduces(2)));
                allreduces(1).chain(iterations)
            }
        };
        let again = solved.clone();
        exchange().chain(exchange()).chain(solved()).chain([Operation::barrier()]).chain(again())
    }))
}
