//! The network as a state machine: what is sent over it, and its events one by one.

use super::arena::Arena;
use super::channel::Channels;
use super::counters::{Counters, Link, LinkKind};
use super::histogram::Histogram;
use super::interface::Interface;
use super::message::{Message, Order};
use super::packet::{List, Packet};
use super::parameters::Parameters;
use super::port::{Class, Port, GLOBAL, LOCAL, TERMINAL};
use super::routing::VIRTUAL_CHANNELS;
use super::topology::Dragonfly;
use super::wiring;
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

/// Bits of an event below its kind; for an arrival, those of the router and those of the packet.
const KIND_SHIFT: u32 = 60;
pub(super) const ROUTER_SHIFT: u32 = 32;

/// A network, the packets on it, and what will happen to them.
#[derive(Debug)]
pub struct Network {
    pub(super) dragonfly: Dragonfly,
    pub(super) parameters: Parameters,
    pub(super) classes: [Class; 3],
    pub(super) radix: u32,
    /// The largest number of packets that wait at an interface before it stops making more.
    pub(super) interface_capacity: u16,
    pub(super) seed: u64,
    pub(super) now: Picos,
    pub(super) calendar: Calendar,
    pub(super) packets: Arena<Packet>,
    pub(super) messages: Arena<Message>,
    pub(super) ports: Vec<Port>,
    /// How long the buffers of each port were full.
    pub(super) saturated: Vec<Picos>,
    pub(super) channels: Channels,
    /// For each channel, packets that were accepted and wait for the link.
    pub(super) ready: Vec<List>,
    pub(super) interfaces: Vec<Interface>,
    /// The interfaces' accounts of their routers' buffers.
    pub(super) injection: Channels,
    pub(super) counters: Counters,
    pub(super) notices: Vec<Notice>,
}

impl Network {
    /// An idle network for `applications` applications. Everything random in it follows from `seed`.
    ///
    /// # Errors
    /// `Invalid` for parameters that no network can have ([`Parameters::check`]).
    pub fn new(
        dragonfly: Dragonfly,
        parameters: Parameters,
        applications: u16,
        seed: u64,
    ) -> Result<Network> {
        parameters.check()?;
        let classes = [parameters.terminal, parameters.local, parameters.global]
            .map(|link| Class::new(&link, &parameters));
        let radix = dragonfly.radix();
        let capacity = classes.iter().map(|class| class.capacity).max().unwrap_or(1);
        if radix * VIRTUAL_CHANNELS * u32::from(capacity) > u32::from(u16::MAX) {
            let detail = format!("routers of {radix} ports with buffers of {capacity} packets; too many packets could wait at one");
            return Err(Error::new(Kind::Invalid, "network", detail));
        }
        let ports = wiring::ports(&dragonfly);
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
            injection: Channels::new(
                dragonfly.terminal_count() as usize,
                classes[TERMINAL as usize].capacity,
            ),
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

    /// Sends a message for `at`, which must not be before now, nor before the time that was given
    /// for an earlier message of the same terminal.
    ///
    /// # Panics
    /// In debug builds, for terminals that do not exist and for a message to oneself, which no network carries.
    pub fn send_at(&mut self, at: Picos, order: Order) {
        let message = self.message(at, order);
        let reaches = self.handed(order.from, at);
        self.enter(message, reaches);
    }

    /// Sends a message that reaches its interface after `delay`, in the order in which such messages do.
    pub fn send_after(&mut self, delay: Picos, order: Order) {
        let message = self.message(self.now, order);
        let reaches = self.handed(order.from, self.now + delay);
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

    /// Whether it is time to ask whether the run goes on: every few million events, a second or so apart.
    #[inline]
    pub fn asks(&self) -> bool {
        self.counters.events & ((1 << 22) - 1) == 0
    }

    /// The error of a run that was stopped.
    pub fn interrupted(&self) -> Error {
        Error::new(Kind::Interrupted, "simulation", format!("stopped at {}", self.now))
    }

    /// What was told and not taken yet, the newest last.
    pub fn notices(&mut self) -> &mut Vec<Notice> {
        &mut self.notices
    }

    #[inline]
    pub(super) fn schedule(&mut self, at: Picos, kind: u64, what: u64) {
        self.calendar.push(Event { at, what: kind << KIND_SHIFT | what });
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
            return broken(format!(
                "{made} packets were made and {delivered} arrived: the others wait for each other"
            ));
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
