//! Collectives as schedules: the sends and receives of one rank, in order. One algorithm, one file.

mod allreduce;
mod barrier;

use crate::workload::operation::{Operation, Source, Tag};
pub use allreduce::allreduce;
pub use barrier::barrier;

/// The tag of all messages of collectives; ranks call collectives in the same order, so that messages cannot be confused.
pub const TAG: Tag = Tag::MAX;

/// Sends to `to`, then receives from `from`: what the published artifact makes of a send-receive.
fn exchange(schedule: &mut Vec<Operation>, to: u32, from: u32, bytes: u64) {
    send(schedule, to, bytes);
    receive(schedule, from);
}

fn send(schedule: &mut Vec<Operation>, to: u32, bytes: u64) {
    schedule.push(Operation::Send { to, bytes, tag: TAG });
}

fn receive(schedule: &mut Vec<Operation>, from: u32) {
    schedule.push(Operation::Recv { from: Source::Rank(from), tag: Some(TAG) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// Runs the schedules of `ranks` ranks with messages that arrive at once; messages and bytes that were sent.
    pub(super) fn run(ranks: u32, schedule: impl Fn(u32) -> Vec<Operation>) -> (u64, u64) {
        let mut left: Vec<VecDeque<Operation>> = (0..ranks).map(|rank| schedule(rank).into()).collect();
        let mut there: HashMap<(u32, u32), u64> = HashMap::new();
        let (mut messages, mut bytes) = (0, 0);
        loop {
            let mut moved = false;
            for rank in 0..ranks {
                while let Some(operation) = left[rank as usize].front().copied() {
                    match operation {
                        Operation::Send { to, bytes: size, .. } => {
                            assert!(to < ranks && to != rank);
                            *there.entry((rank, to)).or_default() += 1;
                            messages += 1;
                            bytes += size;
                        }
                        Operation::Recv { from: Source::Rank(from), .. } => {
                            let waiting = there.entry((from, rank)).or_default();
                            if *waiting == 0 {
                                break;
                            }
                            *waiting -= 1;
                        }
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
        assert!(left.iter().all(VecDeque::is_empty), "a schedule waits for what nobody sends");
        assert!(there.values().all(|count| *count == 0), "a message that nobody receives");
        (messages, bytes)
    }
}
