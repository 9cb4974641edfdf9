//! A packet's step in a dragonfly: straight on where there is no choice, else what the algorithm says.

use super::super::packet::{Packet, NON_MINIMAL, VISITED};
use super::super::topology::Dragonfly;
use super::{minimal, progressive, ugal, valiant, Detour, Draws, Loads, Routing};

/// A packet's place, and its random numbers there.
pub struct Place<'a> {
    pub dragonfly: &'a Dragonfly,
    pub detour: Detour,
    pub router: u32,
    pub group: u16,
    pub destination_group: u16,
    draws: Draws,
}

impl Place<'_> {
    pub fn draw(&mut self, bound: u32) -> u32 {
        self.draws.below(bound)
    }
}

#[inline]
pub fn step<L: Loads>(
    routing: Routing,
    detour: Detour,
    dragonfly: &Dragonfly,
    packet: &mut Packet,
    router: u32,
    loads: &mut L,
    seed: u64,
) -> (u16, u8) {
    let destination = dragonfly.router_of(packet.destination);
    let (group, destination_group) = (dragonfly.group(router), dragonfly.group(destination));
    let channel = match (packet.global_hops(), packet.is(NON_MINIMAL)) {
        // The source group comes first: what stays in it never uses the channel of the last group.
        (0, false) => packet.local_hops().min(1),
        (0, true) => 1,
        _ if group == destination_group => 3,
        _ => 2,
    };
    if destination == router {
        return (dragonfly.terminal_port(packet.destination), channel);
    }
    if group == destination_group {
        packet.count_local_hop();
        return (dragonfly.member(destination), channel);
    }
    let detour = if routing == Routing::Progressive { Detour::Group } else { detour };
    let draws = Draws::new(seed, packet);
    let mut place = Place { dragonfly, detour, router, group, destination_group, draws };
    let port = match routing {
        Routing::Valiant => valiant::port(&mut place, packet),
        Routing::Ugal => ugal::port(&mut place, packet, loads),
        Routing::Progressive => progressive::port(&mut place, packet, loads),
        Routing::Minimal | Routing::Adaptive => minimal::port(&mut place),
    };
    // By a certain router there are two local links in the third group: each has a channel, and so has the one before them.
    let channel = match (detour, packet.global_hops()) {
        (Detour::Router, 0) => 0,
        (Detour::Router, _) if !packet.is(VISITED) => 1,
        _ => channel,
    };
    if u32::from(port) < dragonfly.routers {
        packet.count_local_hop();
    } else {
        packet.count_global_hop();
    }
    (port, channel)
}
