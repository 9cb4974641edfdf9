//! UGAL with what the first router knows: the shortest path, or one through a random third group, whose load counts twice.
//!
//! Source: A. Singh, Load-balanced routing in interconnection networks, PhD thesis, Stanford 2005 (UGAL-L).

use super::super::packet::{Packet, NON_MINIMAL, NOWHERE};
use super::candidates::{best, toward};
use super::dragonfly::Place;
use super::{minimal, valiant, Loads};

pub fn port<L: Loads>(place: &mut Place<'_>, packet: &mut Packet, loads: &mut L) -> u16 {
    if packet.is(NON_MINIMAL) {
        return valiant::onward(place, packet);
    }
    if packet.hops > 1 {
        return minimal::port(place);
    }
    let Some(detour) = valiant::detour(place) else { return minimal::port(place) };
    let shortest = toward(place.dragonfly, place.router, place.destination_group);
    let around = toward(place.dragonfly, place.router, valiant::group_of(place, detour));
    let (minimal, load) = best(place, shortest, loads);
    let (other, other_load) = best(place, around, loads);
    debug_assert_eq!(packet.intermediate, NOWHERE);
    if load <= 2 * other_load {
        return minimal;
    }
    packet.intermediate = detour;
    packet.state |= NON_MINIMAL;
    other
}
