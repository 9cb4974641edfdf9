//! Ways of messages that flow, and how long they are.

use super::super::message::Order;
use super::super::packet::{Packet, NOWHERE};
use super::super::port::TERMINAL;
use super::super::routing::{self, Loads, Routing};
use super::fair::{Links, Share};
use super::{Flows, WAYS};
use crate::engine::Picos;

/// Before a port: who flows over it.
struct Users<'a> {
    links: &'a Links,
    first: u32,
}

impl Loads for Users<'_> {
    fn load(&mut self, port: u16) -> u32 {
        self.links.users(self.first + u32::from(port))
    }
}

impl<P: Copy> Flows<P> {
    /// The ways of a message's packets, as different as the routing makes them.
    pub(super) fn ways(&mut self, order: &Order<P>) -> Vec<Vec<u32>> {
        let mut ways: Vec<Vec<u32>> = Vec::new();
        let most = if self.plan.parameters.routing == Routing::Minimal { 1 } else { WAYS };
        for attempt in 0..most as u64 {
            let mut way = Vec::with_capacity(8);
            self.find(order, attempt, &mut way);
            if !ways.contains(&way) {
                // The next one sees this one's load.
                way.iter().for_each(|link| self.links.count(*link, true));
                ways.push(way);
            }
        }
        ways.iter().flatten().for_each(|link| self.links.count(*link, false));
        ways
    }

    /// The links that a packet of a message would take: its terminal's first, those of routers by their ports.
    pub(super) fn find(&self, order: &Order<P>, attempt: u64, way: &mut Vec<u32>) {
        let (topology, parameters) = (&self.plan.topology, &self.plan.parameters);
        let radix = topology.radix();
        let mut packet = Packet {
            born: self.now,
            message: 0,
            upstream: 0,
            next: 0,
            destination: order.to,
            size: 0,
            intermediate: NOWHERE,
            hops: 0,
            legs: 0,
            application: order.application,
            state: 0,
        };
        way.clear();
        way.push(self.ports.len() as u32 + order.from);
        let mut router = topology.router_of(order.from);
        loop {
            let first = router * radix;
            let mut loads = Users { links: &self.links, first };
            let rules = (parameters.routing, parameters.detour);
            let seed = self.seed.wrapping_add(attempt);
            let (port, _) = routing::step(rules, topology, &mut packet, router, &mut loads, seed);
            let link = first + u32::from(port);
            way.push(link);
            let port = &self.ports[link as usize];
            if port.class == TERMINAL {
                return;
            }
            router = port.peer / radix;
        }
    }

    /// From a message's leaving its interface to its last packet's arrival, when nothing is in the way but the packet before: a
    /// short last packet waits for that at each link, and may at another one have gone before it could.
    pub(super) fn tail(&self, links: &[u32], bytes: u64) -> Picos {
        let parameters = &self.plan.parameters;
        let (size, leaves) = self.last(bytes);
        let mut delay = parameters.terminal.delay;
        // The time of a full packet on all links so far, that of the last one on those before, the most by which the one who goes
        // before reaches further, and the time on the slowest link, which is how far packets are apart.
        let (mut full, mut last, mut behind, mut slowest) =
            (Picos::ZERO, Picos::ZERO, Picos::ZERO, Picos::ZERO);
        for (place, link) in links.iter().enumerate() {
            let class = match self.ports.get(*link as usize) {
                Some(port) => usize::from(port.class),
                None => usize::from(TERMINAL),
            };
            let class = &self.plan.classes[class];
            full += class.service;
            behind = behind.max(full - last);
            slowest = slowest.max(class.service);
            last += class.service_of(size, parameters.packet_bytes, parameters.empty_packet_bytes);
            if place > 0 {
                delay += class.delay;
            }
        }
        let waits = if self.packets(bytes) > 1 { behind - slowest } else { Picos::ZERO };
        last + waits - leaves + delay
    }

    /// A share of what the links of a way have for one more.
    pub(super) fn share(&self, way: Vec<u32>) -> Share {
        let rates = way.iter().map(|link| self.links.equal(*link, self.links.users(*link)));
        let rate = rates.fold(f64::INFINITY, f64::min);
        Share { links: way, rate }
    }

    /// What one more would get of the links of a way, shared equally.
    pub(super) fn free(&self, way: &[u32]) -> f64 {
        let rates = way.iter().map(|link| self.links.equal(*link, self.links.users(*link)));
        rates.fold(f64::INFINITY, f64::min)
    }

    /// The bytes of a message's last packet, and its time on its terminal's link.
    pub(super) fn last(&self, bytes: u64) -> (u16, Picos) {
        let parameters = &self.plan.parameters;
        let size = (bytes - (self.packets(bytes) - 1) * u64::from(parameters.packet_bytes)) as u16;
        let link = &self.plan.classes[usize::from(TERMINAL)];
        (size, link.service_of(size, parameters.packet_bytes, parameters.empty_packet_bytes))
    }
}
