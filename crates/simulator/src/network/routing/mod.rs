//! Routing: which port a packet takes from where it is. One algorithm, one file.

mod candidates;
mod dragonfly;
mod minimal;
mod progressive;
mod torus;
mod tree;
mod ugal;
mod valiant;

use super::packet::Packet;
use super::topology::Topology;
use crate::engine::random::{self, Purpose};
use thalweg_foundation::{Error, Kind, Result};

/// How packets find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// A shortest path: at random where a dragonfly has several, by the destination's number in a tree, dimension after dimension
    /// in a torus.
    Minimal,
    /// By way of a random third group or a random router (Valiant; see [`Detour`]).
    Valiant,
    /// At the first router the better one of the shortest path and a detour.
    Ugal,
    /// As UGAL, and again at every router of the source group (progressive adaptive routing).
    Progressive,
    /// In a tree: up by the port with the least before it.
    Adaptive,
}

/// Through what a dragonfly's packets go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// Any router of a third group: as the published artifact has it.
    Group,
    /// A certain router of a third group: as the paper has it. Progressive routing goes by group all the same, for more steps
    /// would need more virtual channels.
    Router,
}

impl Routing {
    /// All, with their names.
    pub const NAMES: [(&'static str, Routing); 5] = [
        ("minimal", Routing::Minimal),
        ("valiant", Routing::Valiant),
        ("ugal", Routing::Ugal),
        ("par", Routing::Progressive),
        ("adaptive", Routing::Adaptive),
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

    /// Its name.
    pub fn name(self) -> &'static str {
        Routing::NAMES.iter().find(|(_, routing)| *routing == self).map_or("", |(name, _)| name)
    }

    /// Those that a topology has.
    pub fn of(topology: &Topology) -> &'static [Routing] {
        match topology {
            Topology::Dragonfly(_) => {
                &[Routing::Minimal, Routing::Valiant, Routing::Ugal, Routing::Progressive]
            }
            Topology::FatTree(_) => &[Routing::Minimal, Routing::Adaptive],
            Topology::Torus(_) => &[Routing::Minimal, Routing::Valiant],
        }
    }
}

/// Virtual channels that the algorithms need at most.
pub const VIRTUAL_CHANNELS: u32 = 4;

/// How much is before a router's ports.
pub trait Loads {
    /// Packets in the buffers behind a port, and packets that wait for room in them.
    fn load(&mut self, port: u16) -> u32;
}

/// A packet's random numbers at one router.
pub struct Draws {
    seed: u64,
    packet: u64,
    count: u64,
}

impl Draws {
    fn new(seed: u64, packet: &Packet) -> Draws {
        // Unlike the place where its record lies, these are the same in every run.
        let number = packet.born.0.wrapping_add(u64::from(packet.destination) << 48);
        Draws { seed, packet: number, count: u64::from(packet.hops) << 8 }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.count += 1;
        random::below(random::bits(self.seed, Purpose::Route, self.packet, self.count), bound)
    }
}

/// The port and the virtual channel on which a packet leaves `router`. Notes in the packet what was decided and that it came.
#[inline]
pub fn step<L: Loads>(
    (routing, detour): (Routing, Detour),
    topology: &Topology,
    packet: &mut Packet,
    router: u32,
    loads: &mut L,
    seed: u64,
) -> (u16, u8) {
    packet.hops += 1;
    match topology {
        Topology::Dragonfly(known) => dragonfly::step(routing, detour, known, packet, router, loads, seed),
        Topology::FatTree(known) => tree::step(routing, known, packet, router, loads, seed),
        Topology::Torus(known) => torus::step(routing, known, packet, router, seed),
    }
}
