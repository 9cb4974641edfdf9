//! What happens at terminals: messages enter, packets are made and sent, and arrive.

use super::arena::NONE;
use super::fabric::{kind, Network, Notice};
use super::message::{Message, Order};
use super::packet::{append, from_terminal, take, Packet, LAST, NON_MINIMAL, NO_GROUP};
use super::port::TERMINAL;
use crate::engine::random::{self, Purpose};
use crate::engine::Picos;

impl Network {
    pub(super) fn message(&mut self, posted: Picos, order: Order) -> u32 {
        debug_assert!(order.from != order.to, "terminal {} sends to itself", order.from);
        debug_assert!(order.from.max(order.to) < self.dragonfly.terminal_count());
        let packets = order.bytes.div_ceil(u64::from(self.parameters.packet_bytes)).max(1);
        self.messages.insert(Message {
            order,
            posted,
            enters: posted,
            arrives: Picos::ZERO,
            unmade: order.bytes,
            missing: packets as u32,
            next: NONE,
        })
    }

    /// When a message that is sent for `at` reaches its interface.
    pub(super) fn handed(&mut self, terminal: u32, at: Picos) -> Picos {
        let interface = &mut self.interfaces[terminal as usize];
        interface.handed += 1;
        let count = interface.handed;
        at + self.dither(Purpose::Handing, terminal, count)
    }

    fn dither(&self, purpose: Purpose, terminal: u32, count: u64) -> Picos {
        let (least, most) = self.parameters.dither;
        random::between(random::bits(self.seed, purpose, u64::from(terminal), count), least, most)
    }

    /// A message enters its interface, which serves messages one after the other, in the order in which they reach it.
    pub(super) fn enter(&mut self, message: u32, at: Picos) {
        let terminal = self.messages[message].order.from;
        let dither = self.dither(Purpose::Entering, terminal, self.interfaces[terminal as usize].entered);
        let interface = &mut self.interfaces[terminal as usize];
        let enters = at.max(interface.enters) + self.parameters.interface_delay + dither;
        interface.entered += 1;
        interface.enters = enters;
        self.messages[message].enters = enters;
        if interface.messages.is_empty() {
            interface.messages.head = message;
        } else {
            self.messages[interface.messages.tail].next = message;
        }
        interface.messages.tail = message;
        self.make_next(terminal);
    }

    /// Sees to it that the next packet of an interface is made when it can be.
    pub(super) fn make_next(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        if interface.messages.is_empty() || interface.making || interface.ready == Picos::NEVER {
            return;
        }
        interface.making = true;
        let at = interface.ready.max(self.messages[interface.messages.head].enters).max(self.now);
        self.schedule(at, kind::MAKE, u64::from(terminal));
    }

    /// An interface makes a packet of the message that it is at.
    pub(super) fn make(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        let number = interface.messages.head;
        let message = &mut self.messages[number];
        let size = message.unmade.min(u64::from(self.parameters.packet_bytes)) as u16;
        message.unmade -= u64::from(size);
        let last = message.unmade == 0;
        let packet = self.packets.insert(Packet {
            born: self.now,
            message: number,
            upstream: from_terminal(terminal),
            next: NONE,
            destination: message.order.to,
            size,
            intermediate: NO_GROUP,
            hops: 0,
            local_hops: 0,
            global_hops: 0,
            state: if last { LAST } else { 0 },
        });
        if last {
            interface.messages.head = message.next;
            if message.order.wants.made {
                self.notices.push(Notice::Made(message.order));
            }
        }
        append(&mut self.packets, &mut interface.packets, packet);
        interface.queued += 1;
        let class = &self.classes[TERMINAL as usize];
        interface.ready = if interface.queued < self.interface_capacity {
            self.now
                + class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes)
        } else {
            Picos::NEVER
        };
        self.counters.made += 1;
        if !interface.sending {
            self.send(terminal);
        }
        self.make_next(terminal);
    }

    /// An interface sends the packet that it made first, if the router has room for it.
    pub(super) fn send(&mut self, terminal: u32) {
        let class = self.classes[TERMINAL as usize];
        let interface = &mut self.interfaces[terminal as usize];
        if interface.packets.is_empty() {
            return;
        }
        if self.injection.occupied(terminal, self.now) >= class.capacity {
            if let Some(at) = self.injection.next_credit(terminal) {
                interface.sending = true;
                self.schedule(at, kind::SEND, u64::from(terminal));
            }
            return;
        }
        let number = take(&mut self.packets, &mut interface.packets);
        let packet = &mut self.packets[number];
        packet.born = self.now;
        let (size, last, message) = (packet.size, packet.is(LAST), packet.message);
        interface.queued -= 1;
        self.injection.fill(terminal);
        let service =
            class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes);
        interface.free = interface.free.max(self.now) + service;
        interface.bytes += u64::from(size);
        let free = interface.free;
        let refill = interface.ready == Picos::NEVER;
        if refill {
            interface.ready = free;
        }
        if !interface.packets.is_empty() {
            let full = self.injection.occupied(terminal, self.now) >= class.capacity;
            let at = if full { self.injection.next_credit(terminal) } else { Some(free) };
            if let Some(at) = at {
                interface.sending = true;
                self.schedule(at, kind::SEND, u64::from(terminal));
            }
        }
        let router = self.dragonfly.router_of(terminal);
        self.arrival(free + self.parameters.terminal.delay, router, number);
        if last && self.messages[message].order.wants.sent {
            self.notices.push(Notice::Sent(self.messages[message].order));
        }
        if refill {
            self.make_next(terminal);
        }
    }

    /// Counts a packet that arrives at its terminal at `at`.
    #[inline]
    pub(super) fn delivered(&mut self, number: u32, at: Picos) {
        let packet = self.packets[number];
        self.packets.release(number);
        let counters = &mut self.counters;
        counters.delivered += 1;
        counters.packet_latency.add(at - packet.born);
        counters.hops += u64::from(packet.hops);
        counters.non_minimal += u64::from(packet.is(NON_MINIMAL));
        counters.same_router += u64::from(packet.hops == 1);
        counters.same_group += u64::from(packet.hops > 1 && packet.global_hops == 0);
        let message = &mut self.messages[packet.message];
        message.missing -= 1;
        message.arrives = message.arrives.max(at);
        if message.missing > 0 {
            return;
        }
        let arrives = message.arrives;
        let order = message.order;
        counters.message_latency[usize::from(order.application)].add(arrives - message.posted);
        if order.wants.delivered {
            self.schedule(arrives, kind::DELIVER, u64::from(packet.message));
        } else {
            self.messages.release(packet.message);
        }
    }
}
