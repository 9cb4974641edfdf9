//! What happens at terminals: messages enter, packets are made and sent, and arrive.

use super::arena::NONE;
use super::fabric::{kind, Network, Notice};
use super::message::{Incoming, Order, Outgoing, NUMBER_BITS};
use super::packet::{append, from_terminal, take, Packet, LAST, NON_MINIMAL, NOWHERE};
use super::part::Crossing;
use super::port::TERMINAL;
use crate::engine::random::Purpose;
use crate::engine::Picos;

impl<P: Copy> Network<P> {
    pub(super) fn message(&mut self, posted: Picos, order: Order<P>) -> u32 {
        debug_assert!(order.from != order.to, "terminal {} sends to itself", order.from);
        debug_assert!(self.terminals().contains(&order.from), "terminal {} lies elsewhere", order.from);
        debug_assert!(order.to < self.plan.topology.terminal_count());
        let missing = order.bytes.div_ceil(u64::from(self.parameters.packet_bytes)).max(1) as u32;
        let to = self.plan.division.of(self.plan.topology.router_of(order.to));
        let number = u32::from(self.part) << NUMBER_BITS | self.numbers[usize::from(to)].take();
        let incoming = Incoming { order, posted, arrives: Picos::ZERO, missing };
        if to == self.part {
            self.expect(number, incoming);
        } else {
            self.outbox.push((to, Crossing::Message(number, Box::new(incoming))));
        }
        self.outgoing.insert(Outgoing { order, number, enters: posted, unmade: order.bytes, next: NONE })
    }

    /// A message will arrive under a number. Those of each part are known in the order in which they were sent.
    pub(super) fn expect(&mut self, number: u32, incoming: Incoming<P>) {
        let (part, place) = (number >> NUMBER_BITS, (number & ((1 << NUMBER_BITS) - 1)) as usize);
        let messages = &mut self.incoming[part as usize];
        match messages.get_mut(place) {
            Some(free) => *free = incoming,
            None => messages.push(incoming),
        }
        self.expected += 1;
    }

    /// A message has arrived, and nobody asks for it any more.
    fn release(&mut self, number: u32) {
        self.expected -= 1;
        let (part, place) = ((number >> NUMBER_BITS) as u8, number & ((1 << NUMBER_BITS) - 1));
        if part == self.part {
            self.numbers[usize::from(part)].give_back(place);
        } else {
            self.outbox.push((part, Crossing::Arrived(place)));
        }
    }

    fn incoming(&mut self, number: u32) -> &mut Incoming<P> {
        let place = number & ((1 << NUMBER_BITS) - 1);
        &mut self.incoming[(number >> NUMBER_BITS) as usize][place as usize]
    }

    /// Tells that a message has arrived.
    pub(super) fn deliver(&mut self, number: u32) {
        let order = self.incoming(number).order;
        self.release(number);
        self.notices.push(Notice::Delivered(order));
    }

    /// How much later a message reaches its interface that is sent at `called`, for small things that take time in a node.
    pub(super) fn handing(&mut self, terminal: u32, called: Picos) -> Picos {
        let place = (terminal - self.first_terminal) as usize;
        let draw = |purpose, count| self.parameters.draw_dither(self.seed, purpose, terminal, count);
        self.interfaces[place].calls.another(called, draw)
    }

    /// A message enters its interface, which serves messages one after the other, in the order in which they reach it.
    pub(super) fn enter(&mut self, message: u32, at: Picos) {
        let from = self.outgoing[message].order.from;
        let terminal = from - self.first_terminal;
        let interface = &mut self.interfaces[terminal as usize];
        let dither = self.parameters.draw_dither(self.seed, Purpose::Entering, from, interface.entered);
        let enters = at.max(interface.enters) + self.parameters.interface_delay + dither;
        interface.entered += 1;
        interface.enters = enters;
        self.outgoing[message].enters = enters;
        if interface.messages.is_empty() {
            interface.messages.head = message;
        } else {
            self.outgoing[interface.messages.tail].next = message;
        }
        interface.messages.tail = message;
        if interface.current == NONE {
            interface.current = message;
        }
        self.make_next(terminal);
    }

    /// Sees to it that the next packet of an interface is made when it can be.
    pub(super) fn make_next(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        if interface.current == NONE || interface.making || interface.ready == Picos::NEVER {
            return;
        }
        interface.making = true;
        let at = interface.ready.max(self.outgoing[interface.current].enters).max(self.now);
        self.schedule(at, kind::MAKE, u64::from(terminal));
    }

    /// An interface makes a packet of the message that it is at.
    pub(super) fn make(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        let message = &mut self.outgoing[interface.current];
        let size = message.unmade.min(u64::from(self.parameters.packet_bytes)) as u16;
        message.unmade -= u64::from(size);
        let last = message.unmade == 0;
        let packet = self.packets.insert(Packet {
            born: self.now,
            message: message.number,
            upstream: from_terminal(terminal),
            next: NONE,
            destination: message.order.to,
            size,
            intermediate: NOWHERE,
            hops: 0,
            legs: 0,
            application: message.order.application,
            state: if last { LAST } else { 0 },
        });
        if last {
            interface.current = message.next;
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
        let (size, last) = (packet.size, packet.is(LAST));
        interface.queued -= 1;
        self.injection.fill(terminal);
        let service =
            class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes);
        interface.free = interface.free.max(self.now) + service;
        let (free, into) = (interface.free, interface.into);
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
        self.arrival(free + self.parameters.terminal.delay, into, number);
        if last {
            self.sent(terminal);
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
        counters.arrived = counters.arrived.max(at);
        counters.packet_latency.add(at - packet.born);
        counters.hops += u64::from(packet.hops);
        counters.non_minimal += u64::from(packet.is(NON_MINIMAL));
        counters.same_router += u64::from(packet.hops == 1);
        counters.same_group += u64::from(packet.hops > 1 && packet.global_hops() == 0);
        let message = self.incoming(packet.message);
        message.missing -= 1;
        message.arrives = message.arrives.max(at);
        if message.missing > 0 {
            return;
        }
        let Incoming { order, posted, arrives, .. } = *message;
        if order.wants.timed {
            self.counters.message_latency[usize::from(order.application)].add(arrives - posted);
        }
        if order.wants.delivered {
            self.schedule(arrives, kind::DELIVER, u64::from(packet.message));
        } else {
            self.release(packet.message);
        }
    }

    /// The last packet of the message that an interface began first leaves it.
    fn sent(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        let message = interface.messages.head;
        let Outgoing { order, next, .. } = self.outgoing[message];
        interface.messages.head = next;
        self.outgoing.release(message);
        if order.wants.sent {
            self.notices.push(Notice::Sent(order));
        }
    }
}
