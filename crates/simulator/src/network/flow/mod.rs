//! A network in which messages flow: each takes its fair share of the links on its way, and no packet is followed.
//!
//! Interfaces send one message after the other, as they do with packets. A long message flows over up to [`WAYS`] ways that the
//! routing finds, at the rate that is fair between all that flow; rates are worked out anew shortly after something changed. A
//! short one takes the time of its bytes at an equal share of the links, and waits where a link is full as long as its buffer takes to
//! drain. What neither sees: packets that wait for others of short messages, and buffers that fill backwards from a full link.

mod fair;
mod way;

use super::arena::Arena;
use super::counters::{Counters, Link, LinkKind};
use super::fabric::Notice;
use super::histogram::Histogram;
use super::message::Order;
use super::parameters::Parameters;
use super::part::Crossing;
use super::plan::Plan;
use super::port::{Port, GLOBAL, LOCAL, TERMINAL};
use super::topology::Topology;
use super::traffic::Traffic;
use super::wiring;
use crate::engine::random::{self, Purpose};
use crate::engine::{Calendar, Event, Picos};
use fair::{Links, Share};
use std::collections::VecDeque;
use thalweg_foundation::{Error, Kind, Result};

/// Ways that one message takes at most.
const WAYS: usize = 4;
/// Messages of so many packets flow; shorter ones do not change what others get.
const LONG_PACKETS: u64 = 4;
/// Rates are worked out anew so long after something changed.
const SETTLES_AFTER: Picos = Picos(4_000_000);

mod kind {
    /// The message that flows and ends first ends.
    pub const END: u64 = 0;
    /// Rates are worked out anew.
    pub const SETTLE: u64 = 1;
    /// A short message has left its interface.
    pub const LEAVE: u64 = 2;
    /// An interface begins with its next message.
    pub const BEGIN: u64 = 3;
    /// A message that was sent for later enters its interface.
    pub const ENTER: u64 = 4;
    /// A message has arrived.
    pub const DELIVER: u64 = 5;
    /// A time that was asked for has come.
    pub const TIMER: u64 = 6;
}
const KIND_SHIFT: u32 = 60;

/// A message, from its sending to its arrival.
#[derive(Clone, Copy, Debug)]
struct Message<P> {
    order: Order<P>,
    posted: Picos,
    enters: Picos,
}

/// An interface with the messages that it has not sent yet.
#[derive(Clone, Debug, Default)]
struct Interface {
    waiting: VecDeque<u32>,
    busy: bool,
    /// When the next message can enter.
    enters: Picos,
    /// Messages so far.
    handed: u64,
    entered: u64,
}

/// A message that flows.
#[derive(Clone, Debug)]
struct Flow {
    message: u32,
    /// Bytes left at `since`, but for those of the last packet, which the ways before it do not slow down.
    left: f64,
    /// The time of its last packet on its terminal's link.
    last: Picos,
    since: Picos,
    ends: Picos,
    /// The time from its last byte's leaving the interface to its arrival.
    tail: Picos,
    hops: u64,
    shares: Vec<Share>,
    /// Bytes that went each way.
    moved: Vec<f64>,
}

impl Flow {
    fn rate(&self) -> f64 {
        self.shares.iter().map(|share| share.rate).sum()
    }

    /// Brings `left` up to `now`, at the rates that held until now.
    fn advance(&mut self, now: Picos, rates: impl Iterator<Item = f64>) {
        let passed = (now - self.since).0 as f64;
        for (moved, rate) in self.moved.iter_mut().zip(rates) {
            *moved += rate * passed;
            self.left -= rate * passed;
        }
        self.since = now;
    }

    /// When it ends by its rates.
    fn plan(&mut self) {
        let picos = (self.left.max(0.0) / self.rate().max(f64::MIN_POSITIVE)).ceil();
        self.ends = self.since + Picos(picos.min(1e18) as u64) + self.last;
    }
}

