//! Valiant routing: to a random router of a random third group first, then minimally.
//!
//! Source: L. G. Valiant, A scheme for fast parallel communication, SIAM J. Comput. 11 (1982); by group as in the dragonfly paper,
//! where any router of the third group will do.

use super::super::packet::{Packet, NON_MINIMAL, NOWHERE, VISITED};
use super::candidates::{any, third_group, toward};
use super::dragonfly::Place;
use super::{minimal, Detour};

pub fn port(place: &mut Place<'_>, packet: &mut Packet) -> u16 {
    if packet.intermediate == NOWHERE {
        let Some(detour) = detour(place) else { return minimal::port(place) };
        packet.intermediate = detour;
        packet.state |= NON_MINIMAL;
    }
    onward(place, packet)
}

/// A place to go through, all equally likely: a group, or a router; none when there are only two groups.
pub fn detour(place: &mut Place<'_>) -> Option<u16> {
    let group = third_group(place)?;
    match place.detour {
        Detour::Group => Some(group),
        Detour::Router => {
            let routers = place.dragonfly.routers;
            Some((u32::from(group) * routers + place.draw(routers)) as u16)
        }
    }
}

/// The port towards the place that a packet goes through, and behind it towards its destination.
pub fn onward(place: &mut Place<'_>, packet: &mut Packet) -> u16 {
    let dragonfly = place.dragonfly;
    let reached = match place.detour {
        Detour::Group => place.group == packet.intermediate,
        Detour::Router => place.router == u32::from(packet.intermediate),
    };
    if reached {
        packet.state |= VISITED;
    }
    if packet.is(VISITED) {
        return minimal::port(place);
    }
    let group = group_of(place, packet.intermediate);
    if group == place.group {
        return dragonfly.member(u32::from(packet.intermediate));
    }
    let ports = toward(dragonfly, place.router, group);
    any(place, ports)
}

/// The group of a place to go through.
pub fn group_of(place: &Place<'_>, intermediate: u16) -> u16 {
    match place.detour {
        Detour::Group => intermediate,
        Detour::Router => place.dragonfly.group(u32::from(intermediate)),
    }
}
