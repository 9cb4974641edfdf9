//! Programs that never end: who waits for whom.

use super::machine::Machine;
use super::rank::{Rank, Waits};
use crate::mpi::collectives::collective_of;
use crate::mpi::Posted;
use crate::workload::operation::Source;
use std::collections::HashMap;
use thalweg_foundation::{Error, Kind, Result};

/// How many ranks are named.
const NAMED: usize = 5;

impl Machine {
    /// Checks that every rank's program has ended.
    ///
    /// # Errors
    /// `Invalid`, with the first ranks that wait, for whom and for what, and with ranks that wait for each other in a circle.
    pub(super) fn check_ended(&self) -> Result<()> {
        let mut waiting = self.ranks();
        waiting.retain(|(_, _, state)| state.waits != Waits::Ended);
        if waiting.is_empty() {
            return Ok(());
        }
        let shown: Vec<_> = waiting
            .iter()
            .take(NAMED)
            .map(|(application, rank, state)| {
                format!("rank {rank} of {} waits for {}", self.name(*application), wish(state))
            })
            .collect();
        let mut detail = format!("{} ranks wait for what never comes: {}", waiting.len(), shown.join("; "));
        if let Some((application, circle)) = circle(&waiting) {
            let others = circle.iter().skip(1).take(NAMED).map(|rank| format!("waits for rank {rank}"));
            let (first, name) = (circle[0], self.name(application));
            let others = others.collect::<Vec<_>>().join(", which ");
            let more = circle.len().saturating_sub(1 + NAMED);
            let more = if more > 0 {
                format!(", and so on over {more} more to rank {first}")
            } else {
                String::new()
            };
            detail += &format!("; in a circle of {name}: rank {first} {others}{more}");
        }
        Err(Error::new(Kind::Invalid, "simulation: deadlock", detail))
    }
}

/// What a rank waits for, in words.
fn wish(state: &Rank) -> String {
    let receives: Vec<_> = state.matching.posted().collect();
    match state.waits {
        Waits::Send(to) => format!("rank {to} to receive its message"),
        Waits::Receive => receives
            .iter()
            .find(|posted| posted.request.is_none())
            .map_or_else(|| "the data of a message".into(), |posted| message(posted)),
        Waits::Request(_) | Waits::Requests => {
            let mut wishes: Vec<_> = receives.iter().map(|posted| message(posted)).collect();
            let held = state.held.len();
            if held > 0 {
                wishes.push(format!("{held} messages that it sends to be received"));
            }
            let more = wishes.len().saturating_sub(3);
            wishes.truncate(3);
            let and = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{and}", wishes.join(", "))
        }
        Waits::Time => "the end of its computing".into(),
        Waits::Storage => "its storage".into(),
        Waits::Nothing | Waits::Ended => "nothing".into(),
    }
}

fn message(posted: &Posted) -> String {
    let from = match posted.from {
        Source::Rank(rank) => format!("from rank {rank}"),
        Source::Any => "from any rank".into(),
    };
    match posted.tag.map(|tag| (tag, collective_of(tag))) {
        Some((_, Some(collective))) => format!("a message {from} in their {}", collective.name()),
        Some((tag, None)) => format!("a message {from} with tag {tag}"),
        None => format!("a message {from}"),
    }
}

/// Whom a rank waits for, where it is one rank.
fn whom(state: &Rank) -> Option<u32> {
    match state.waits {
        Waits::Send(to) => Some(to),
        Waits::Receive | Waits::Request(_) | Waits::Requests => {
            state.matching.posted().find_map(|posted| match posted.from {
                Source::Rank(rank) => Some(rank),
                Source::Any => None,
            })
        }
        _ => None,
    }
}

/// Ranks of an application that wait for each other: the last one for the first.
fn circle(waiting: &[(usize, u32, &Rank)]) -> Option<(usize, Vec<u32>)> {
    let next: HashMap<(usize, u32), u32> = waiting
        .iter()
        .filter_map(|(application, rank, state)| Some(((*application, *rank), whom(state)?)))
        .collect();
    let (application, start, _) = *waiting.first()?;
    let mut path = vec![start];
    loop {
        let there = *next.get(&(application, *path.last()?))?;
        path.push(there);
        if let Some(place) = path[..path.len() - 1].iter().position(|rank| *rank == there) {
            return Some((application, path.split_off(place)));
        }
    }
}
