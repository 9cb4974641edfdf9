//! A network in which messages flow: each takes its fair share of the links on its way, and no packet is followed.
//!
//! Interfaces send one message after the other, as they do with packets. A long message flows over up to [`WAYS`] ways that the
//! routing finds, at the rate that is fair between all that flow; rates are worked out anew shortly after something changed. A
//! short one takes the time of its bytes at an equal share of the links, and waits where a link is full as long as its buffer takes to
//! drain. What neither sees: packets that wait for others of short messages, buffers that fill backwards from a full link, and links so
//! long that credits come back later than a buffer has drained.

mod count;
mod event;
mod fair;
mod interface;
mod long;
mod short;
mod way;

use super::arena::Arena;
use super::counters::Counters;
use super::fabric::Notice;
use super::histogram::Histogram;
use super::message::Order;
use super::parameters::Parameters;
use super::part::Crossing;
use super::plan::Plan;
use super::port::{Port, TERMINAL};
use super::topology::Topology;
use super::traffic::Traffic;
use super::wiring;
use crate::engine::{Calendar, Picos};
use fair::Links;
use interface::{Interface, Message};
use long::Flow;
use thalweg_foundation::{Error, Kind, Result};

/// Ways that one message takes at most.
const WAYS: usize = 4;
/// Messages of so many packets flow; shorter ones do not change what others get.
const LONG_PACKETS: u64 = 4;
/// Rates are worked out anew so long after something changed.
const SETTLES_AFTER: Picos = Picos(8_000_000);

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
    /// Events that say so, obsolete ones among them.
    ends: usize,
    settling: bool,
    settled_at: Picos,
    saturated: Vec<Picos>,
    traffic: Traffic,
    counters: Counters,
    notices: Vec<Notice<P>>,
    outbox: Vec<(u8, Crossing<P>)>,
    /// The way of the last short message, kept for its memory.
    way: Vec<u32>,
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
            ends: 0,
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
            way: Vec::new(),
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
        let obsolete = self.next_end == Picos::NEVER && self.ends == self.calendar.len();
        self.calendar.next_at().filter(|_| !obsolete)
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
        let reaches = at + self.handing(order.from, at);
        self.enter(message, reaches);
    }

    /// Sends a message that reaches its interface after `delay`.
    pub fn send_after(&mut self, delay: Picos, order: Order<P>) {
        let message = self.messages.insert(Message { order, posted: self.now, enters: self.now });
        let reaches = self.now + delay + self.handing(order.from, self.now);
        self.schedule(reaches, event::ENTER, u64::from(message));
    }

    /// Gives [`Notice::Timer`] with `cookie` (below 2⁶⁰) at `at`.
    pub fn wake_at(&mut self, at: Picos, cookie: u64) {
        self.schedule(at, event::TIMER, cookie);
    }

    /// Works off the next event if it happens before `end`.
    pub fn step_before(&mut self, end: Picos) -> bool {
        let Some(event) = self.calendar.pop_before(end) else { return false };
        debug_assert!(event.at >= self.now, "causality");
        let (kind, what) = event::read(&event);
        if kind == event::END {
            self.ends -= 1;
            if event.at != self.next_end {
                return true;
            }
        }
        if kind == event::SETTLE && self.flows.is_empty() {
            self.settling = false;
            return true;
        }
        self.now = event.at;
        self.counters.events += 1;
        let low = what as u32;
        match kind {
            event::END => self.end(),
            event::SETTLE => self.settle(),
            event::LEAVE => self.left(low),
            event::BEGIN => self.begin(low),
            event::ENTER => self.enter(low, self.now),
            event::DELIVER => {
                let Message { order, .. } = self.messages[low];
                self.messages.release(low);
                self.notices.push(Notice::Delivered(order));
            }
            _ => self.notices.push(Notice::Timer(what)),
        }
        true
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
}
