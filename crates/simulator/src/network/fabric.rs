//! The network as a state machine: what happens to packets at terminals and routers, one event at a time.

use super::arena::{Arena, NONE};
use super::channel::Channels;
use super::counters::{Counters, Link, LinkKind};
use super::histogram::Histogram;
use super::interface::Interface;
use super::message::{Message, Order};
use super::packet::{as_terminal, from_terminal, List, Packet, LAST, NON_MINIMAL, NO_GROUP};
use super::parameters::{LinkParameters, Parameters};
use super::port::{Class, Port, GLOBAL, LOCAL, TERMINAL, UNUSED};
use super::routing::{self, Loads, VIRTUAL_CHANNELS};
use super::topology::Dragonfly;
use crate::engine::random::{self, Purpose};
use crate::engine::{Calendar, Event, Picos};
use thalweg_foundation::{Error, Kind, Result};

/// What a network tells those who send over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The interface has made the last packet of a message.
    Made(Order),
    /// The last packet of a message leaves its interface.
    Sent(Order),
    /// The last packet of a message has arrived.
    Delivered(Order),
    /// A time that was asked for has come, with what was said in asking.
    Timer(u64),
}

/// The kinds of events, in the upper bits of [`Event::what`]; those at the same time happen in this order.
mod kind {
    /// A packet arrives at a router.
    pub const ARRIVE: u64 = 0;
    /// A credit comes for which a packet waits.
    pub const ADMIT: u64 = 1;
    /// A port that was busy sends its next packet.
    pub const FORWARD: u64 = 2;
    /// An interface sends its next packet.
    pub const SEND: u64 = 3;
    /// An interface makes its next packet.
    pub const MAKE: u64 = 4;
    /// A message that was sent for later enters its interface.
    pub const ENTER: u64 = 5;
    /// A message has arrived.
    pub const DELIVER: u64 = 6;
    /// A time that was asked for has come.
    pub const TIMER: u64 = 7;
}

/// Bits of an event below its kind; for an arrival, those of the router and those of the packet.
const KIND_SHIFT: u32 = 60;
const ROUTER_SHIFT: u32 = 32;

/// A network, the packets on it, and what will happen to them.
#[derive(Debug)]
pub struct Network {
    dragonfly: Dragonfly,
    parameters: Parameters,
    classes: [Class; 3],
    radix: u32,
    /// The largest number of packets that wait at an interface before it stops making more.
    interface_capacity: u16,
    seed: u64,
    now: Picos,
    calendar: Calendar,
    packets: Arena<Packet>,
    messages: Arena<Message>,
    ports: Vec<Port>,
    /// How long the buffers of each port were full.
    saturated: Vec<Picos>,
    channels: Channels,
    /// For each channel, packets that were accepted and wait for the link.
    ready: Vec<List>,
    interfaces: Vec<Interface>,
    /// The interfaces' accounts of their routers' buffers.
    injection: Channels,
    counters: Counters,
    notices: Vec<Notice>,
}

fn class(link: &LinkParameters, parameters: &Parameters, router_delay: Picos) -> Class {
    Class {
        service: link.service(u32::from(parameters.packet_bytes)),
        delay: router_delay + link.delay,
        capacity: (link.buffer_bytes / u32::from(parameters.packet_bytes)) as u16,
        credit_delay: link.credit_delay,
        byte: 1e12 / (link.bandwidth_gib_per_s * (1u64 << 30) as f64),
    }
}

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

impl Network {
    /// An idle network for `applications` applications. Everything random in it follows from `seed`.
    ///
    /// # Errors
    /// `Invalid` for parameters that no network can have ([`Parameters::check`]).
    pub fn new(dragonfly: Dragonfly, parameters: Parameters, applications: u16, seed: u64) -> Result<Network> {
        parameters.check()?;
        let classes = [
            class(&parameters.terminal, &parameters, parameters.router_delay),
            class(&parameters.local, &parameters, parameters.router_delay),
            class(&parameters.global, &parameters, parameters.router_delay),
        ];
        let radix = dragonfly.radix();
        let capacity = classes.iter().map(|class| class.capacity).max().unwrap_or(1);
        if radix * VIRTUAL_CHANNELS * u32::from(capacity) > u32::from(u16::MAX) {
            let detail = format!("routers of {radix} ports with buffers of {capacity} packets; too many packets could wait at one");
            return Err(Error::new(Kind::Invalid, "network", detail));
        }
        let ports = ports(&dragonfly);
        Ok(Network {
            classes,
            radix,
            interface_capacity: classes[TERMINAL as usize].capacity,
            seed,
            now: Picos::ZERO,
            calendar: Calendar::new(),
            packets: Arena::new(),
            messages: Arena::new(),
            saturated: vec![Picos::ZERO; ports.len()],
            channels: Channels::new(ports.len() * VIRTUAL_CHANNELS as usize, capacity),
            ready: vec![List::EMPTY; ports.len() * VIRTUAL_CHANNELS as usize],
            ports,
            interfaces: vec![Interface::IDLE; dragonfly.terminal_count() as usize],
            injection: Channels::new(dragonfly.terminal_count() as usize, classes[TERMINAL as usize].capacity),
            counters: Counters {
                message_latency: vec![Histogram::default(); usize::from(applications)],
                ..Counters::default()
            },
            notices: Vec::new(),
            dragonfly,
            parameters,
        })
    }

