//! Allgather: around a ring for much data, by doubling or in Bruck's way for little.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High
//! Perform. Comput. Appl. 19 (2005), section 4.1.

use super::Steps;

/// In each round a rank sends on what it got in the round before.
pub(super) fn ring(steps: &mut Steps) {
    for _ in 1..steps.size {
        steps.exchange(steps.onward(1), steps.bytes, steps.behind(1), steps.bytes);
    }
}

/// In round k pairs at distance 2ᵏ exchange all that they have.
pub(super) fn recursive_doubling(steps: &mut Steps) {
    let mut distance = 1;
    while distance < steps.size {
        let partner = steps.place ^ distance;
        let bytes = steps.bytes * u64::from(distance);
        steps.exchange(partner, bytes, partner, bytes);
        distance *= 2;
    }
}

/// In round k a rank sends all that it has to the one 2ᵏ before; the last round only what is missing.
pub(super) fn bruck(steps: &mut Steps) {
    let mut distance = 1;
    while distance < steps.size {
        let bytes = steps.bytes * u64::from(distance.min(steps.size - distance));
        steps.exchange(steps.behind(distance), bytes, steps.onward(distance), bytes);
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::{AllgatherBruck, AllgatherRecursiveDoubling, AllgatherRing};
    use crate::workload::operation::Collective::Allgather;

    #[test]
    fn everyone_gets_the_data_of_all_others() {
        assert_eq!(words(&of(Allgather, AllgatherRing, 1, 3, 0, 7)), ">2:7 <0:7 >2:7 <0:7");
        assert_eq!(words(&of(Allgather, AllgatherRecursiveDoubling, 2, 4, 0, 7)), ">3:7 <3:7 >0:14 <0:14");
        assert_eq!(words(&of(Allgather, AllgatherBruck, 0, 5, 0, 7)), ">4:7 <1:7 >3:14 <2:14 >1:7 <4:7");
        for (algorithm, ranks, rounds) in [
            (AllgatherRing, 9, 8),
            (AllgatherRecursiveDoubling, 16, 4),
            (AllgatherBruck, 9, 4),
            (AllgatherBruck, 300, 9),
        ] {
            let count = u64::from(ranks);
            assert_eq!(run(Allgather, algorithm, ranks, 10), (count * rounds, count * (count - 1) * 10));
        }
    }
}
