//! Collectives as schedules: the sends and receives of one rank, in order. One collective, one file.
//!
//! Within a schedule ranks are numbered by their place in the group that takes part.

mod algorithm;
mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod reduce;

pub use algorithm::{Algorithm, Algorithms};

use crate::workload::operation::{Collective, Group, Operation, Source, Tag};
use thalweg_foundation::Result;

/// Tags from here on are those of collectives; programs use lower ones. Ranks call collectives in the same order, so that
/// messages of two of a kind cannot be confused.
const TAGS: Tag = 1 << 31;
/// Requests of collectives are numbered from here on; programs use lower numbers.
const REQUESTS: u32 = 1 << 31;

/// How a rank sends and receives in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exchange {
    /// A blocking send, then a receive: what the published artifact makes of a send-receive. Wants eager messages.
    InTurn,
    /// Both at once, as MPI_Sendrecv does.
    #[default]
    AtOnce,
}

/// A collective that a rank takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Which.
    pub kind: Collective,
    /// The rank that all data come from or go to, where there is one.
    pub root: u32,
    /// Bytes that a rank gives; of an alltoall, to each other rank.
    pub bytes: u64,
    /// Who takes part.
    pub group: &'a Group,
}

/// The tag of a collective's messages.
pub fn tag_of(kind: Collective) -> Tag {
    TAGS + kind as Tag
}

/// Whether a tag is that of a collective's messages.
pub fn is_collective(tag: Tag) -> bool {
    tag >= TAGS
}

/// The collective whose messages have a tag.
pub fn collective_of(tag: Tag) -> Option<Collective> {
    Collective::NAMES.iter().map(|(_, kind)| *kind).find(|kind| tag_of(*kind) == tag)
}

/// What `rank` of an application with `ranks` ranks does in a collective: sends, receives, and waits.
///
/// # Errors
/// `Invalid` for an algorithm that the group is too odd for, a root beyond it, a rank that is not in it, and members that do not
/// ascend.
pub fn schedule(
    part: Part<'_>,
    rank: u32,
    ranks: u32,
    algorithms: &Algorithms,
    exchange: Exchange,
) -> Result<Vec<Operation>> {
    if let Group::Of(members) = part.group {
        if let Some(pair) = members.windows(2).find(|pair| pair[0] >= pair[1]) {
            let detail = format!("names rank {} behind rank {}", pair[1], pair[0]);
            let detail = format!("{detail}; expected each member once, in ascending order");
            return Err(algorithm::refused(part.kind, detail));
        }
        if let Some(last) = members.last().filter(|last| **last >= ranks) {
            return Err(algorithm::refused(
                part.kind,
                format!("names rank {last}; there are {ranks}, from 0 on"),
            ));
        }
    }
    let place_of = |rank: u32| match part.group {
        Group::All => (rank < ranks).then_some(rank),
        Group::Of(members) => members.binary_search(&rank).ok().map(|place| place as u32),
    };
    let size = match part.group {
        Group::All => ranks,
        Group::Of(members) => members.len() as u32,
    };
    let absent =
        |rank| algorithm::refused(part.kind, format!("rank {rank} is not among the {size} that take part"));
    let place = place_of(rank).ok_or_else(|| absent(rank))?;
    let rooted = matches!(part.kind, Collective::Bcast | Collective::Reduce);
    let root = if rooted { place_of(part.root).ok_or_else(|| absent(part.root))? } else { 0 };
    let tag = tag_of(part.kind);
    let mut steps = Steps { tag, place, size, root, bytes: part.bytes, exchange, ..Steps::default() };
    algorithms.choose(part.kind, size, part.bytes)?.write(&mut steps);
    if let Group::Of(members) = part.group {
        steps.rename(members);
    }
    Ok(steps.done)
}

/// The schedule of one rank while it is written.
#[derive(Debug, Default)]
struct Steps {
    tag: Tag,
    place: u32,
    size: u32,
    root: u32,
    bytes: u64,
    exchange: Exchange,
    done: Vec<Operation>,
    open: Vec<u32>,
}

impl Steps {
    fn send(&mut self, to: u32, bytes: u64) {
        self.done.push(Operation::Send { to, bytes, tag: self.tag });
    }

    fn receive(&mut self, from: u32, bytes: u64) {
        self.done.push(Operation::Recv { from: Source::Rank(from), bytes, tag: Some(self.tag) });
    }

    /// Sends to one rank and receives from another, or the same.
    fn exchange(&mut self, to: u32, sent: u64, from: u32, received: u64) {
        match self.exchange {
            Exchange::InTurn => {
                self.send(to, sent);
                self.receive(from, received);
            }
            Exchange::AtOnce => {
                self.begin_send(to, sent);
                self.receive(from, received);
                self.wait();
            }
        }
    }

    fn request(&mut self) -> u32 {
        let request = REQUESTS + self.open.len() as u32;
        self.open.push(request);
        request
    }

    fn begin_send(&mut self, to: u32, bytes: u64) {
        let request = self.request();
        self.done.push(Operation::Isend { to, bytes, tag: self.tag, request });
    }

    fn begin_receive(&mut self, from: u32, bytes: u64) {
        let request = self.request();
        self.done.push(Operation::Irecv { from: Source::Rank(from), bytes, tag: Some(self.tag), request });
    }

    /// Waits for what was begun.
    fn wait(&mut self) {
        self.done.extend(self.open.drain(..).map(|request| Operation::Wait { request }));
    }

    /// The place so many further, around the ring.
    fn onward(&self, distance: u32) -> u32 {
        (self.place + distance) % self.size
    }

