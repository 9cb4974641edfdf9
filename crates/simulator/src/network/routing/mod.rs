//! Routing: which port a packet takes from where it is. One algorithm, one file.

mod candidates;
mod minimal;
mod progressive;
mod ugal;
mod valiant;

use super::packet::{Packet, NON_MINIMAL};
use super::topology::Dragonfly;
use crate::engine::random::{self, Purpose};
use thalweg_foundation::{Error, Kind, Result};

/// How packets find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// A shortest path, at random where there are several.
    Minimal,
    /// By way of a random third group (Valiant, by group).
    Valiant,
    /// At the first router the better one of the shortest path and one through a random third group.
    Ugal,
    /// As UGAL, and again at every router of the source group (progressive adaptive routing).
    Progressive,
}

impl Routing {
    /// All, with their names.
    pub const NAMES: [(&'static str, Routing); 4] = [
        ("minimal", Routing::Minimal),
        ("valiant", Routing::Valiant),
        ("ugal", Routing::Ugal),
        ("par", Routing::Progressive),
    ];

    /// The algorithm of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Routing> {
        Routing::NAMES.iter().find(|(known, _)| *known == name).map(|(_, routing)| *routing).ok_or_else(
            || {
                let known: Vec<_> = Routing::NAMES.iter().map(|(name, _)| *name).collect();
                let detail = format!("there is no routing {name:?}; accepted are {}", known.join(", "));
                Error::new(Kind::Invalid, "scenario: routing", detail)
            },
        )
    }
}

/// Virtual channels that the algorithms need: two in the source group, one in the intermediate group, one in the last.
pub const VIRTUAL_CHANNELS: u32 = 4;

/// How much is before a router's ports.
pub trait Loads {
    /// Packets in the buffers behind a port, and packets that wait for room in them.
    fn load(&mut self, port: u16) -> u32;
}

/// A packet's place, and its random numbers there.
pub struct Place<'a> {
    dragonfly: &'a Dragonfly,
    router: u32,
    group: u16,
    destination_group: u16,
    seed: u64,
    packet: u64,
    draws: u64,
}

impl Place<'_> {
    fn draw(&mut self, bound: u32) -> u32 {
        self.draws += 1;
        random::below(random::bits(self.seed, Purpose::Route, self.packet, self.draws), bound)
    }
}

/// The port and the virtual channel on which a packet leaves `router`. Notes in the packet what was decided and that it came.
#[inline]
pub fn step<L: Loads>(
    routing: Routing,
    dragonfly: &Dragonfly,
    packet: &mut Packet,
    router: u32,
    loads: &mut L,
    seed: u64,
) -> (u16, u8) {
    let destination = dragonfly.router_of(packet.destination);
    let (group, destination_group) = (dragonfly.group(router), dragonfly.group(destination));
    packet.hops += 1;
    // The source group comes first: what stays in it never uses the channel of the last group.
    let channel = match (packet.global_hops, packet.is(NON_MINIMAL)) {
        (0, false) => packet.local_hops.min(1),
        (0, true) => 1,
        _ if group == destination_group => 3,
        _ => 2,
    };
    if destination == router {
        return (dragonfly.terminal_port(packet.destination), channel);
    }
    if group == destination_group {
        packet.local_hops += 1;
        return (dragonfly.member(destination), channel);
    }
    let mut place = Place {
        dragonfly,
        router,
        group,
        destination_group,
        seed,
        // Unlike the place where its record lies, these are the same in every run.
        packet: packet.born.0.wrapping_add(u64::from(packet.destination) << 48),
        draws: u64::from(packet.hops) << 8,
    };
    let port = match routing {
        Routing::Minimal => minimal::port(&mut place),
        Routing::Valiant => valiant::port(&mut place, packet),
        Routing::Ugal => ugal::port(&mut place, packet, loads),
        Routing::Progressive => progressive::port(&mut place, packet, loads),
    };
    if u32::from(port) < dragonfly.routers {
        packet.local_hops += 1;
    } else {
        packet.global_hops += 1;
    }
    (port, channel)
}
