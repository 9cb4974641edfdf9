//! Alltoall: a pair at a time for much data, in blocks of messages at once for little.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High
//! Perform. Comput. Appl. 19 (2005), section 4.3.

use super::Steps;

/// Messages that are under way at once.
const BLOCK: u32 = 32;

/// In each round every rank exchanges with one other, so that no two send to the same.
pub(super) fn pairwise(steps: &mut Steps) {
    let power = steps.size.is_power_of_two();
    for round in 1..steps.size {
        let (to, from) = if power {
            (steps.place ^ round, steps.place ^ round)
        } else {
            (steps.onward(round), steps.behind(round))
        };
        steps.exchange(to, steps.bytes, from, steps.bytes);
    }
}

/// Receives and sends of a block begin together, and all end before the next block.
pub(super) fn blocks(steps: &mut Steps) {
    let mut first = 1;
    while first < steps.size {
        let block = first..steps.size.min(first + BLOCK);
        for distance in block.clone() {
            steps.begin_receive(steps.onward(distance), steps.bytes);
        }
        for distance in block.clone() {
            steps.begin_send(steps.behind(distance), steps.bytes);
        }
        steps.wait();
        first = block.end;
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::{AlltoallBlocks, AlltoallPairwise};
    use crate::workload::operation::Collective::Alltoall;
    use crate::workload::operation::Operation;

    #[test]
    fn everyone_exchanges_with_everyone_a_pair_at_a_time() {
        assert_eq!(words(&of(Alltoall, AlltoallPairwise, 1, 4, 0, 5)), ">0:5 <0:5 >3:5 <3:5 >2:5 <2:5");
        assert_eq!(words(&of(Alltoall, AlltoallPairwise, 0, 3, 0, 5)), ">1:5 <2:5 >2:5 <1:5");
        for ranks in [1, 2, 7, 8, 50] {
            let pairs = u64::from(ranks) * u64::from(ranks - 1);
            assert_eq!(run(Alltoall, AlltoallPairwise, ranks, 5), (pairs, pairs * 5));
        }
    }

    #[test]
    fn blocks_have_32_messages_at_once() {
        assert_eq!(words(&of(Alltoall, AlltoallBlocks, 0, 3, 0, 5)), "<1:5 <2:5 >2:5 >1:5");
        let schedule = of(Alltoall, AlltoallBlocks, 3, 50, 0, 5);
        // 49 others: a block of 32, then one of 17, each waited for.
        let waits: Vec<usize> =
            (0..schedule.len()).filter(|place| matches!(schedule[*place], Operation::Wait { .. })).collect();
        assert_eq!((waits.len(), waits[0], waits[63], waits[64]), (98, 64, 127, 128 + 34));
    }
}
