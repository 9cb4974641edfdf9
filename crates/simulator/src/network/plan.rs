//! What is decided before a network exists: whether it can, how it is divided, and how far its parts can go ahead of each other.

use super::counters::LinkKind;
use super::parameters::Parameters;
use super::part::Division;
use super::port::{Class, TERMINAL};
use super::routing::{Detour, Routing, VIRTUAL_CHANNELS};
use super::topology::{End, Topology};
use crate::engine::Picos;
use thalweg_foundation::{Error, Kind, Result};

/// What all parts of a network share.
#[derive(Debug)]
pub struct Plan {
    pub topology: Topology,
    pub parameters: Parameters,
    /// Terminal, local and global links.
    pub classes: [Class; 3],
    pub division: Division,
}

impl Plan {
    /// # Errors
    /// `Invalid` for parameters that no network can have, and for a routing that the topology does not have.
    pub fn new(topology: Topology, parameters: Parameters) -> Result<Plan> {
        parameters.check()?;
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "network", detail));
        let known = Routing::of(&topology);
        if !known.contains(&parameters.routing) {
            let names: Vec<_> = known.iter().map(|routing| routing.name()).collect();
            let name = parameters.routing.name();
            return refused(format!(
                "this topology has no routing {name:?}; accepted are {}",
                names.join(", ")
            ));
        }
        let by_router = match topology {
            Topology::Dragonfly(_) => parameters.detour == Detour::Router,
            _ => true,
        };
        let detours = matches!(parameters.routing, Routing::Valiant | Routing::Ugal);
        if detours && by_router && topology.router_count() >= u32::from(u16::MAX) {
            return refused(format!(
                "detours by one of {} routers; at most 65,534 can be told apart",
                topology.router_count()
            ));
        }
        let classes = [parameters.terminal, parameters.local, parameters.global]
            .map(|link| Class::new(&link, &parameters));
        let (radix, capacity) = (topology.radix(), capacity(&classes));
        if radix * VIRTUAL_CHANNELS * u32::from(capacity) > u32::from(u16::MAX) {
            return refused(format!(
                "routers of {radix} ports with buffers of {capacity} packets; too many packets could wait at one"
            ));
        }
        let division = Division::new(&topology, 1);
        Ok(Plan { topology, parameters, classes, division })
    }

    /// Divides the network as far as its links allow; how far a part can go ahead of what it does not know of the others.
    pub fn divide(&mut self, most: usize) -> Picos {
        self.division = Division::new(&self.topology, most);
        let ahead = self.ahead();
        if ahead < LEAST_AHEAD {
            self.division = Division::new(&self.topology, 1);
            return Picos::NEVER;
        }
        ahead
    }

    /// The shortest time in which anything passes between two parts.
    fn ahead(&self) -> Picos {
        let (division, radix) = (&self.division, self.topology.radix());
        let ports =
            (0..self.topology.router_count()).flat_map(|router| (0..radix).map(move |port| (router, port)));
        let crossing = ports.filter_map(|(router, port)| match self.topology.end(router, port) {
            End::Router { kind, port } if division.of(port / radix) != division.of(router) => Some(kind),
            _ => None,
        });
        let delay = |kind| {
            let link = if kind == LinkKind::Global { self.parameters.global } else { self.parameters.local };
            link.delay.min(link.credit_delay)
        };
        crossing.map(delay).min().unwrap_or(Picos::NEVER)
    }

    /// Packets that the largest buffer holds.
    pub fn capacity(&self) -> u16 {
        capacity(&self.classes)
    }

    /// Packets that a terminal's buffer holds.
    pub fn terminal_capacity(&self) -> u16 {
        self.classes[usize::from(TERMINAL)].capacity
    }
}

/// With less than this to go ahead, threads would only wait for each other.
const LEAST_AHEAD: Picos = Picos(5_000);

fn capacity(classes: &[Class; 3]) -> u16 {
    classes.iter().map(|class| class.capacity).max().unwrap_or(1)
}
