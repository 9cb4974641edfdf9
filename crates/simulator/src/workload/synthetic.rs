//! Synthetic traffic: every terminal sends messages with random gaps, to where a pattern says.

use crate::engine::random::{self, Purpose};
use crate::engine::Picos;
use crate::network::topology::Topology;
use crate::network::{Carrier, Notice, Order, Side, Wants};
use thalweg_foundation::{Error, Kind, Result};

/// Where a terminal's messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Any other terminal, all equally likely.
    UniformRandom,
    /// The terminal at the same place of the next group: adversarial to minimal routing, because all share one global link.
    NextGroup,
    /// The next terminal, mostly of the same router.
    NearestNeighbour,
    /// The terminal half the machine away.
    Shift,
    /// The terminal at the same place of the group half the groups away.
    Tornado,
    /// Mostly a random one of the first four terminals, for one message in four; else any.
    HotSpot,
}

impl Pattern {
    /// All, with their names.
    pub const NAMES: [(&'static str, Pattern); 6] = [
        ("uniform-random", Pattern::UniformRandom),
        ("next-group", Pattern::NextGroup),
        ("nearest-neighbour", Pattern::NearestNeighbour),
        ("shift", Pattern::Shift),
        ("tornado", Pattern::Tornado),
        ("hot-spot", Pattern::HotSpot),
    ];

    /// The pattern of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Pattern> {
        Pattern::NAMES.iter().find(|(known, _)| *known == name).map(|(_, pattern)| *pattern).ok_or_else(
            || {
                let known: Vec<_> = Pattern::NAMES.iter().map(|(name, _)| *name).collect();
                let detail = format!("there is no pattern {name:?}; accepted are {}", known.join(", "));
                Error::new(Kind::Invalid, "scenario: pattern", detail)
            },
        )
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Pattern::NAMES.iter().find(|(_, pattern)| *pattern == self).map_or("", |(name, _)| name)
    }

    /// Where `terminal` sends, by random `bits`; never to itself.
    fn destination(self, topology: &Topology, terminal: u32, bits: u64) -> u32 {
        let count = topology.terminal_count();
        let other = |first: u32, count: u32| {
            // One of `count` terminals from `first` on, without this one if it is among them.
            let within = terminal.wrapping_sub(first) < count;
            let chosen = first + random::below(bits, count - u32::from(within));
            chosen + u32::from(within && chosen >= terminal)
        };
        let group_size = topology.group_size();
        let onward = |terminals: u32| (terminal + terminals) % count;
        match self {
            Pattern::UniformRandom => other(0, count),
            Pattern::NextGroup => onward(group_size),
            Pattern::Tornado => onward(topology.groups() / 2 * group_size),
            Pattern::Shift => onward(count / 2),
            Pattern::NearestNeighbour => onward(1),
            Pattern::HotSpot => {
                let hot = 4.min(count);
                if bits & 3 == 0 && (hot > 1 || terminal > 0) {
                    other(0, hot)
                } else {
                    other(0, count)
                }
            }
        }
    }
}

/// How the time between two messages of a terminal is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Always the same, and all terminals begin together: what the reference values were taken with.
    Even,
    /// Exponentially, so that terminals are independent of each other.
    Exponential,
}

/// Synthetic traffic by its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// Where messages go.
    pub pattern: Pattern,
    /// The size of a message in bytes.
    pub bytes: u64,
    /// The mean time between two messages of a terminal.
    pub mean_gap: Picos,
    /// How it is distributed.
    pub gaps: Gaps,
    /// How many messages a terminal sends.
    pub messages: u64,
}

impl Synthetic {
    /// Checks that a machine can carry it.
    ///
    /// # Errors
    /// `Invalid` for a machine of one terminal, which has nobody to send to, for a pattern between groups on a machine of one,
    /// and for messages that are too large.
    pub fn check(&self, topology: &Topology) -> Result<()> {
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "synthetic traffic", detail));
        if topology.terminal_count() < 2 {
            return refused("a machine of 1 terminal; at least 2 are needed".into());
        }
        if self.pattern.destination(topology, 0, 0) == 0 {
            return refused(format!(
                "pattern {:?} needs more than one group; this machine has one",
                self.pattern.name()
            ));
        }
        if self.bytes > 1 << 40 {
            return refused(format!("messages of {} bytes; at most 1 TiB", self.bytes));
        }
        Ok(())
    }
}

/// A part of a network with the senders of synthetic traffic on its terminals.
#[derive(Debug)]
pub struct Senders {
    network: Carrier<()>,
    traffic: Synthetic,
    seed: u64,
    /// For each terminal, how many messages it has sent, and when the last one.
    sent: Vec<(u64, Picos)>,
}

impl Senders {
    /// Senders of `traffic` on every terminal of `network`, each with its first message under way.
    pub fn start(traffic: Synthetic, network: Carrier<()>, seed: u64) -> Senders {
        let terminals = network.terminals();
        let sent = vec![(0, Picos::ZERO); terminals.len()];
        let mut senders = Senders { network, traffic, seed, sent };
        for terminal in terminals {
            senders.next(terminal);
        }
        senders
    }

    /// The part that they send over.
    pub fn network(&self) -> &Carrier<()> {
        &self.network
    }

    fn next(&mut self, terminal: u32) {
        let sent = &mut self.sent[(terminal - self.network.terminals().start) as usize];
        let (count, last) = *sent;
        if count == self.traffic.messages {
            return;
        }
        let draw = |purpose| random::bits(self.seed, purpose, u64::from(terminal), count);
        let gap = match self.traffic.gaps {
            Gaps::Even => self.traffic.mean_gap,
            Gaps::Exponential => random::exponential(draw(Purpose::Gap), self.traffic.mean_gap),
        };
        let at = last + gap;
        *sent = (count + 1, at);
        let destination = draw(Purpose::Destination);
        let to = self.traffic.pattern.destination(self.network.topology(), terminal, destination);
        let wants = Wants { made: true, timed: true, ..Wants::default() };
        let order =
            Order { from: terminal, to, bytes: self.traffic.bytes, application: 0, content: (), wants };
        self.network.send_at(at, order);
    }
}

impl Side for Senders {
    type Content = ();

    fn network(&mut self) -> &mut Carrier<()> {
        &mut self.network
    }

    fn delivered(&self) -> u64 {
        self.network.counters().delivered
    }

    /// When an interface has made all packets of a message, the next one stands behind it, be it for later.
    fn notice(&mut self, notice: Notice<()>) -> Result<()> {
        if let Notice::Made(order) = notice {
            self.next(order.from);
        }
        Ok(())
    }
}
