//! Reduce along a binomial tree: in each round half of those that are left hand over what they have combined.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High
//! Perform. Comput. Appl. 19 (2005), section 5. The operation is taken to be commutative.

use super::Steps;

pub(super) fn binomial(steps: &mut Steps) {
    let relative = (steps.place + steps.size - steps.root) % steps.size;
    let there = |relative: u32, steps: &Steps| (relative + steps.root) % steps.size;
    let mut distance = 1;
    while distance < steps.size {
        if relative & distance != 0 {
            return steps.send(there(relative - distance, steps), steps.bytes);
        }
        if relative + distance < steps.size {
            steps.receive(there(relative + distance, steps), steps.bytes);
        }
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::ReduceBinomial;
    use crate::workload::operation::Collective::Reduce;

    #[test]
    fn everyone_but_the_root_hands_over_once() {
        assert_eq!(words(&of(Reduce, ReduceBinomial, 0, 6, 0, 8)), "<1:8 <2:8 <4:8");
        assert_eq!(words(&of(Reduce, ReduceBinomial, 4, 6, 0, 8)), "<5:8 >0:8");
        assert_eq!(words(&of(Reduce, ReduceBinomial, 1, 6, 5, 8)), "<2:8 >5:8");
        for ranks in [1, 2, 7, 300] {
            let others = u64::from(ranks) - 1;
            assert_eq!(run(Reduce, ReduceBinomial, ranks, 8), (others, others * 8));
        }
    }
}
