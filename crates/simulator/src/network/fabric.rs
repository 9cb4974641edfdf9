//! A network, or one of the parts that it is divided into, as a state machine: what is sent, and its events one by one.

use super::arena::Arena;
use super::channel::Channels;
use super::counters::{Counters, Link, LinkKind};
use super::histogram::Histogram;
use super::interface::Interface;
use super::message::{Incoming, Numbers, Order, Outgoing};
use super::packet::{List, Packet};
use super::parameters::Parameters;
use super::part::{Crossing, MOST};
use super::plan::Plan;
use super::port::{Class, Port, GLOBAL, LOCAL, TERMINAL};
use super::routing::VIRTUAL_CHANNELS;
use super::topology::Topology;
use super::traffic::{Timeline, Traffic};
use super::wiring;
use crate::engine::{Calendar, Event, Picos};
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// What a network tells those who send over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<P> {
    /// The interface has made the last packet of a message.
    Made(Order<P>),
    /// The last packet of a message leaves its interface.
    Sent(Order<P>),
    /// The last packet of a message has arrived.
    Delivered(Order<P>),
    /// A time that was asked for has come, with what was said in asking.
    Timer(u64),
}

/// The kinds of events, in the upper bits of [`Event::what`]; those at the same time happen in this order, and those of one kind
/// in the order of ports, channels or terminals.
pub(super) mod kind {
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

/// Bits of an event below its kind; for an arrival, those of the port and those of the packet. At one time a port gets one packet,
/// so that the number of the packet's record never decides.
const KIND_SHIFT: u32 = 60;
pub(super) const PORT_SHIFT: u32 = 32;

/// A network, or a part of one, the packets on it, and what will happen to them. Messages carry a `P`.
///
/// Routers, ports, channels and terminals are numbered from the part's first; where a number leaves the part, and in packets, it is
/// that of the whole network.
#[derive(Debug)]
pub struct Network<P> {
    pub(super) plan: Arc<Plan>,
    pub(super) part: u8,
    pub(super) first_router: u32,
    pub(super) first_port: u32,
    pub(super) first_terminal: u32,
    pub(super) parameters: Parameters,
    pub(super) classes: [Class; 3],
    pub(super) radix: u32,
    /// The largest number of packets that wait at an interface before it stops making more.
    pub(super) interface_capacity: u16,
    pub(super) seed: u64,
    pub(super) now: Picos,
    pub(super) calendar: Calendar,
    pub(super) packets: Arena<Packet>,
    pub(super) outgoing: Arena<Outgoing<P>>,
    /// For each part that sends to this one, the messages that have not arrived completely, by their numbers.
    pub(super) incoming: Vec<Vec<Incoming<P>>>,
    /// How many these are.
    pub(super) expected: u64,
    /// For each part, the numbers of messages to it.
    pub(super) numbers: Vec<Numbers>,
    pub(super) ports: Vec<Port>,
    /// The router of each port.
    pub(super) router_of_port: Vec<u32>,
    /// How long the buffers of each port were full.
    pub(super) saturated: Vec<Picos>,
    pub(super) traffic: Traffic,
    pub(super) channels: Channels,
    /// For each channel, packets that were accepted and wait for the link.
    pub(super) ready: Vec<List>,
    pub(super) interfaces: Vec<Interface>,
    /// The interfaces' accounts of their routers' buffers.
    pub(super) injection: Channels,
    pub(super) counters: Counters,
    pub(super) notices: Vec<Notice<P>>,
    /// What goes to other parts, with the part.
    pub(super) outbox: Vec<(u8, Crossing<P>)>,
}

impl<P: Copy> Network<P> {
    /// An idle network for `applications` applications. Everything random in it follows from `seed`.
    ///
    /// # Errors
    /// `Invalid` for parameters that no network can have ([`Parameters::check`]), and for a routing that the topology does not have.
    pub fn new(
        topology: impl Into<Topology>,
        parameters: Parameters,
        applications: u8,
        seed: u64,
    ) -> Result<Network<P>> {
        let plan = Plan::new(topology.into(), parameters)?;
        Ok(Network::part(Arc::new(plan), applications, seed, 0))
    }

    /// The parts of an idle network, and how far any of them can go ahead of what it does not know of the others. There is one part
    /// when links take no time to look ahead by.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn divided(
        topology: impl Into<Topology>,
        parameters: Parameters,
        applications: u8,
        seed: u64,
    ) -> Result<(Vec<Network<P>>, Picos)> {
        let mut plan = Plan::new(topology.into(), parameters)?;
        let ahead = plan.divide(MOST);
        let plan = Arc::new(plan);
        let parts = 0..plan.division.count() as u8;
        Ok((parts.map(|part| Network::part(plan.clone(), applications, seed, part)).collect(), ahead))
    }

    fn part(plan: Arc<Plan>, applications: u8, seed: u64, part: u8) -> Network<P> {
        let radix = plan.topology.radix();
        let (routers, terminals) = (plan.division.routers(part), plan.division.terminals(part));
        let ports = wiring::ports(&plan.topology, routers.clone());
        let channels = ports.len() * VIRTUAL_CHANNELS as usize;
        let mut interfaces = vec![Interface::idle(); terminals.len()];
        for (index, port) in ports.iter().enumerate().filter(|(_, port)| port.class == TERMINAL) {
            interfaces[(port.peer - terminals.start) as usize].into = index as u32;
        }
        let parts = plan.division.count();
        Network {
            part,
            first_router: routers.start,
            first_port: routers.start * radix,
            first_terminal: terminals.start,
            classes: plan.classes,
            radix,
            interface_capacity: plan.terminal_capacity(),
            seed,
            now: Picos::ZERO,
            calendar: Calendar::new(),
            packets: Arena::new(),
            outgoing: Arena::new(),
            incoming: (0..parts).map(|_| Vec::new()).collect(),
            expected: 0,
            numbers: vec![Numbers::default(); parts],
            saturated: vec![Picos::ZERO; ports.len()],
            traffic: Traffic::new(ports.len(), applications),
            channels: Channels::new(channels, plan.capacity()),
            ready: vec![List::EMPTY; channels],
            router_of_port: (0..ports.len() as u32).map(|port| port / radix).collect(),
            ports,
            injection: Channels::new(interfaces.len(), plan.terminal_capacity()),
            interfaces,
            counters: Counters {
                message_latency: vec![Histogram::default(); usize::from(applications)],
                ..Counters::default()
            },
            notices: Vec::new(),
            outbox: Vec::new(),
            parameters: plan.parameters,
            plan,
        }
    }

