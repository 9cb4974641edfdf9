//! Synthetic traffic: every terminal sends messages with random gaps, to where a pattern says.

use crate::engine::random::{self, Purpose};
use crate::engine::Picos;
use crate::network::topology::Dragonfly;
use crate::network::{Network, Notice, Order, Wants};
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
    fn destination(self, dragonfly: &Dragonfly, terminal: u32, bits: u64) -> u32 {
        let count = dragonfly.terminal_count();
        let other = |first: u32, count: u32| {
            // One of `count` terminals from `first` on, without this one if it is among them.
            let within = terminal.wrapping_sub(first) < count;
            let chosen = first + random::below(bits, count - u32::from(within));
            chosen + u32::from(within && chosen >= terminal)
        };
        let group_size = dragonfly.routers * dragonfly.terminals;
        let onward = |terminals: u32| (terminal + terminals) % count;
        match self {
            Pattern::UniformRandom => other(0, count),
            Pattern::NextGroup => onward(group_size),
            Pattern::Tornado => onward(dragonfly.groups / 2 * group_size),
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

/// The senders of synthetic traffic.
#[derive(Debug)]
pub struct Senders {
    traffic: Synthetic,
    seed: u64,
    /// For each terminal, how many messages it has sent, and when the last one.
    sent: Vec<(u64, Picos)>,
}

impl Senders {
    /// Senders on every terminal of `network`, each with its first message under way.
    ///
    /// # Errors
    /// `Invalid` for a machine of one terminal, which has nobody to send to, for a pattern between groups on a machine of one,
    /// and for messages that are too large.
    pub fn start(traffic: Synthetic, network: &mut Network, seed: u64) -> Result<Senders> {
        let count = network.topology().terminal_count();
        if count < 2 {
            return Err(Error::new(
                Kind::Invalid,
                "synthetic traffic",
                "a machine of 1 terminal; at least 2 are needed",
            ));
        }
        if traffic.pattern.destination(network.topology(), 0, 0) == 0 {
            let detail = format!(
                "pattern {:?} needs more than one group; this machine has one",
                traffic.pattern.name()
            );
            return Err(Error::new(Kind::Invalid, "synthetic traffic", detail));
        }
        if traffic.bytes > 1 << 40 {
            let detail = format!("messages of {} bytes; at most 1 TiB", traffic.bytes);
            return Err(Error::new(Kind::Invalid, "synthetic traffic", detail));
        }
        let mut senders = Senders { traffic, seed, sent: vec![(0, Picos::ZERO); count as usize] };
        for terminal in 0..count {
            senders.next(terminal, network);
        }
        Ok(senders)
    }

    /// When an interface has made all packets of a message, the next one stands behind it, be it for later.
    pub fn notice(&mut self, notice: Notice, network: &mut Network) {
        if let Notice::Made(order) = notice {
            self.next(order.from, network);
        }
    }

    fn next(&mut self, terminal: u32, network: &mut Network) {
        let (count, last) = self.sent[terminal as usize];
        if count == self.traffic.messages {
            return;
        }
        let draw = |purpose| random::bits(self.seed, purpose, u64::from(terminal), count);
        let gap = match self.traffic.gaps {
            Gaps::Even => self.traffic.mean_gap,
            Gaps::Exponential => random::exponential(draw(Purpose::Gap), self.traffic.mean_gap),
        };
        let at = last + gap;
        let to = self.traffic.pattern.destination(network.topology(), terminal, draw(Purpose::Destination));
        let wants = Wants { made: true, ..Wants::default() };
        network.send_at(
            at,
            Order { from: terminal, to, bytes: self.traffic.bytes, application: 0, cookie: 0, wants },
        );
        self.sent[terminal as usize] = (count + 1, at);
    }
}

/// Runs synthetic traffic on a network until everything has arrived. `goes_on` is asked now and then, with the simulated time and
/// the number of packets that have arrived.
///
/// # Errors
/// As [`Senders::start`] and [`Network::check_idle`]; `Interrupted` when `goes_on` said no.
pub fn run(
    traffic: Synthetic,
    network: &mut Network,
    seed: u64,
    mut goes_on: impl FnMut(Picos, u64) -> bool,
) -> Result<()> {
    let mut senders = Senders::start(traffic, network, seed)?;
    while network.step() {
        while let Some(notice) = network.notices().pop() {
            senders.notice(notice, network);
        }
        if network.asks() && !goes_on(network.now(), network.counters().delivered) {
            return Err(network.interrupted());
        }
    }
    network.check_idle()
}
