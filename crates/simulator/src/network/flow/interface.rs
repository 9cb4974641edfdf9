//! Interfaces: each sends the messages of its terminal one after the other.

use super::super::calls::Calls;
use super::super::fabric::Notice;
use super::super::message::Order;
use super::{event, Flows, LONG_PACKETS};
use crate::engine::random::Purpose;
use crate::engine::Picos;
use std::collections::VecDeque;

/// A message, from its sending to its arrival.
#[derive(Clone, Copy, Debug)]
pub struct Message<P> {
    pub order: Order<P>,
    pub posted: Picos,
    pub enters: Picos,
}

/// An interface with the messages that it has not sent yet.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    pub waiting: VecDeque<u32>,
    pub busy: bool,
    /// When the next message can enter.
    pub enters: Picos,
    /// Messages on their way from the node.
    pub calls: Calls,
    /// Messages so far.
    pub entered: u64,
}

impl<P: Copy> Flows<P> {
    /// How much later a message reaches its interface that is sent at `called`, for small things that take time in a node.
    pub(super) fn handing(&mut self, terminal: u32, called: Picos) -> Picos {
        let draw = |purpose, count| self.plan.parameters.draw_dither(self.seed, purpose, terminal, count);
        self.interfaces[terminal as usize].calls.another(called, draw)
    }

    pub(super) fn enter(&mut self, message: u32, at: Picos) {
        let terminal = self.messages[message].order.from;
        let interface = &mut self.interfaces[terminal as usize];
        let parameters = &self.plan.parameters;
        let dither = parameters.draw_dither(self.seed, Purpose::Entering, terminal, interface.entered);
        interface.entered += 1;
        interface.enters = at.max(interface.enters) + parameters.interface_delay + dither;
        self.messages[message].enters = interface.enters;
        interface.waiting.push_back(message);
        if !interface.busy {
            interface.busy = true;
            let at = interface.enters.max(self.now);
            self.schedule(at, event::BEGIN, u64::from(terminal));
        }
    }

    /// A terminal begins with the message that waits longest.
    pub(super) fn begin(&mut self, terminal: u32) {
        let Some(number) = self.interfaces[terminal as usize].waiting.front().copied() else { return };
        let packets = self.packets(self.messages[number].order.bytes);
        self.counters.made += packets;
        if packets > LONG_PACKETS {
            self.flow(number);
        } else {
            self.pass(number);
        }
    }

    /// How many packets a message would be.
    pub(super) fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.plan.parameters.packet_bytes)).max(1)
    }

    /// A message has left its interface; the next one can begin.
    pub(super) fn left(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        let Some(number) = interface.waiting.pop_front() else { return };
        let next = interface.waiting.front().copied();
        interface.busy = next.is_some();
        if let Some(next) = next {
            let at = self.messages[next].enters.max(self.now);
            self.schedule(at, event::BEGIN, u64::from(terminal));
        }
        let order = self.messages[number].order;
        if order.wants.made {
            self.notices.push(Notice::Made(order));
        }
        if order.wants.sent {
            self.notices.push(Notice::Sent(order));
        }
        if !order.wants.delivered {
            self.messages.release(number);
        }
    }
}