    /// The time of the event that was worked off last.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// The topology.
    pub fn topology(&self) -> &Dragonfly {
        &self.dragonfly
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sends a message: it reaches its interface at `at`, which must not be before now, nor before the time that was given
    /// for an earlier message of the same terminal.
    ///
    /// # Panics
    /// In debug builds, for terminals that do not exist and for a message to oneself, which no network carries.
    pub fn send_at(&mut self, at: Picos, order: Order) {
        let message = self.message(at, order);
        self.enter(message, at);
    }

    /// Sends a message that reaches its interface after `delay`, in the order in which such messages do.
    pub fn send_after(&mut self, delay: Picos, order: Order) {
        let message = self.message(self.now, order);
        self.schedule(self.now + delay, kind::ENTER, u64::from(message));
    }

    /// Gives [`Notice::Timer`] with `cookie` (below 2⁶⁰) at `at`.
    pub fn wake_at(&mut self, at: Picos, cookie: u64) {
        debug_assert!(cookie < 1 << KIND_SHIFT);
        self.schedule(at, kind::TIMER, cookie);
    }

    /// Works off the next event; false when there is none. What it tells is in [`Network::notices`].
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(event) = self.calendar.pop() else { return false };
        debug_assert!(event.at >= self.now, "causality");
        self.now = event.at;
        self.counters.events += 1;
        let low = event.what as u32;
        match event.what >> KIND_SHIFT {
            kind::ARRIVE => self.arrive((event.what >> ROUTER_SHIFT) as u32, low),
            kind::ADMIT => self.admit(low),
            kind::FORWARD => self.forward_next(low),
            kind::SEND => {
                self.interfaces[low as usize].sending = false;
                self.send(low);
            }
            kind::MAKE => {
                self.interfaces[low as usize].making = false;
                self.make(low);
            }
            kind::ENTER => self.enter(low, self.now),
            kind::DELIVER => {
                let order = self.messages[low].order;
                self.messages.release(low);
                self.notices.push(Notice::Delivered(order));
            }
            _ => self.notices.push(Notice::Timer(event.what & ((1 << KIND_SHIFT) - 1))),
        }
        true
    }

    /// Takes the oldest notice that was not taken yet.
    pub fn notices(&mut self) -> &mut Vec<Notice> {
        &mut self.notices
    }

    #[inline]
    fn schedule(&mut self, at: Picos, kind: u64, what: u64) {
        self.calendar.push(Event { at, what: kind << KIND_SHIFT | what });
    }