    /// The place so many before, around the ring.
    fn behind(&self, distance: u32) -> u32 {
        (self.place + self.size - distance % self.size) % self.size
    }

    /// From places in a group to ranks.
    fn rename(&mut self, members: &[u32]) {
        for operation in &mut self.done {
            match operation {
                Operation::Send { to: other, .. }
                | Operation::Isend { to: other, .. }
                | Operation::Recv { from: Source::Rank(other), .. }
                | Operation::Irecv { from: Source::Rank(other), .. } => *other = members[*other as usize],
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// The schedule of one rank of all.
    pub(super) fn of(
        kind: Collective,
        algorithm: Algorithm,
        place: u32,
        size: u32,
        root: u32,
        bytes: u64,
    ) -> Vec<Operation> {
        let algorithms = Algorithms::default().with(kind, algorithm).unwrap();
        let part = Part { kind, root, bytes, group: &Group::All };
        schedule(part, place, size, &algorithms, Exchange::InTurn).unwrap()
    }

    /// A schedule as words: `>3:100` sends 100 bytes to 3, `<2:50` receives 50 from 2.
    pub(super) fn words(schedule: &[Operation]) -> String {
        let word = |operation: &Operation| match operation {
            Operation::Send { to, bytes, .. } | Operation::Isend { to, bytes, .. } => {
                Some(format!(">{to}:{bytes}"))
            }
            Operation::Recv { from: Source::Rank(from), bytes, .. }
            | Operation::Irecv { from: Source::Rank(from), bytes, .. } => Some(format!("<{from}:{bytes}")),
            _ => None,
        };
        schedule.iter().filter_map(word).collect::<Vec<_>>().join(" ")
    }

    /// Runs the schedules of all ranks, with messages that arrive at once: messages and bytes that were sent. Every receive has
    /// room for just what comes.
    pub(super) fn run(kind: Collective, algorithm: Algorithm, size: u32, bytes: u64) -> (u64, u64) {
        let root = size / 3;
        let mut left: Vec<VecDeque<Operation>> =
            (0..size).map(|place| of(kind, algorithm, place, size, root, bytes).into()).collect();
        let mut there: HashMap<(u32, u32), VecDeque<u64>> = HashMap::new();
        let (mut messages, mut sum) = (0, 0);
        loop {
            let mut moved = false;
            for rank in 0..size {
                while let Some(operation) = left[rank as usize].front().cloned() {
                    match operation {
                        Operation::Send { to, bytes, .. } | Operation::Isend { to, bytes, .. } => {
                            assert!(to < size && to != rank);
                            there.entry((rank, to)).or_default().push_back(bytes);
                            messages += 1;
                            sum += bytes;
                        }
                        Operation::Recv { from: Source::Rank(from), bytes, .. } => {
                            let Some(came) = there.entry((from, rank)).or_default().pop_front() else {
                                break;
                            };
                            assert_eq!(
                                came, bytes,
                                "{kind:?} {algorithm:?} of {size}: from {from} to {rank}"
                            );
                        }
                        // Messages arrive at once and in order: when a receive is posted can wait until its end is waited for.
                        Operation::Irecv { from: Source::Rank(from), bytes, .. } => {
                            let Some(came) = there.entry((from, rank)).or_default().pop_front() else {
                                break;
                            };
                            assert_eq!(came, bytes);
                        }
                        Operation::Wait { .. } => {}
                        other => panic!("{other:?}"),
                    }
                    left[rank as usize].pop_front();
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert!(
            left.iter().all(VecDeque::is_empty),
            "{kind:?} {algorithm:?} of {size} waits for what nobody sends"
        );
        assert!(there.values().all(VecDeque::is_empty), "a message that nobody receives");
        (messages, sum)
    }

    #[test]
    fn a_group_of_some_ranks_keeps_to_itself() {
        let group = Group::Of([2, 5, 7].as_slice().into());
        let part = Part { kind: Collective::Bcast, root: 5, bytes: 10, group: &group };
        let of = |rank| schedule(part, rank, 9, &Algorithms::default(), Exchange::AtOnce);
        assert_eq!(words(&of(5).unwrap()), ">2:10 >7:10");
        assert_eq!(words(&of(2).unwrap()), "<5:10");
        assert_eq!(of(3).unwrap_err().message, "collective bcast: rank 3 is not among the 3 that take part");
        for (members, said) in [
            (&[2, 2, 5][..], "names rank 2 behind rank 2; expected each member once, in ascending order"),
            (&[2, 5, 3], "names rank 3 behind rank 5"),
            (&[2, 5, 9], "names rank 9; there are 9, from 0 on"),
        ] {
            let part = Part { group: &Group::Of(members.into()), ..part };
            let error = schedule(part, 2, 9, &Algorithms::default(), Exchange::AtOnce).unwrap_err();
            assert!(error.message.contains(said), "{error}");
        }
    }

    #[test]
    fn sending_and_receiving_at_once_cannot_block() {
        let part = Part { kind: Collective::Barrier, root: 0, bytes: 0, group: &Group::All };
        let schedule = schedule(part, 0, 2, &Algorithms::default(), Exchange::AtOnce).unwrap();
        let (request, tag) = (REQUESTS, tag_of(Collective::Barrier));
        assert_eq!(collective_of(tag), Some(Collective::Barrier));
        assert_eq!(
            schedule,
            [
                Operation::Isend { to: 1, bytes: 0, tag, request },
                Operation::Recv { from: Source::Rank(1), bytes: 0, tag: Some(tag) },
                Operation::Wait { request },
            ]
        );
    }
}
