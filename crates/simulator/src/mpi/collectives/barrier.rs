//! Barrier by dissemination: in round k a rank tells the one 2ᵏ further, and hears from the one 2ᵏ before.
//!
//! Source: D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, Int. J. Parallel Program. 17 (1988).

use super::Steps;

pub(super) fn dissemination(steps: &mut Steps) {
    let mut distance = 1;
    while distance < steps.size {
        steps.exchange(steps.onward(distance), 0, steps.behind(distance), 0);
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::BarrierDissemination;
    use crate::workload::operation::Collective::Barrier;

    #[test]
    fn every_rank_sends_once_a_round() {
        for (ranks, rounds) in [(1, 0), (2, 1), (3, 2), (8, 3), (300, 9)] {
            assert_eq!(run(Barrier, BarrierDissemination, ranks, 0), (u64::from(ranks) * rounds, 0));
        }
        // Of five, rank 1 tells 2, 3 and 0, and hears from 0, 4 and 2.
        assert_eq!(words(&of(Barrier, BarrierDissemination, 1, 5, 0, 0)), ">2:0 <0:0 >3:0 <4:0 >0:0 <2:0");
    }
}
