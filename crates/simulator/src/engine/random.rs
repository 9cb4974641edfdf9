//! Random numbers without state: a number is a function of the seed, of who draws, and of what for.
//!
//! So it does not matter in which order, or on which thread, numbers are drawn. The mixing is that of SplitMix64
//! (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), applied twice.

use super::Picos;

/// What random numbers are drawn for; two purposes never share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The gap before a message of synthetic traffic.
    Gap = 1,
    /// The destination of a message of synthetic traffic.
    Destination,
    /// The small delay of a message from its node to the network interface.
    Handing,
    /// The small delay of a message within the interface.
    Entering,
    /// A step of a packet's route.
    Route,
    /// The order of nodes in a random placement.
    Placement,
    /// A random number in a program of the workload language.
    Program,
    /// The rotational latency of a disk.
    Rotation,
    /// The small time between two calls of a node.
    Calling,
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64 random bits for `purpose` of `entity`, the `count`-th time.
pub fn bits(seed: u64, purpose: Purpose, entity: u64, count: u64) -> u64 {
    let stream = mixed(seed ^ (purpose as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(entity);
    mixed(mixed(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ count.wrapping_mul(0xd1b5_4a32_d192_ed03))
}

/// A number below `bound` (which is not zero) from random bits.
pub fn below(bits: u64, bound: u32) -> u32 {
    (((bits >> 32) * u64::from(bound)) >> 32) as u32
}

/// A number in [0, 1) from random bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// An exponentially distributed duration with `mean`, from random bits.
pub fn exponential(bits: u64, mean: Picos) -> Picos {
    Picos((-(1.0 - unit(bits)).ln() * mean.0 as f64) as u64)
}

/// A duration evenly distributed between `from` and `to`, from random bits.
pub fn between(bits: u64, from: Picos, to: Picos) -> Picos {
    Picos(from.0 + (unit(bits) * (to.0 - from.0) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_seed_purpose_entity_and_count_alone() {
        let draw = bits(7, Purpose::Gap, 3, 5);
        assert_eq!(draw, bits(7, Purpose::Gap, 3, 5));
        for other in [
            bits(8, Purpose::Gap, 3, 5),
            bits(7, Purpose::Route, 3, 5),
            bits(7, Purpose::Gap, 4, 5),
            bits(7, Purpose::Gap, 3, 6),
        ] {
            assert_ne!(draw, other);
        }
    }

    #[test]
    fn draws_are_even_over_a_range_and_over_entities() {
        let mut counts = [0u32; 33];
        for entity in 0..1000 {
            for count in 0..330 {
                counts[below(bits(1, Purpose::Destination, entity, count), 33) as usize] += 1;
            }
        }
        // 10,000 expected each, with a standard deviation of 98.
        assert!(counts.iter().all(|&n| (9500..10500).contains(&n)), "{counts:?}");
    }

    #[test]
    fn exponential_gaps_have_their_mean() {
        let mean = Picos(2_000_000);
        let sum: u64 = (0..100_000).map(|count| exponential(bits(1, Purpose::Gap, 0, count), mean).0).sum();
        let measured = sum as f64 / 100_000.0;
        assert!((measured / 2e6 - 1.0).abs() < 0.02, "{measured}");
    }
}
