//! A topology laid out as ports.

use super::arena::NONE;
use super::counters::LinkKind;
use super::port::{Port, GLOBAL, LOCAL, TERMINAL, UNUSED};
use super::topology::{End, Topology};
use crate::engine::Picos;

/// The ports of `routers`, with what they lead to.
pub fn ports(topology: &Topology, routers: std::ops::Range<u32>) -> Vec<Port> {
    let radix = topology.radix();
    let ports = routers.flat_map(|router| (0..radix).map(move |index| (router, index)));
    ports
        .map(|(router, index)| {
            let (class, peer) = match topology.end(router, index) {
                End::Nothing => (UNUSED, NONE),
                End::Terminal(terminal) => (TERMINAL, terminal),
                End::Router { kind, port } => (if kind == LinkKind::Global { GLOBAL } else { LOCAL }, port),
            };
            Port {
                free: Picos::ZERO,
                full_since: Picos::NEVER,
                peer,
                waiting: 0,
                class,
                ready: 0,
                sending: false,
            }
        })
        .collect()
}
