//! Allreduce: recursive doubling for little data, Rabenseifner's algorithm (reduce-scatter, then allgather) for much.
//!
//! Ranks beyond a power of two hand their data to a neighbour first and get the result at the end. Source: R. Thakur,
//! R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH, Int. J. High Perform. Comput.
//! Appl. 19 (2005).

use super::{exchange, receive, send};
use crate::workload::operation::Operation;

/// Up to here the whole data are exchanged in every step.
const SHORT: u64 = 81_920;

/// What `rank` of `ranks` does.
pub fn allreduce(rank: u32, ranks: u32, bytes: u64) -> Vec<Operation> {
    let mut schedule = Vec::new();
    let power = 1 << ranks.ilog2();
    let beyond = ranks - power;
    // Of the first 2 · beyond ranks the odd ones take part, for two.
    let paired = rank < 2 * beyond;
    if paired && rank.is_multiple_of(2) {
        send(&mut schedule, rank + 1, bytes);
        receive(&mut schedule, rank + 1);
        return schedule;
    }
    if paired {
        receive(&mut schedule, rank - 1);
    }
    let place = if paired { rank / 2 } else { rank - beyond };
    let rank_at = |place: u32| if place < beyond { 2 * place + 1 } else { place + beyond };
    let steps = power.ilog2();
    if bytes <= SHORT || bytes < u64::from(power) {
        for step in 0..steps {
            let partner = rank_at(place ^ (1 << step));
            exchange(&mut schedule, partner, partner, bytes);
        }
    } else {
        // Blocks of equal size, the last with what is left; a rank keeps those whose numbers agree with its place so far.
        let start =
            |block: u32| if block == power { bytes } else { u64::from(block) * (bytes / u64::from(power)) };
        let mut kept = Vec::new();
        let (mut first, mut count) = (0, power);
        for step in 0..steps {
            let partner = rank_at(place ^ (1 << step));
            count /= 2;
            let upper = place >> step & 1 == 1;
            let given = if upper { first } else { first + count };
            exchange(&mut schedule, partner, partner, start(given + count) - start(given));
            first += if upper { count } else { 0 };
            kept.push((partner, first, count));
        }
        for (partner, first, count) in kept.into_iter().rev() {
            exchange(&mut schedule, partner, partner, start(first + count) - start(first));
        }
    }
    if paired {
        send(&mut schedule, rank - 1, bytes);
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collectives::tests::run;

    #[test]
    fn little_data_travel_whole_in_every_step() {
        // 300 ranks: 44 beyond 256 hand over and get back; the others exchange eight times.
        assert_eq!(run(300, |rank| allreduce(rank, 300, 8)), (2 * 44 + 256 * 8, (2 * 44 + 256 * 8) * 8));
        assert_eq!(run(8, |rank| allreduce(rank, 8, 81_920)).0, 8 * 3);
        assert_eq!(run(1, |rank| allreduce(rank, 1, 8)), (0, 0));
    }

    #[test]
    fn much_data_travel_in_halves_and_come_back() {
        // The reference's CosmoFlow: five of these are 88,255,232,000 bytes in 20,920 sends.
        let (messages, bytes) = run(300, |rank| allreduce(rank, 300, 7_379_200 * 4));
        assert_eq!((5 * messages, 5 * bytes), (20_920, 88_255_232_000));
        // Each of p ranks sends (p − 1) / p of the data twice.
        assert_eq!(run(8, |rank| allreduce(rank, 8, 800_000)), (8 * 6, 8 * 2 * 700_000));
        // Data that cannot be shared evenly: the blocks still add up.
        assert_eq!(run(4, |rank| allreduce(rank, 4, 100_003)).1, 6 * 100_003);
    }
}