    fn message(&mut self, posted: Picos, order: Order) -> u32 {
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

    /// A message enters its interface, which serves messages one after the other.
    fn enter(&mut self, message: u32, at: Picos) {
        let terminal = self.messages[message].order.from;
        let interface = &mut self.interfaces[terminal as usize];
        let (least, most) = self.parameters.dither;
        let draw = |which| {
            let bits = random::bits(self.seed, Purpose::Dither, u64::from(terminal), 2 * interface.entered + which);
            random::between(bits, least, most)
        };
        let enters = (at + draw(0)).max(interface.enters) + self.parameters.interface_delay + draw(1);
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
    fn make_next(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        if interface.messages.is_empty() || interface.making || interface.ready == Picos::NEVER {
            return;
        }
        interface.making = true;
        let at = interface.ready.max(self.messages[interface.messages.head].enters).max(self.now);
        let (least, most) = self.parameters.dither;
        let bits = random::bits(self.seed, Purpose::Making, u64::from(terminal), interface.made);
        let at = at + random::between(bits, least, most);
        self.schedule(at, kind::MAKE, u64::from(terminal));
    }

    /// An interface makes a packet of the message that it is at.
    fn make(&mut self, terminal: u32) {
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
        interface.made += 1;
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
            self.now + class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes)
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
    fn send(&mut self, terminal: u32) {
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
        let service = class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes);
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

    #[inline]
    fn arrival(&mut self, at: Picos, router: u32, packet: u32) {
        self.schedule(at, kind::ARRIVE, u64::from(router) << ROUTER_SHIFT | u64::from(packet));
    }

    /// A packet arrives at a router, which decides where it goes on.
    #[inline]
    fn arrive(&mut self, router: u32, number: u32) {
        let packet = &mut self.packets[number];
        let first = router * self.radix;
        let mut loads = Before { channels: &mut self.channels, ports: &self.ports, first, now: self.now };
        let (port, vc) =
            routing::step(self.parameters.routing, &self.dragonfly, packet, router, &mut loads, self.seed);
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
    fn wait(&mut self, port: u32, channel: u32, number: u32) {
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
    fn admit(&mut self, channel: u32) {
        let port = channel / VIRTUAL_CHANNELS;
        self.channels.admit(channel);
        let number = take(&mut self.packets, self.channels.list(channel));
        self.ports[port as usize].waiting -= 1;
        self.accept(port, channel, number);
    }

    /// A packet enters the buffer of a port: it is sent now or, when the port is busy, as soon as that is free.
    #[inline]
    fn accept(&mut self, port: u32, channel: u32, number: u32) {
        let packet = &mut self.packets[number];
        let upstream = packet.upstream;
        packet.upstream = channel;
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
    fn forward_next(&mut self, port: u32) {
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
    fn forward(&mut self, port: u32, channel: u32, number: u32) {
        let size = self.packets[number].size;
        let state = &mut self.ports[port as usize];
        let class = &self.classes[state.class as usize];
        state.free = self.now + class.service_of(size, self.parameters.packet_bytes, self.parameters.empty_packet_bytes);
        state.bytes += u64::from(size);
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
            self.arrival(at, peer, number);
        }
    }

    /// The buffer that a packet came from has room again.
    #[inline]
    fn return_credit(&mut self, upstream: u32) {
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
        let port = &mut self.ports[(upstream / VIRTUAL_CHANNELS) as usize];
        let at = self.now + self.classes[port.class as usize].credit_delay;
        if port.full_since != Picos::NEVER {
            self.saturated[(upstream / VIRTUAL_CHANNELS) as usize] += at - port.full_since;
            port.full_since = Picos::NEVER;
        }
        if self.channels.credit(upstream, at) {
            self.schedule(at, kind::ADMIT, u64::from(upstream));
        }
    }

    /// Counts a packet that arrives at its terminal at `at`.
    #[inline]
    fn delivered(&mut self, number: u32, at: Picos) {
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

    /// What went over every link from a router.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.ports.iter().zip(&self.saturated).enumerate().filter_map(|(index, (port, saturated))| {
            let kind = match port.class {
                TERMINAL => LinkKind::Terminal,
                LOCAL => LinkKind::Local,
                GLOBAL => LinkKind::Global,
                _ => return None,
            };
            let from = index as u32 / self.radix;
            Some(Link { from, to: port.peer, kind, bytes: port.bytes, saturated: *saturated })
        })
    }

    /// Checks what must hold when nothing more will happen: every packet arrived, every credit came back.
    ///
    /// # Errors
    /// `Corrupt`, with the first thing that does not hold; then the simulator has a fault, or the network is deadlocked.
    pub fn check_idle(&self) -> Result<()> {
        let broken = |detail: String| Err(Error::new(Kind::Corrupt, "network: at the end", detail));
        if self.packets.live() > 0 || self.counters.made != self.counters.delivered {
            let Counters { made, delivered, .. } = self.counters;
            return broken(format!("{made} packets were made and {delivered} arrived: the others wait for each other"));
        }
        if self.messages.live() > 0 {
            return broken(format!("{} messages never left their interface", self.messages.live()));
        }
        for index in 0..self.ports.len() as u32 * VIRTUAL_CHANNELS {
            let (held, waiting) = self.channels.outstanding(index);
            if held > 0 || waiting > 0 {
                return broken(format!("channel {index} misses {held} credits, and {waiting} packets wait"));
            }
        }
        for terminal in 0..self.interfaces.len() as u32 {
            let (held, _) = self.injection.outstanding(terminal);
            if held > 0 || self.interfaces[terminal as usize].queued > 0 {
                return broken(format!("terminal {terminal} misses {held} credits"));
            }
        }
        Ok(())
    }
}

/// Puts a packet at the end of a list.
#[inline]
fn append(packets: &mut Arena<Packet>, list: &mut List, number: u32) {
    packets[number].next = NONE;
    if list.is_empty() {
        list.head = number;
    } else {
        packets[list.tail].next = number;
    }
    list.tail = number;
}

/// Takes the first packet of a list that is not empty.
#[inline]
fn take(packets: &mut Arena<Packet>, list: &mut List) -> u32 {
    let number = list.head;
    list.head = packets[number].next;
    number
}

/// The ports of all routers, with what they lead to.
fn ports(dragonfly: &Dragonfly) -> Vec<Port> {
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
            ports.push(Port { free: Picos::ZERO, full_since: Picos::NEVER, bytes: 0, peer, waiting: 0, class, ready: 0, sending: false });
        }
    }
    ports
}
