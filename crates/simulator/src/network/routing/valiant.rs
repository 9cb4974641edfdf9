//! Valiant routing by group: to a random third group first, then minimally.
//!
//! Source: L. G. Valiant, A scheme for fast parallel communication, SIAM J. Comput. 11 (1982); by group as in the dragonfly paper.

use super::super::packet::{Packet, NON_MINIMAL, NO_GROUP, VISITED};
use super::candidates::{any, third_group, toward};
use super::{minimal, Place};

pub fn port(place: &mut Place<'_>, packet: &mut Packet) -> u16 {
    if packet.intermediate == NO_GROUP {
        let Some(group) = third_group(place) else { return minimal::port(place) };
        packet.intermediate = group;
        packet.state |= NON_MINIMAL;
    }
    if place.group == packet.intermediate {
        packet.state |= VISITED;
    }
    if packet.is(VISITED) {
        return minimal::port(place);
    }
    let ports = toward(place.dragonfly, place.router, packet.intermediate);
    any(place, ports)
}
