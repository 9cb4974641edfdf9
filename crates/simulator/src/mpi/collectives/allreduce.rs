//! Allreduce: recursive doubling for little data, Rabenseifner's algorithm (reduce-scatter, then allgather) for much, or a ring.
//!
//! Ranks beyond a power of two hand their data to a neighbour first and get the result at the end. Source: R. Thakur,
//! R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High Perform. Comput.
//! Appl. 19 (2005); the ring: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
//! J. Parallel Distrib. Comput. 69 (2009).

use super::Steps;

/// The whole data are exchanged in every step.
pub(super) fn recursive_doubling(steps: &mut Steps) {
    folded(steps, |steps, place, steps_of, rank_at| {
        for step in 0..steps_of {
            let partner = rank_at(place ^ (1 << step));
            steps.exchange(partner, steps.bytes, partner, steps.bytes);
        }
    });
}

/// Halves of halves are exchanged and combined, and come back the same way.
pub(super) fn rabenseifner(steps: &mut Steps) {
    folded(steps, |steps, place, steps_of, rank_at| {
        let power = 1 << steps_of;
        // Blocks of equal size, the last with what is left; a rank keeps those whose numbers agree with its place so far.
        let bytes = steps.bytes;
        let start =
            |block: u32| if block == power { bytes } else { u64::from(block) * (bytes / u64::from(power)) };
        let size = |first: u32, count: u32| start(first + count) - start(first);
        let mut kept = Vec::new();
        let (mut first, mut count) = (0, power);
        for step in 0..steps_of {
            let partner = rank_at(place ^ (1 << step));
            count /= 2;
            let upper = place >> step & 1 == 1;
            let (own, other) = if upper { (first + count, first) } else { (first, first + count) };
            steps.exchange(partner, size(other, count), partner, size(own, count));
            first = own;
            kept.push((partner, own, other, count));
        }
        for (partner, own, other, count) in kept.into_iter().rev() {
            steps.exchange(partner, size(own, count), partner, size(other, count));
        }
    });
}

/// Blocks travel around a ring and are combined on the way; then the combined ones travel once more.
pub(super) fn ring(steps: &mut Steps) {
    let (size, bytes) = (steps.size, steps.bytes);
    let start = |block: u32| bytes * u64::from(block) / u64::from(size);
    let block = |block: u32| start(block + 1) - start(block);
    // A rank that has sent block b in a round sends the one that it received, b − 1, in the next.
    for first in [0, 1] {
        for round in 1..size {
            let sent = block(steps.behind(size + round - 1 - first));
            let received = block(steps.behind(size + round - first));
            steps.exchange(steps.onward(1), sent, steps.behind(1), received);
        }
    }
}

/// Ranks beyond a power of two hand over to a neighbour and get the result; the others do `body` with their place among them, the
/// number of steps, and the rank at a place.
fn folded(steps: &mut Steps, body: impl FnOnce(&mut Steps, u32, u32, &dyn Fn(u32) -> u32)) {
    let power = 1 << steps.size.ilog2();
    let beyond = steps.size - power;
    let (rank, bytes) = (steps.place, steps.bytes);
    // Of the first 2 · beyond ranks the odd ones take part, for two.
    let paired = rank < 2 * beyond;
    if paired && rank.is_multiple_of(2) {
        steps.send(rank + 1, bytes);
        return steps.receive(rank + 1, bytes);
    }
    if paired {
        steps.receive(rank - 1, bytes);
    }
    let place = if paired { rank / 2 } else { rank - beyond };
    body(steps, place, power.ilog2(), &|place| if place < beyond { 2 * place + 1 } else { place + beyond });
    if paired {
        steps.send(rank - 1, bytes);
    }
}

#[cfg(test)]
mod tests {
    use crate::mpi::collectives::tests::{of, run, words};
    use crate::mpi::collectives::Algorithm::{
        AllreduceRabenseifner, AllreduceRecursiveDoubling, AllreduceRing,
    };
    use crate::workload::operation::Collective::Allreduce;

    #[test]
    fn little_data_travel_whole_in_every_step() {
        let run = |ranks, bytes| run(Allreduce, AllreduceRecursiveDoubling, ranks, bytes);
        // 300 ranks: 44 beyond 256 hand over and get back; the others exchange eight times.
        assert_eq!(run(300, 8), (2 * 44 + 256 * 8, (2 * 44 + 256 * 8) * 8));
        assert_eq!(run(8, 81_920).0, 8 * 3);
        assert_eq!(run(1, 8), (0, 0));
        // Of six, 0 hands over to 1, which exchanges with 3 (for 2 and 3), then with 4.
        let words = |place| words(&of(Allreduce, AllreduceRecursiveDoubling, place, 6, 0, 9));
        assert_eq!(words(0), ">1:9 <1:9");
        assert_eq!(words(1), "<0:9 >3:9 <3:9 >4:9 <4:9 >0:9");
        assert_eq!(words(5), ">4:9 <4:9 >3:9 <3:9");
    }

    #[test]
    fn much_data_travel_in_halves_and_come_back() {
        let run = |ranks, bytes| run(Allreduce, AllreduceRabenseifner, ranks, bytes);
        // The reference's CosmoFlow: five of these are 88,255,232,000 bytes in 20,920 sends.
        let (messages, bytes) = run(300, 7_379_200 * 4);
        assert_eq!((5 * messages, 5 * bytes), (20_920, 88_255_232_000));
        // Each of p ranks sends (p − 1) / p of the data twice.
        assert_eq!(run(8, 800_000), (8 * 6, 8 * 2 * 700_000));
        // Data that cannot be shared evenly: the blocks still add up.
        assert_eq!(run(4, 100_003).1, 6 * 100_003);
        // Rank 1 of four with 10 bytes in blocks of 2, 2, 2, 4: it keeps the upper half, then its lower part, and gives back.
        assert_eq!(
            words(&of(Allreduce, AllreduceRabenseifner, 1, 4, 0, 10)),
            ">0:4 <0:6 >3:4 <3:2 >3:2 <3:4 >0:6 <0:4"
        );
    }

    #[test]
    fn a_ring_moves_every_block_twice_around() {
        // Blocks of 3, 3 and 4 bytes; rank 0 sends its own first, and last what came last.
        assert_eq!(
            words(&of(Allreduce, AllreduceRing, 0, 3, 0, 10)),
            ">1:3 <2:4 >1:4 <2:3 >1:3 <2:3 >1:3 <2:4"
        );
        assert_eq!(run(Allreduce, AllreduceRing, 8, 800_000), (8 * 14, 8 * 2 * 700_000));
        assert_eq!(run(Allreduce, AllreduceRing, 300, 1_000_003).1, 299 * 2 * 1_000_003);
        assert_eq!(run(Allreduce, AllreduceRing, 1, 5), (0, 0));
    }
}
