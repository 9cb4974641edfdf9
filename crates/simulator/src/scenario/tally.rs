//! What a program will do, counted without a machine.

use crate::mpi::collectives::{schedule, Algorithms, Exchange, Part};
use crate::workload::language::Bound;
use crate::workload::operation::{Behaviour, Operation, Seen, Source};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// Operations of some ranks, and the messages that they come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By kind: how many, and their bytes.
    pub operations: BTreeMap<&'static str, (u64, u64)>,
    /// Messages that ranks send to each other, those of collectives among them, and their bytes.
    pub messages: (u64, u64),
    /// Sender and receiver of messages of the program's own, with how many more are sent than received.
    pub balance: BTreeMap<(u32, u32), i64>,
}

impl Tally {
    /// One more message is sent, or received; pairs in balance are not kept.
    fn weigh(&mut self, pair: (u32, u32), more: i64) {
        let balance = self.balance.entry(pair).or_default();
        *balance += more;
        if *balance == 0 {
            self.balance.remove(&pair);
        }
    }

    /// Messages that the program sends itself, and their bytes.
    pub fn sent(&self) -> (u64, u64) {
        let of = |kind| self.operations.get(kind).copied().unwrap_or_default();
        let (blocking, other): ((u64, u64), (u64, u64)) = (of("send"), of("isend"));
        (blocking.0 + other.0, blocking.1 + other.1)
    }
}

/// How many operations pass between two questions whether to go on.
const ASKS: u64 = 1 << 16;

/// Counts what `tasks` of a program do; loops over a time repeat as often as `laps` says, and once where it says nothing.
///
/// # Errors
/// What is wrong with the program when it runs; `Interrupted` when `goes_on` said no.
pub fn tally(
    program: &Arc<Bound>,
    tasks: Range<u32>,
    laps: &Arc<[u64]>,
    algorithms: &Algorithms,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut count = 0u64;
    for task in tasks {
        let mut performer = program.replayed(task, Arc::clone(laps));
        let mut known = HashMap::new();
        while let Some(operation) = performer.next(&Seen::default())? {
            count += 1;
            if count.is_multiple_of(ASKS) && !goes_on() {
                return Err(Error::new(Kind::Interrupted, "workload program", "counting was stopped"));
            }
            let (kind, bytes) = operation.kind();
            let entry = tally.operations.entry(kind).or_default();
            *entry = (entry.0 + 1, entry.1 + bytes);
            match operation {
                Operation::Send { to, .. } | Operation::Isend { to, .. } => {
                    tally.weigh((task, to), 1);
                }
                Operation::Recv { from: Source::Rank(from), .. }
                | Operation::Irecv { from: Source::Rank(from), .. } => {
                    tally.weigh((from, task), -1);
                }
                _ => {}
            }
            let (messages, bytes) = match operation {
                Operation::Send { bytes, .. } | Operation::Isend { bytes, .. } => (1, bytes),
                Operation::Collective { kind, root, bytes, ref group } => {
                    match known.get(&(kind, root, bytes, group.clone())) {
                        Some(sum) => *sum,
                        None => {
                            let part = Part { kind, root, bytes, group };
                            let sum =
                                sent(&schedule(part, task, program.tasks(), algorithms, Exchange::InTurn)?);
                            known.insert((kind, root, bytes, group.clone()), sum);
                            sum
                        }
                    }
                }
                _ => continue,
            };
            tally.messages = (tally.messages.0 + messages, tally.messages.1 + bytes);
        }
    }
    Ok(tally)
}

fn sent(schedule: &[Operation]) -> (u64, u64) {
    schedule.iter().fold((0, 0), |sum, operation| match operation {
        Operation::Send { bytes, .. } | Operation::Isend { bytes, .. } => (sum.0 + 1, sum.1 + bytes),
        _ => sum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::language::Program;

    #[test]
    fn operations_are_counted_by_kind_and_collectives_by_their_messages() {
        let text = "all tasks t send 2 10 byte messages to task (t+1) mod num_tasks then all tasks reduce 1 byte to all tasks";
        let bound = Arc::new(Program::parse("test", text).unwrap()).bind(4, &[], 1).unwrap();
        let all = tally(&bound, 0..4, &Arc::default(), &Algorithms::default(), || true).unwrap();
        assert_eq!(all.operations.get("send"), Some(&(8, 80)));
        assert_eq!(all.operations.get("recv"), Some(&(8, 80)));
        assert_eq!(all.operations.get("allreduce"), Some(&(4, 4)));
        // Recursive doubling of four: two messages a rank.
        assert_eq!((all.sent(), all.messages), ((8, 80), (16, 88)));
        assert!(all.balance.is_empty());
        let one = tally(&bound, 2..3, &Arc::default(), &Algorithms::default(), || true).unwrap();
        assert_eq!(one.messages, (4, 22));
        assert_eq!(one.balance.into_iter().collect::<Vec<_>>(), [((1, 2), -2), ((2, 3), 2)]);
    }
}
