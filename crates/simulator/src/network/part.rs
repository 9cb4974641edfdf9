//! How a network is divided into parts that threads can work on side by side, and what passes between them.
//!
//! The division depends on the machine alone, never on the number of threads, so that results cannot depend on that either.

use super::message::Incoming;
use super::packet::Packet;
use super::topology::Topology;
use crate::engine::Picos;

/// The most parts of a network.
pub const MOST: usize = 64;

/// Which part has which routers and terminals: consecutive ones.
#[derive(Clone, Debug)]
pub struct Division {
    /// The first router and the first terminal of each part, and behind the last one how many there are.
    firsts: Vec<(u32, u32)>,
    /// The part of each router.
    of_router: Vec<u8>,
}

impl Division {
    /// At most `most` parts of whole groups.
    pub fn new(topology: &Topology, most: usize) -> Division {
        let groups = topology.firsts();
        let count = groups.len().min(most);
        let mut firsts: Vec<(u32, u32)> = (0..count)
            .map(|part| groups[part * groups.len() / count])
            .map(|router| (router, first_terminal(topology, router)))
            .collect();
        let mut of_router = Vec::with_capacity(topology.router_count() as usize);
        for router in 0..topology.router_count() {
            of_router.push(firsts.partition_point(|(first, _)| *first <= router) as u8 - 1);
        }
        firsts.push((topology.router_count(), topology.terminal_count()));
        Division { firsts, of_router }
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The part of a router.
    #[inline]
    pub fn of(&self, router: u32) -> u8 {
        self.of_router[router as usize]
    }

    /// The routers of a part.
    pub fn routers(&self, part: u8) -> std::ops::Range<u32> {
        self.firsts[usize::from(part)].0..self.firsts[usize::from(part) + 1].0
    }

    /// The terminals of a part.
    pub fn terminals(&self, part: u8) -> std::ops::Range<u32> {
        self.firsts[usize::from(part)].1..self.firsts[usize::from(part) + 1].1
    }
}

/// The first terminal that hangs at `router` or behind it.
fn first_terminal(topology: &Topology, router: u32) -> u32 {
    let (mut low, mut high) = (0, topology.terminal_count());
    while low < high {
        let middle = low + (high - low) / 2;
        if topology.router_of(middle) < router {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// What passes from one part to another.
#[derive(Debug)]
pub enum Crossing<P> {
    /// A packet that arrives at a port at a time.
    Packet(Picos, u32, Packet),
    /// A credit for a channel, and when it was sent.
    Credit(Picos, u32),
    /// A message that will arrive under a number.
    Message(u32, Box<Incoming<P>>),
    /// The message of a number has arrived, so that the number is free.
    Arrived(u32),
}

#[cfg(test)]
mod tests {
    use super::super::topology::{Dragonfly, FatTree};
    use super::*;

    #[test]
    fn parts_are_whole_groups_and_terminals_lie_where_their_routers_do() {
        let machines: [Topology; 3] = [
            Dragonfly::paper().into(),
            FatTree::k_ary(4, 3).unwrap().into(),
            FatTree::new(&[7], &[]).unwrap().into(),
        ];
        for (machine, most, expected) in
            [(0, MOST, 33), (0, 4, 4), (0, 1, 1), (1, MOST, 20), (1, 3, 3), (2, MOST, 1)]
        {
            let machine = &machines[machine];
            let division = Division::new(machine, most);
            assert_eq!(division.count(), expected);
            for part in 0..expected as u8 {
                assert!(division.routers(part).all(|router| division.of(router) == part));
                assert!(division
                    .terminals(part)
                    .all(|terminal| division.of(machine.router_of(terminal)) == part));
            }
            let terminals: usize = (0..expected as u8).map(|part| division.terminals(part).len()).sum();
            assert_eq!(terminals, machine.terminal_count() as usize);
        }
    }
}
