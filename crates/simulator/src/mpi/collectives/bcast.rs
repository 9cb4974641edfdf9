//! Bcast: along a binomial tree for little data; for much, pieces along the tree, which all then gather.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High
//! Perform. Comput. Appl. 19 (2005), section 4.

use super::Steps;

/// The whole data go down the tree: in each round every rank that has them sends to one that has not.
pub(super) fn binomial(steps: &mut Steps) {
    let bytes = steps.bytes;
    down_the_tree(steps, |_, _| bytes);
}

/// Pieces go down the tree, then a ring of sends brings every piece to every rank.
pub(super) fn scatter_ring(steps: &mut Steps) {
    let pieces = Pieces::of(steps);
    scatter(steps, pieces);
    let relative = relative(steps);
    let piece = |distance: u32| pieces.bytes((relative + steps.size - distance) % steps.size, 1);
    let rounds: Vec<(u64, u64)> = (1..steps.size).map(|round| (piece(round - 1), piece(round))).collect();
    for (sent, received) in rounds {
        steps.exchange(steps.onward(1), sent, steps.behind(1), received);
    }
}

/// Pieces go down the tree, then pairs exchange all that they have, with twice the distance in each round.
pub(super) fn scatter_allgather(steps: &mut Steps) {
    let pieces = Pieces::of(steps);
    scatter(steps, pieces);
    let relative = relative(steps);
    let mut count = 1;
    while count < steps.size {
        let partner = relative ^ count;
        let own = pieces.bytes(relative / count * count, count);
        let other = pieces.bytes(partner / count * count, count);
        let there = (partner + steps.root) % steps.size;
        steps.exchange(there, own, there, other);
        count *= 2;
    }
}

/// Data cut into as many pieces as there are ranks; the last ones may be short or empty.
#[derive(Clone, Copy)]
struct Pieces {
    piece: u64,
    bytes: u64,
}

impl Pieces {
    fn of(steps: &Steps) -> Pieces {
        Pieces { piece: steps.bytes.div_ceil(u64::from(steps.size)), bytes: steps.bytes }
    }

    /// The bytes of `count` pieces from the one numbered `first`.
    fn bytes(self, first: u32, count: u32) -> u64 {
        let start = |piece: u32| (u64::from(piece) * self.piece).min(self.bytes);
        start(first + count) - start(first)
    }
}

fn scatter(steps: &mut Steps, pieces: Pieces) {
    down_the_tree(steps, |first, count| pieces.bytes(first, count));
}

/// The place as the root counts.
fn relative(steps: &Steps) -> u32 {
    (steps.place + steps.size - steps.root) % steps.size
}

/// Hears from the parent and sends to the children, the farthest first; `bytes` says how much the subtree of a rank, and so many
/// places behind it, gets. Nothing is sent for nothing, but where the whole is empty.
fn down_the_tree(steps: &mut Steps, bytes: impl Fn(u32, u32) -> u64) {
    let (relative, size) = (relative(steps), steps.size);
    let there = |relative: u32| (relative + steps.root) % size;
    let whole = steps.bytes;
    let mut reach = 1;
    while reach < size && relative & reach == 0 {
        reach *= 2;
    }
    let mut found = Vec::new();
    if relative != 0 {
        found.push((there(relative - reach), bytes(relative, reach.min(size - relative)), true));
    }
    while reach > 1 {
        reach /= 2;
        let child = relative + reach;
        if child < size {
            found.push((there(child), bytes(child, reach.min(size - child)), false));
        }
    }
    for (other, bytes, hears) in found.into_iter().filter(|(_, bytes, _)| *bytes > 0 || whole == 0) {
        if hears {
            steps.receive(other, bytes);
        } else {
            steps.send(other, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::{BcastBinomial, BcastScatterAllgather, BcastScatterRing};
    use crate::workload::operation::Collective::Bcast;

    #[test]
    fn the_tree_brings_the_whole_to_everyone_once() {
        // From 0 of six: 4, 2 and 1; 4 tells 5, 2 tells 3.
        assert_eq!(words(&of(Bcast, BcastBinomial, 0, 6, 0, 10)), ">4:10 >2:10 >1:10");
        assert_eq!(words(&of(Bcast, BcastBinomial, 4, 6, 0, 10)), "<0:10 >5:10");
        assert_eq!(words(&of(Bcast, BcastBinomial, 3, 6, 0, 10)), "<2:10");
        // From 4 of six, everybody two places further: 4 tells 2, 0 and 5.
        assert_eq!(words(&of(Bcast, BcastBinomial, 4, 6, 4, 10)), ">2:10 >0:10 >5:10");
        for ranks in [1, 2, 3, 7, 8, 300] {
            let others = u64::from(ranks) - 1;
            assert_eq!(run(Bcast, BcastBinomial, ranks, 10), (others, others * 10));
            assert_eq!(run(Bcast, BcastBinomial, ranks, 0), (others, 0));
        }
    }

    #[test]
    fn pieces_go_down_the_tree_and_around_the_ring() {
        // 10 bytes in pieces of 3, 3, 3, 1: two of them to rank 2, one to rank 1; then three rounds.
        assert_eq!(
            words(&of(Bcast, BcastScatterRing, 0, 4, 0, 10)),
            ">2:4 >1:3 >1:3 <3:1 >1:1 <3:3 >1:3 <3:3"
        );
        // A ring of p ranks moves all but one piece to each: (p − 1) times the data, beside the scattering.
        assert_eq!(run(Bcast, BcastScatterRing, 5, 1000).1, 4 * 1000 + 200 * (4 + 1));
        run(Bcast, BcastScatterRing, 300, 1_000_003);
    }

    #[test]
    fn pieces_go_down_the_tree_and_double() {
        assert_eq!(words(&of(Bcast, BcastScatterAllgather, 0, 4, 0, 10)), ">2:4 >1:3 >1:3 <1:3 >2:6 <2:4");
        assert_eq!(run(Bcast, BcastScatterAllgather, 8, 800).0, 7 + 8 * 3);
        // Fewer bytes than ranks: some pieces are empty and still take part in the gathering.
        run(Bcast, BcastScatterAllgather, 16, 5);
    }
}