/// The network.
#[derive(Debug)]
pub struct Flows<P> {
    plan: Plan,
    seed: u64,
    now: Picos,
    calendar: Calendar,
    messages: Arena<Message<P>>,
    interfaces: Vec<Interface>,
    ports: Vec<Port>,
    /// Those of routers by their ports, then those of terminals.
    links: Links,
    flows: Vec<Flow>,
    /// When the flow that ends first does; events for other times are obsolete.
    next_end: Picos,
    settling: bool,
    settled_at: Picos,
    saturated: Vec<Picos>,
    traffic: Traffic,
    counters: Counters,
    notices: Vec<Notice<P>>,
    outbox: Vec<(u8, Crossing<P>)>,
}

impl<P: Copy> Flows<P> {
    /// An idle network; arguments and errors are those of [`super::Network::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(
        topology: impl Into<Topology>,
        parameters: Parameters,
        applications: u8,
        seed: u64,
    ) -> Result<Flows<P>> {
        let plan = Plan::new(topology.into(), parameters)?;
        let ports = wiring::ports(&plan.topology, 0..plan.topology.router_count());
        let terminals = plan.topology.terminal_count();
        let classes = ports.iter().map(|port| port.class).chain((0..terminals).map(|_| TERMINAL));
        let links = Links::new(
            classes.map(|class| 1.0 / plan.classes.get(usize::from(class)).map_or(1.0, |c| c.byte)),
        );
        Ok(Flows {
            seed,
            now: Picos::ZERO,
            calendar: Calendar::new(),
            messages: Arena::new(),
            interfaces: vec![Interface::default(); terminals as usize],
            links,
            flows: Vec::new(),
            next_end: Picos::NEVER,
            settling: false,
            settled_at: Picos::ZERO,
            saturated: vec![Picos::ZERO; ports.len()],
            traffic: Traffic::new(ports.len(), applications),
            counters: Counters {
                message_latency: vec![Histogram::default(); usize::from(applications)],
                ..Counters::default()
            },
            notices: Vec::new(),
            outbox: Vec::new(),
            ports,
            plan,
        })
    }

    /// The time of the event that was worked off last.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Picos> {
        self.calendar.next_at()
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.plan.topology
    }

    /// What was counted so far; of packets how many they would be, not their latency.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes on links, each when its message ended.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// What was told and not taken yet, the newest last.
    pub fn notices(&mut self) -> &mut Vec<Notice<P>> {
        &mut self.notices
    }

    /// What goes to other parts: nothing, there are none.
    pub fn outbox(&mut self) -> &mut Vec<(u8, Crossing<P>)> {
        &mut self.outbox
    }

    /// Sends a message for `at`; see [`super::Network::send_at`].
    pub fn send_at(&mut self, at: Picos, order: Order<P>) {
        let message = self.messages.insert(Message { order, posted: at, enters: at });
        let reaches = self.handed(order.from, at);
        self.enter(message, reaches);
    }

    /// Sends a message that reaches its interface after `delay`.
    pub fn send_after(&mut self, delay: Picos, order: Order<P>) {
        let message = self.messages.insert(Message { order, posted: self.now, enters: self.now });
        let reaches = self.handed(order.from, self.now + delay);
        self.schedule(reaches, kind::ENTER, u64::from(message));
    }

    /// Gives [`Notice::Timer`] with `cookie` (below 2⁶⁰) at `at`.
    pub fn wake_at(&mut self, at: Picos, cookie: u64) {
        self.schedule(at, kind::TIMER, cookie);
    }

    /// Works off the next event if it happens before `end`.
    pub fn step_before(&mut self, end: Picos) -> bool {
        let Some(event) = self.calendar.pop_before(end) else { return false };
        debug_assert!(event.at >= self.now, "causality");
        self.now = event.at;
        self.counters.events += 1;
        let low = event.what as u32;
        match event.what >> KIND_SHIFT {
            kind::END => self.end(),
            kind::SETTLE => self.settle(),
            kind::LEAVE => self.left(low),
            kind::BEGIN => self.begin(low),
            kind::ENTER => self.enter(low, self.now),
            kind::DELIVER => {
                let Message { order, .. } = self.messages[low];
                self.messages.release(low);
                self.notices.push(Notice::Delivered(order));
            }
            _ => self.notices.push(Notice::Timer(event.what & ((1 << KIND_SHIFT) - 1))),
        }
        true
    }

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

    /// Checks that every message arrived.
    ///
    /// # Errors
    /// `Corrupt` when one did not: the simulator has a fault.
    pub fn check_idle(&self) -> Result<()> {
        if self.messages.live() == 0 && self.flows.is_empty() {
            return Ok(());
        }
        let detail = format!("{} messages never arrived", self.messages.live());
        Err(Error::new(Kind::Corrupt, "network: at the end", detail))
    }

    fn schedule(&mut self, at: Picos, kind: u64, what: u64) {
        self.calendar.push(Event { at, what: kind << KIND_SHIFT | what });
    }

    fn dither(&self, purpose: Purpose, terminal: u32, count: u64) -> Picos {
        let (least, most) = self.plan.parameters.dither;
        random::between(random::bits(self.seed, purpose, u64::from(terminal), count), least, most)
    }

    fn handed(&mut self, terminal: u32, at: Picos) -> Picos {
        let interface = &mut self.interfaces[terminal as usize];
        interface.handed += 1;
        let count = interface.handed;
        at + self.dither(Purpose::Handing, terminal, count)
    }

    fn enter(&mut self, message: u32, at: Picos) {
        let terminal = self.messages[message].order.from;
        let dither = self.dither(Purpose::Entering, terminal, self.interfaces[terminal as usize].entered);
        let interface = &mut self.interfaces[terminal as usize];
        interface.entered += 1;
        interface.enters = at.max(interface.enters) + self.plan.parameters.interface_delay + dither;
        self.messages[message].enters = interface.enters;
        interface.waiting.push_back(message);
        if !interface.busy {
            interface.busy = true;
            let at = interface.enters.max(self.now);
            self.schedule(at, kind::BEGIN, u64::from(terminal));
        }
    }

    /// A terminal begins with the message that waits longest.
    fn begin(&mut self, terminal: u32) {
        let Some(number) = self.interfaces[terminal as usize].waiting.front().copied() else { return };
        let order = self.messages[number].order;
        let full = u64::from(self.plan.parameters.packet_bytes);
        let packets = order.bytes.div_ceil(full).max(1);
        self.counters.made += packets;
        let ways = if packets > LONG_PACKETS { self.ways(&order) } else { vec![self.way(&order, 0)] };
        let mut shares: Vec<Share> = ways.into_iter().map(Share::over).collect();
        for share in &mut shares {
            let rates = share.links.iter().map(|link| self.links.equal(*link, self.links.users(*link)));
            share.rate = rates.fold(f64::INFINITY, f64::min);
        }
        let parameters = &self.plan.parameters;
        let size = (order.bytes - (packets - 1) * full) as u16;
        let terminal_link = &self.plan.classes[usize::from(TERMINAL)];
        let last = terminal_link.service_of(size, parameters.packet_bytes, parameters.empty_packet_bytes);
        let left = (order.bytes - u64::from(size)) as f64;
        let tail = self.tail(&shares[0].links, size);
        let hops = shares[0].links.len() as u64 - 1;
        if packets <= LONG_PACKETS {
            let leaves = self.now + Picos((left / shares[0].rate).ceil() as u64) + last;
            let waits = self.waits(&shares[0].links);
            self.schedule(leaves, kind::LEAVE, u64::from(terminal));
            self.arrive(number, leaves + tail + waits, hops);
            self.count(&shares[0].links, order.application, order.bytes);
            return;
        }
        for link in shares.iter().flat_map(|share| &share.links) {
            self.links.count(*link, true);
        }
        let moved = vec![0.0; shares.len()];
        let now = self.now;
        let mut flow = Flow { message: number, left, last, since: now, ends: now, tail, hops, shares, moved };
        flow.plan();
        self.flows.push(flow);
        self.changed();
    }

    /// The flows that end now end.
    fn end(&mut self) {
        if self.now != self.next_end {
            return;
        }
        self.next_end = Picos::NEVER;
        let mut place = 0;
        while place < self.flows.len() {
            if self.flows[place].ends > self.now {
                place += 1;
                continue;
            }
            let mut flow = self.flows.swap_remove(place);
            let rates: Vec<f64> = flow.shares.iter().map(|share| share.rate).collect();
            flow.advance(self.now, rates.into_iter());
            let Message { order, .. } = self.messages[flow.message];
            let total: f64 = flow.moved.iter().sum();
            let mut counted = 0;
            for (index, (share, moved)) in flow.shares.iter().zip(&flow.moved).enumerate() {
                for link in &share.links {
                    self.links.count(*link, false);
                }
                let bytes = (order.bytes as f64 * moved / total) as u64;
                let bytes = if index + 1 == flow.shares.len() { order.bytes - counted } else { bytes };
                counted += bytes;
                self.count(&share.links, order.application, bytes);
            }
            self.arrive(flow.message, self.now + flow.tail, flow.hops);
            self.left(order.from);
        }
        self.changed();
    }

    /// A message has left its interface; the next one can begin.
    fn left(&mut self, terminal: u32) {
        let interface = &mut self.interfaces[terminal as usize];
        let Some(number) = interface.waiting.pop_front() else { return };
        let next = interface.waiting.front().copied();
        interface.busy = next.is_some();
        if let Some(next) = next {
            let at = self.messages[next].enters.max(self.now);
            self.schedule(at, kind::BEGIN, u64::from(terminal));
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

    /// Counts a message that will have arrived at `at`.
    fn arrive(&mut self, number: u32, at: Picos, hops: u64) {
        let Message { order, posted, .. } = self.messages[number];
        let packets = order.bytes.div_ceil(u64::from(self.plan.parameters.packet_bytes)).max(1);
        self.counters.delivered += packets;
        self.counters.hops += hops * packets;
        self.counters.message_latency[usize::from(order.application)].add(at - posted);
        if order.wants.delivered {
            self.schedule(at, kind::DELIVER, u64::from(number));
        }
    }

    /// Counts bytes on the links of routers on a way.
    fn count(&mut self, links: &[u32], application: u8, bytes: u64) {
        for link in &links[1..] {
            let class = self.ports[*link as usize].class;
            self.traffic.add_all(self.now, *link, class, application, bytes);
        }
    }

    /// Something begins or ends to flow: rates will be worked out anew soon, and the first end may be another one.
    fn changed(&mut self) {
        if !self.settling && !self.flows.is_empty() {
            self.settling = true;
            self.schedule(self.now + SETTLES_AFTER, kind::SETTLE, 0);
        }
        self.plan_end();
    }

    fn plan_end(&mut self) {
        let first = self.flows.iter().map(|flow| flow.ends).min().unwrap_or(Picos::NEVER);
        if first != self.next_end {
            self.next_end = first;
            if first != Picos::NEVER {
                self.schedule(first, kind::END, 0);
            }
        }
    }

    fn settle(&mut self) {
        self.settling = false;
        let passed = self.now - self.settled_at;
        self.settled_at = self.now;
        for link in self.links.full_links() {
            if let Some(saturated) = self.saturated.get_mut(link as usize) {
                *saturated += passed;
            }
        }
        let before: Vec<f64> =
            self.flows.iter().flat_map(|flow| flow.shares.iter().map(|share| share.rate)).collect();
        let shares = self.flows.iter_mut().flat_map(|flow| &mut flow.shares);
        self.links.settle(shares);
        let mut before = before.into_iter();
        for flow in &mut self.flows {
            let rates = before.by_ref().take(flow.shares.len());
            flow.advance(self.now, rates);
            flow.plan();
        }
        self.plan_end();
    }
}
