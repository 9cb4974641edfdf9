//! What happens at routers: packets are routed, wait for credits and for links, and go on.

use super::channel::Channels;
use super::fabric::{kind, Network, PORT_SHIFT};
use super::packet::{append, as_terminal, take};
use super::part::Crossing;
use super::port::{Port, TERMINAL};
use super::routing::{self, Loads, VIRTUAL_CHANNELS};
use crate::engine::Picos;

/// Before a port: packets in all its buffers, and those that wait.
struct Before<'a> {
    channels: &'a mut Channels,
    ports: &'a [Port],
    first: u32,
    now: Picos,
}

impl Loads for Before<'_> {
    #[inline]
    fn load(&mut self, port: u16) -> u32 {
        let port = self.first + u32::from(port);
        let buffered: u32 = (port * VIRTUAL_CHANNELS..(port + 1) * VIRTUAL_CHANNELS)
            .map(|channel| u32::from(self.channels.occupied(channel, self.now)))
            .sum();
        buffered + u32::from(self.ports[port as usize].waiting)
    }
}

impl<P: Copy> Network<P> {
    #[inline]
    pub(super) fn arrival(&mut self, at: Picos, port: u32, packet: u32) {
        self.schedule(at, kind::ARRIVE, u64::from(port) << PORT_SHIFT | u64::from(packet));
    }

    /// A packet arrives at a port of a router, which decides where it goes on.
    #[inline]
    pub(super) fn arrive(&mut self, into: u32, number: u32) {
        let router = self.router_of_port[into as usize];
        let packet = &mut self.packets[number];
        let first = router * self.radix;
        let mut loads = Before { channels: &mut self.channels, ports: &self.ports, first, now: self.now };
        let (port, vc) = routing::step(
            (self.parameters.routing, self.parameters.detour),
            &self.plan.topology,
            packet,
            self.first_router + router,
            &mut loads,
            self.seed,
        );
        let port = first + u32::from(port);
        let channel = port * VIRTUAL_CHANNELS + u32::from(vc);
        let capacity = self.classes[self.ports[port as usize].class as usize].capacity;
        if self.channels.occupied(channel, self.now) < capacity && !self.channels.has_waiting(channel) {
            self.accept(port, channel, number);
        } else {
            self.wait(port, channel, number);
        }
    }

    /// A packet that found no room in its buffer waits for a credit, and keeps its place in the buffer that it came from.
    pub(super) fn wait(&mut self, port: u32, channel: u32, number: u32) {
        append(&mut self.packets, self.channels.list(channel), number);
        if let Some(at) = self.channels.wait(channel) {
            self.schedule(at, kind::ADMIT, u64::from(channel));
        }
        let port = &mut self.ports[port as usize];
        port.waiting += 1;
        if port.full_since == Picos::NEVER {
            port.full_since = self.now;
        }
    }

    /// A credit has come for the packet that waits longest.
    pub(super) fn admit(&mut self, channel: u32) {
        let port = channel / VIRTUAL_CHANNELS;
        self.channels.admit(channel);
        let number = take(&mut self.packets, self.channels.list(channel));
        self.ports[port as usize].waiting -= 1;
        self.accept(port, channel, number);
    }

    /// A packet enters the buffer of a port: it is sent now or, when the port is busy, as soon as that is free.
    #[inline]
    pub(super) fn accept(&mut self, port: u32, channel: u32, number: u32) {
        let packet = &mut self.packets[number];
        let upstream = packet.upstream;
        packet.upstream = self.first_port * VIRTUAL_CHANNELS + channel;
        self.channels.fill(channel);
        let state = &mut self.ports[port as usize];
        if state.ready == 0 && state.free <= self.now {
            self.forward(port, channel, number);
        } else {
            append(&mut self.packets, &mut self.ready[channel as usize], number);
            state.ready |= 1 << (channel % VIRTUAL_CHANNELS);
            if !state.sending {
                state.sending = true;
                let at = state.free;
                self.schedule(at, kind::FORWARD, u64::from(port));
            }
        }
        self.return_credit(upstream);
    }

    /// A port has become free: of the packets that are ready, the first one of the lowest virtual channel goes.
    pub(super) fn forward_next(&mut self, port: u32) {
        let state = &mut self.ports[port as usize];
        let vc = state.ready.trailing_zeros();
        let channel = port * VIRTUAL_CHANNELS + vc;
        let list = &mut self.ready[channel as usize];
        let number = take(&mut self.packets, list);
        if list.is_empty() {
            state.ready &= !(1 << vc);
        }
        self.forward(port, channel, number);
        let state = &mut self.ports[port as usize];
        state.sending = state.ready != 0;
        if state.sending {
            let at = state.free;
            self.schedule(at, kind::FORWARD, u64::from(port));
        }
    }

    /// A free port sends a packet.
    #[inline]
    pub(super) fn forward(&mut self, port: u32, channel: u32, number: u32) {
        let packet = &self.packets[number];
        let (size, application) = (packet.size, packet.application);
        let state = &mut self.ports[port as usize];
        self.traffic.add(self.now, port, state.class, application, size);
        let class = &self.classes[state.class as usize];
        state.free = self.now
            + class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes);
        let at = state.free + class.delay;
        if state.full_since != Picos::NEVER {
            self.saturated[port as usize] += self.now - state.full_since;
            state.full_since = Picos::NEVER;
        }
        if state.class == TERMINAL {
            // A terminal takes what comes: the credit is known as well.
            let credit = at + class.credit_delay;
            if self.channels.credit(channel, credit) {
                self.schedule(credit, kind::ADMIT, u64::from(channel));
            }
            self.delivered(number, at);
        } else {
            let peer = state.peer;
            let own = peer.wrapping_sub(self.first_port);
            if (own as usize) < self.ports.len() {
                self.arrival(at, own, number);
            } else {
                let packet = self.packets[number];
                self.packets.release(number);
                let part = self.plan.division.of(peer / self.radix);
                self.outbox.push((part, Crossing::Packet(at, peer, packet)));
            }
        }
    }

    /// The buffer that a packet came from has room again.
    #[inline]
    pub(super) fn return_credit(&mut self, upstream: u32) {
        if let Some(terminal) = as_terminal(upstream) {
            let at = self.now + self.classes[TERMINAL as usize].credit_delay;
            self.injection.credit(terminal, at);
            let interface = &mut self.interfaces[terminal as usize];
            if !interface.packets.is_empty() && !interface.sending {
                interface.sending = true;
                self.schedule(at, kind::SEND, u64::from(terminal));
            }
            return;
        }
        let own = upstream.wrapping_sub(self.first_port * VIRTUAL_CHANNELS);
        if (own as usize) < self.ready.len() {
            self.credit(own, self.now);
        } else {
            let part = self.plan.division.of(upstream / VIRTUAL_CHANNELS / self.radix);
            self.outbox.push((part, Crossing::Credit(self.now, upstream)));
        }
    }

    /// A credit is sent to a channel.
    #[inline]
    pub(super) fn credit(&mut self, channel: u32, sent: Picos) {
        let port = &mut self.ports[(channel / VIRTUAL_CHANNELS) as usize];
        let at = sent + self.classes[usize::from(port.class)].credit_delay;
        if port.full_since != Picos::NEVER {
            self.saturated[(channel / VIRTUAL_CHANNELS) as usize] += at - port.full_since;
            port.full_since = Picos::NEVER;
        }
        if self.channels.credit(channel, at) {
            self.schedule(at, kind::ADMIT, u64::from(channel));
        }
    }
}
