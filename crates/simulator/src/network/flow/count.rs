//! What is counted: messages when they are sent, and what went over links.

use super::super::counters::{Link, LinkKind};
use super::super::port::{GLOBAL, LOCAL, TERMINAL};
use super::interface::Message;
use super::{event, Flows};
use crate::engine::Picos;

impl<P: Copy> Flows<P> {
    /// What went over every link from a router.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        let radix = self.plan.topology.radix();
        (0..).zip(self.ports.iter().zip(&self.saturated)).filter_map(move |(index, (port, saturated))| {
            let (kind, to) = match port.class {
                TERMINAL => (LinkKind::Terminal, port.peer),
                LOCAL => (LinkKind::Local, port.peer / radix),
                GLOBAL => (LinkKind::Global, port.peer / radix),
                _ => return None,
            };
            let bytes = self.traffic.of(index).to_vec();
            Some(Link { from: index / radix, to, kind, bytes, saturated: *saturated })
        })
    }

    /// Counts a message that will have arrived at `at`.
    pub(super) fn arrive(&mut self, number: u32, at: Picos, hops: u64) {
        let Message { order, posted, .. } = self.messages[number];
        let packets = self.packets(order.bytes);
        self.counters.delivered += packets;
        self.counters.arrived = self.counters.arrived.max(at);
        self.counters.hops += hops * packets;
        if order.wants.timed {
            self.counters.message_latency[usize::from(order.application)].add(at - posted);
        }
        if order.wants.delivered {
            self.schedule(at, event::DELIVER, u64::from(number));
        }
    }

    /// Counts bytes on the links of routers on a way.
    pub(super) fn count(&mut self, links: &[u32], application: u8, bytes: u64) {
        for link in &links[1..] {
            let class = self.ports[*link as usize].class;
            self.traffic.add_all(self.now, *link, class, application, bytes);
        }
    }
}