    /// The time of the event that was worked off last.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// When the next event happens; `None` when there is none.
    pub fn next_at(&self) -> Option<Picos> {
        self.calendar.next_at()
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.plan.topology
    }

    /// The terminals of this part.
    pub fn terminals(&self) -> std::ops::Range<u32> {
        self.plan.division.terminals(self.part)
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes on links over time.
    pub fn timeline(&self) -> &Timeline {
        &self.traffic.timeline
    }

    /// Sends a message for `at`, which must not be before now, nor before the time that was given
    /// for an earlier message of the same terminal, which is one of this part.
    ///
    /// # Panics
    /// In debug builds, for terminals that do not exist and for a message to oneself, which no network carries.
    pub fn send_at(&mut self, at: Picos, order: Order<P>) {
        let message = self.message(at, order);
        let reaches = at + self.handing(order.from, at);
        self.enter(message, reaches);
    }

    /// Sends a message that reaches its interface after `delay`, in the order in which such messages do.
    pub fn send_after(&mut self, delay: Picos, order: Order<P>) {
        let message = self.message(self.now, order);
        let reaches = self.now + delay + self.handing(order.from, self.now);
        self.schedule(reaches, kind::ENTER, u64::from(message));
    }

    /// Gives [`Notice::Timer`] with `cookie` (below 2⁶⁰) at `at`.
    pub fn wake_at(&mut self, at: Picos, cookie: u64) {
        debug_assert!(cookie < 1 << KIND_SHIFT);
        self.schedule(at, kind::TIMER, cookie);
    }

    /// Works off the next event; false when there is none. What it tells is in [`Network::notices`].
    #[inline]
    pub fn step(&mut self) -> bool {
        self.step_before(Picos::NEVER)
    }

    /// Works off the next event if it happens before `end`.
    #[inline]
    pub fn step_before(&mut self, end: Picos) -> bool {
        let Some(event) = self.calendar.pop_before(end) else { return false };
        debug_assert!(event.at >= self.now, "causality");
        self.now = event.at;
        self.counters.events += 1;
        let low = event.what as u32;
        match event.what >> KIND_SHIFT {
            kind::ARRIVE => self.arrive((event.what >> PORT_SHIFT) as u32, low),
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
            kind::DELIVER => self.deliver(low),
            _ => self.notices.push(Notice::Timer(event.what & ((1 << KIND_SHIFT) - 1))),
        }
        true
    }

    /// What was told and not taken yet, the newest last.
    pub fn notices(&mut self) -> &mut Vec<Notice<P>> {
        &mut self.notices
    }

    /// What goes to other parts and was not taken yet, with the part.
    pub fn outbox(&mut self) -> &mut Vec<(u8, Crossing<P>)> {
        &mut self.outbox
    }

    /// Takes what another part sent, which must not be for a time before the last event.
    pub fn receive(&mut self, from: u8, crossing: Crossing<P>) {
        match crossing {
            Crossing::Packet(at, port, packet) => {
                let number = self.packets.insert(packet);
                self.arrival(at, port - self.first_port, number);
            }
            Crossing::Credit(sent, channel) => {
                self.credit(channel - self.first_port * VIRTUAL_CHANNELS, sent);
            }
            Crossing::Message(number, incoming) => self.expect(number, *incoming),
            Crossing::Arrived(number) => self.numbers[usize::from(from)].give_back(number),
        }
    }

    #[inline]
    pub(super) fn schedule(&mut self, at: Picos, kind: u64, what: u64) {
        self.calendar.push(Event { at, what: kind << KIND_SHIFT | what });
    }

    /// What went over every link from a router of this part.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        (0..).zip(self.ports.iter().zip(&self.saturated)).filter_map(|(index, (port, saturated))| {
            let (kind, to) = match port.class {
                TERMINAL => (LinkKind::Terminal, port.peer),
                LOCAL => (LinkKind::Local, port.peer / self.radix),
                GLOBAL => (LinkKind::Global, port.peer / self.radix),
                _ => return None,
            };
            let from = self.first_router + index / self.radix;
            Some(Link { from, to, kind, bytes: self.traffic.of(index).to_vec(), saturated: *saturated })
        })
    }

    /// Checks what must hold when nothing more will happen: every packet arrived, every credit came back.
    ///
    /// # Errors
    /// `Corrupt`, with the first thing that does not hold; then the simulator has a fault, or the network is deadlocked.
    pub fn check_idle(&self) -> Result<()> {
        let broken = |detail: String| Err(Error::new(Kind::Corrupt, "network: at the end", detail));
        if self.packets.live() > 0 {
            return broken(format!(
                "{} packets of {} never arrived: they wait for each other",
                self.packets.live(),
                self.counters.made
            ));
        }
        if self.outgoing.live() > 0 || self.expected > 0 {
            return broken(format!(
                "{} messages never left their interface, {} never arrived",
                self.outgoing.live(),
                self.expected
            ));
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
