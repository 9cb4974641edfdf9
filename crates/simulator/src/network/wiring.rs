//! A topology laid out as ports.

use super::arena::NONE;
use super::port::{Port, GLOBAL, LOCAL, TERMINAL, UNUSED};
use super::topology::Dragonfly;
use crate::engine::Picos;

/// The ports of all routers, with what they lead to.
pub fn ports(dragonfly: &Dragonfly) -> Vec<Port> {
    let (routers, links) = (dragonfly.routers, dragonfly.global_links);
    let mut ports = Vec::with_capacity((dragonfly.router_count() * dragonfly.radix()) as usize);
    for router in 0..dragonfly.router_count() {
        let member = u32::from(dragonfly.member(router));
        for index in 0..dragonfly.radix() {
            let (class, peer) = if index < routers {
                (if index == member { UNUSED } else { LOCAL }, router - member + index)
            } else if index < routers + links {
                dragonfly.global_peer(router, index - routers).map_or((UNUSED, NONE), |peer| (GLOBAL, peer))
            } else {
                (TERMINAL, router * dragonfly.terminals + index - routers - links)
            };
            ports.push(Port {
                free: Picos::ZERO,
                full_since: Picos::NEVER,
                bytes: 0,
                peer,
                waiting: 0,
                class,
                ready: 0,
                sending: false,
            });
        }
    }
    ports
}
