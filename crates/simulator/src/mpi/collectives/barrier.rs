//! Barrier by dissemination: in round k a rank tells the one 2ᵏ further, and hears from the one 2ᵏ before.
//!
//! Source: D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, Int. J. Parallel Program. 17 (1988).

use super::exchange;
use crate::workload::operation::Operation;

/// What `rank` of `ranks` does.
pub fn barrier(rank: u32, ranks: u32) -> Vec<Operation> {
    let mut schedule = Vec::new();
    let mut distance = 1;
    while distance < ranks {
        exchange(&mut schedule, (rank + distance) % ranks, (rank + ranks - distance) % ranks, 0);
        distance *= 2;
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collectives::tests::run;

    #[test]
    fn every_rank_sends_once_a_round() {
        for (ranks, rounds) in [(1, 0), (2, 1), (3, 2), (8, 3), (300, 9)] {
            assert_eq!(run(ranks, |rank| barrier(rank, ranks)), (u64::from(ranks) * rounds, 0));
        }
    }
}
