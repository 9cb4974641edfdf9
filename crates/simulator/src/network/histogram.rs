//! A distribution of durations in buckets that are 1/32 of their value wide.

use crate::engine::Picos;

const SUB_BITS: u32 = 5;
const SUB: u64 = 1 << SUB_BITS;

/// Counts of durations; quantiles are exact to 3 %, mean and maximum are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    max: Picos,
}

fn bucket(value: u64) -> usize {
    let magnitude = 63 - (value | 1).leading_zeros();
    if magnitude < SUB_BITS {
        return value as usize;
    }
    let shift = magnitude - SUB_BITS;
    ((u64::from(shift) + 1) * SUB + ((value >> shift) - SUB)) as usize
}

/// The largest duration that falls into a bucket.
fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket;
    }
    let shift = bucket / SUB - 1;
    ((bucket % SUB + SUB + 1) << shift) - 1
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn add(&mut self, value: Picos) {
        let bucket = bucket(value.0);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(value.0);
        self.max = self.max.max(value);
    }

    /// Counts all that another one counted.
    pub fn merge(&mut self, other: &Histogram) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += others;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The buckets that are not empty, in order: the longest duration that falls into each, and how many did.
    pub fn buckets(&self) -> impl Iterator<Item = (Picos, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (Picos(upper(bucket)).min(self.max), *count))
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in nanoseconds; zero when none was counted.
    pub fn mean_nanos(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64 * 1e-3
        }
    }

    /// The longest.
    pub fn max(&self) -> Picos {
        self.max
    }

    /// A duration that `share` (0 to 1) of all do not exceed, to 3 %.
    pub fn quantile(&self, share: f64) -> Picos {
        let wanted = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Picos(upper(bucket)).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_distribution_is_zero() {
        let none = Histogram::default();
        assert_eq!((none.count(), none.mean_nanos(), none.quantile(0.5)), (0, 0.0, Picos::ZERO));
    }

    proptest! {
        #[test]
        fn two_distributions_together_are_that_of_all_their_values(
            mut values in prop::collection::vec(0u64..1 << 50, 1..50), cut in any::<prop::sample::Index>()
        ) {
            let of = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|value| histogram.add(Picos(*value)));
                histogram
            };
            let (whole, cut) = (of(&values), cut.index(values.len()));
            let mut joined = of(&values[..cut]);
            joined.merge(&of(&values[cut..]));
            prop_assert_eq!(&joined, &whole);
            prop_assert_eq!(whole.buckets().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            values.sort_unstable();
            prop_assert_eq!(whole.buckets().last().map(|(upper, _)| upper), Some(whole.max()));
        }

        #[test]
        fn a_quantile_is_within_a_bucket_of_the_sorted_values(mut values in prop::collection::vec(0u64..1 << 50, 1..200), share in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(Picos(*value));
            }
            values.sort_unstable();
            let exact = values[((values.len() as f64 * share).ceil() as usize).clamp(1, values.len()) - 1];
            let found = histogram.quantile(share).0;
            prop_assert!(found >= exact && found as f64 <= exact as f64 * (1.0 + 1.0 / 32.0) + 1.0, "{found} {exact}");
        }
    }
}
