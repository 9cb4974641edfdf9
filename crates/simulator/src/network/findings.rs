//! What a network found, by what its parts counted.

use super::carrier::{Carrier, Fidelity};
use super::counters::{Counters, Link};
use super::traffic::Timeline;
use crate::engine::Picos;

/// What a run over a network found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How closely the network was looked at.
    pub fidelity: Fidelity,
    /// When the last thing happened.
    pub end: Picos,
    /// What was counted.
    pub counters: Counters,
    /// What went over each link from a router.
    pub links: Vec<Link>,
    /// What went over links of each kind over time.
    pub timeline: Timeline,
    /// How many threads could work on it: not more than parts can go ahead of each other.
    pub threads: usize,
}

impl Findings {
    /// Those of all parts of a network, which as many as `threads` threads were asked to work on.
    pub fn of<'a, P: Copy + 'a>(parts: impl Iterator<Item = &'a Carrier<P>>, threads: usize) -> Findings {
        let mut all = Findings::default();
        for part in parts {
            if all.threads == 0 {
                all.fidelity = part.fidelity();
                all.counters
                    .message_latency
                    .resize(part.counters().message_latency.len(), Default::default());
            }
            all.threads += 1;
            all.end = all.end.max(part.now()).max(part.counters().arrived);
            all.counters.merge(part.counters());
            all.links.extend(part.links());
            all.timeline.merge(part.timeline().clone());
        }
        all.threads = all.threads.min(threads);
        all
    }

    /// What was counted where packets were followed: their latency, the routers on their way and their detours mean nothing of flows.
    pub fn followed(&self) -> Option<&Counters> {
        (self.fidelity == Fidelity::Packet).then_some(&self.counters)
    }
}
