//! Progressive adaptive routing: a packet may leave the shortest path at every router of its source group.
//!
//! The best minimal port competes with the best one towards the intermediate group, whose load counts twice; minimal wins ties.
//! Once a packet has left the shortest path it stays off it until its intermediate group. Source: N. Jiang, J. Kim, W. Dally,
//! Indirect adaptive routing on large scale interconnection networks, ISCA 2009, as the published artifact of MFNetSim has it.

use super::super::packet::{Packet, NON_MINIMAL, NOWHERE, VISITED};
use super::candidates::{best, third_group, toward};
use super::dragonfly::Place;
use super::Loads;

pub fn port<L: Loads>(place: &mut Place<'_>, packet: &mut Packet, loads: &mut L) -> u16 {
    let first = packet.hops == 1;
    if first {
        packet.intermediate = third_group(place).unwrap_or(NOWHERE);
    }
    if place.group == packet.intermediate {
        packet.state |= VISITED;
    }
    let shortest = toward(place.dragonfly, place.router, place.destination_group);
    if packet.global_hops() > 0 || packet.intermediate == NOWHERE {
        return best(place, shortest, loads).0;
    }
    let direct = |group| {
        toward(place.dragonfly, place.router, group).all(|port| u32::from(port) >= place.dragonfly.routers)
    };
    if !first && !direct(packet.intermediate) {
        // No second local link in the source group: it goes on to a group that this router is linked to.
        match neighbouring_group(place) {
            Some(group) => packet.intermediate = group,
            None => return best(place, shortest, loads).0,
        }
    }
    let around = toward(place.dragonfly, place.router, packet.intermediate);
    if packet.is(NON_MINIMAL) {
        return best(place, around, loads).0;
    }
    let (minimal, load) = best(place, shortest, loads);
    if load == 0 {
        return minimal;
    }
    let (other, other_load) = best(place, around, loads);
    if load <= 2 * other_load {
        return minimal;
    }
    packet.state |= NON_MINIMAL;
    other
}

/// A group that this router has a global link to, and that is not the destination's, at random.
fn neighbouring_group(place: &mut Place<'_>) -> Option<u16> {
    let dragonfly = place.dragonfly;
    let (router, to) = (place.router, place.destination_group);
    let mut groups = (0..dragonfly.global_links)
        .filter_map(|k| dragonfly.global_peer_group(router, k))
        .filter(|group| *group != to);
    let count = groups.clone().count() as u32;
    let chosen = if count > 1 { place.draw(count) } else { 0 };
    groups.nth(chosen as usize)
}
