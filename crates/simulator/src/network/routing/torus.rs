//! A packet's step in a torus: dimension after dimension; with Valiant's algorithm to a random router first.
//!
//! Each of the two legs has two virtual channels, one before and one behind the end of a ring.

use super::super::packet::{Packet, NON_MINIMAL, NOWHERE, VISITED};
use super::super::topology::Torus;
use super::{Draws, Routing};

#[inline]
pub fn step(routing: Routing, torus: &Torus, packet: &mut Packet, router: u32, seed: u64) -> (u16, u8) {
    let destination = torus.router_of(packet.destination);
    if routing == Routing::Valiant && packet.intermediate == NOWHERE && router != destination {
        packet.intermediate = Draws::new(seed, packet).below(torus.router_count()) as u16;
        packet.state |= NON_MINIMAL;
    }
    if u32::from(packet.intermediate) == router {
        packet.state |= VISITED;
    }
    let first_leg = packet.is(NON_MINIMAL) && !packet.is(VISITED);
    let leg = if packet.is(VISITED) { 2 } else { 0 };
    let to = if first_leg { u32::from(packet.intermediate) } else { destination };
    if to == router {
        return (torus.terminal_port(packet.destination), leg);
    }
    let step = torus.toward(router, to);
    (step.port, leg + u8::from(step.beyond_end))
}
