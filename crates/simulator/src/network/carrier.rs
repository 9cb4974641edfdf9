//! What carries messages: packets that are followed one by one, or flows.

use super::counters::{Counters, Link};
use super::fabric::{Network, Notice};
use super::flow::Flows;
use super::message::Order;
use super::parameters::Parameters;
use super::part::Crossing;
use super::topology::Topology;
use super::traffic::Timeline;
use crate::engine::Picos;
use thalweg_foundation::{Error, Kind, Result};

/// How closely a network is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Every packet.
    #[default]
    Packet,
    /// Messages that flow, each at its fair share of the links on its way.
    Flow,
}

impl Fidelity {
    /// All, with their names.
    pub const NAMES: [(&'static str, Fidelity); 2] = [("packet", Fidelity::Packet), ("flow", Fidelity::Flow)];

    /// The fidelity of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Fidelity> {
        Fidelity::NAMES.iter().find(|(known, _)| *known == name).map(|(_, found)| *found).ok_or_else(|| {
            let detail = format!("there is no fidelity {name:?}; accepted are packet, flow");
            Error::new(Kind::Invalid, "scenario: fidelity", detail)
        })
    }
}

/// A part of a network that carries messages with a `P`.
#[derive(Debug)]
pub enum Carrier<P> {
    /// By packets.
    Packets(Network<P>),
    /// By flows.
    Flows(Flows<P>),
}

/// What `$body` gives for whichever carrier it is.
macro_rules! each {
    ($carrier:expr, $known:ident => $body:expr) => {
        match $carrier {
            Carrier::Packets($known) => $body,
            Carrier::Flows($known) => $body,
        }
    };
}

impl<P: Copy> Carrier<P> {
    /// The parts of an idle network, and how far any of them can go ahead of the others; flows have one part. Arguments and errors
    /// are those of [`Network::divided`].
    ///
    /// # Errors
    /// As there.
    pub fn divided(
        fidelity: Fidelity,
        topology: Topology,
        parameters: Parameters,
        applications: u8,
        seed: u64,
    ) -> Result<(Vec<Carrier<P>>, Picos)> {
        match fidelity {
            Fidelity::Packet => {
                let (parts, ahead) = Network::divided(topology, parameters, applications, seed)?;
                Ok((parts.into_iter().map(Carrier::Packets).collect(), ahead))
            }
            Fidelity::Flow => {
                let flows = Flows::new(topology, parameters, applications, seed)?;
                Ok((vec![Carrier::Flows(flows)], Picos::NEVER))
            }
        }
    }

    /// How closely it looks.
    pub fn fidelity(&self) -> Fidelity {
        match self {
            Carrier::Packets(_) => Fidelity::Packet,
            Carrier::Flows(_) => Fidelity::Flow,
        }
    }

    /// The time of the event that was worked off last.
    pub fn now(&self) -> Picos {
        each!(self, known => known.now())
    }

    /// When the next event happens; `None` when there is none.
    pub fn next_at(&self) -> Option<Picos> {
        each!(self, known => known.next_at())
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        each!(self, known => known.topology())
    }

    /// The terminals of this part.
    pub fn terminals(&self) -> std::ops::Range<u32> {
        match self {
            Carrier::Packets(network) => network.terminals(),
            Carrier::Flows(flows) => 0..flows.topology().terminal_count(),
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        each!(self, known => known.counters())
    }

    /// What went over every link from a router of this part.
    pub fn links(&self) -> Vec<Link> {
        each!(self, known => known.links().collect())
    }

    /// Bytes on links over time.
    pub fn timeline(&self) -> &Timeline {
        match self {
            Carrier::Packets(network) => network.timeline(),
            Carrier::Flows(flows) => &flows.traffic().timeline,
        }
    }

    /// Sends a message for a time; see [`Network::send_at`].
    pub fn send_at(&mut self, at: Picos, order: Order<P>) {
        each!(self, known => known.send_at(at, order));
    }

    /// Sends a message after a delay; see [`Network::send_after`].
    pub fn send_after(&mut self, delay: Picos, order: Order<P>) {
        each!(self, known => known.send_after(delay, order));
    }

    /// Asks for a notice at a time; see [`Network::wake_at`].
    pub fn wake_at(&mut self, at: Picos, cookie: u64) {
        each!(self, known => known.wake_at(at, cookie));
    }

    /// Works off the next event if it happens before `end`.
    #[inline]
    pub fn step_before(&mut self, end: Picos) -> bool {
        each!(self, known => known.step_before(end))
    }

    /// What was told and not taken yet, the newest last.
    #[inline]
    pub fn notices(&mut self) -> &mut Vec<Notice<P>> {
        each!(self, known => known.notices())
    }

    /// What goes to other parts and was not taken yet, with the part.
    pub fn outbox(&mut self) -> &mut Vec<(u8, Crossing<P>)> {
        each!(self, known => known.outbox())
    }

    /// Takes what another part sent.
    pub fn receive(&mut self, from: u8, crossing: Crossing<P>) {
        if let Carrier::Packets(network) = self {
            network.receive(from, crossing);
        }
    }

    /// Checks what must hold when nothing more will happen.
    ///
    /// # Errors
    /// `Corrupt`, with the first thing that does not hold.
    pub fn check_idle(&self) -> Result<()> {
        each!(self, known => known.check_idle())
    }
}
