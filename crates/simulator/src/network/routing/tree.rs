//! A packet's step in a fat tree: up as far as it must, then down. No way leads up again, so one virtual channel is enough.

use super::super::packet::Packet;
use super::super::topology::{FatTree, Way};
use super::{Draws, Loads, Routing};

#[inline]
pub fn step<L: Loads>(
    routing: Routing,
    tree: &FatTree,
    packet: &mut Packet,
    router: u32,
    loads: &mut L,
    seed: u64,
) -> (u16, u8) {
    let port = match tree.toward(router, packet.destination) {
        Way::Down(port) => port,
        Way::Up { usual, .. } if routing != Routing::Adaptive => usual,
        Way::Up { first, count, .. } => {
            // The least loaded; of equals the first one behind a random one.
            let begin = Draws::new(seed, packet).below(u32::from(count)) as u16;
            let ports = (0..count).map(|index| first + (begin + index) % count);
            ports.min_by_key(|port| loads.load(*port)).unwrap_or(first)
        }
    };
    (port, 0)
}
