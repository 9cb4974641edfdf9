//! Count, least, greatest and sum of an array.
//!
//! A sum of integers is exact. One of floats is taken over blocks in lanes and over the blocks with compensation
//! (Neumaier 1974), so that its relative error stays within some units in the last place whatever the number of values.

use super::rows::{Block, Rows};
use super::with_number;
use crate::array::{Shape, Strides};
use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};

/// A value of an array, without loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Number {
    /// Of bool, int or uint.
    Whole(i128),
    /// Of float.
    Real(f64),
}

impl Number {
    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }
}

/// A sum: exact for integers; for floats with what was lost to rounding beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sum {
    /// Of integers.
    Whole(i128),
    /// Of floats: the sum, and what to add to it.
    Real(f64, f64),
}

impl Sum {
    /// The sum as a float.
    pub fn to_f64(self) -> f64 {
        match self {
            Sum::Whole(sum) => sum as f64,
            // a sum that is not finite has lost nothing that could be added
            Sum::Real(sum, lost) => {
                if sum.is_finite() {
                    sum + lost
                } else {
                    sum
                }
            }
        }
    }

    fn plus(self, other: Sum) -> Sum {
        match (self, other) {
            (Sum::Whole(a), Sum::Whole(b)) => Sum::Whole(a + b),
            (Sum::Real(a, lost_a), Sum::Real(b, lost_b)) => {
                let sum = a + b;
                let lost = if a.abs() >= b.abs() { (a - sum) + b } else { (b - sum) + a };
                Sum::Real(sum, lost + lost_a + lost_b)
            }
            (a, b) => Sum::Real(a.to_f64(), 0.0).plus(Sum::Real(b.to_f64(), 0.0)),
        }
    }
}

/// What is known of the values of an array, or of several pieces of one after `merge`.
///
/// As in NumPy a NaN among the values makes least, greatest and sum NaN.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values there are.
    pub count: u64,
    /// The least; none of no values.
    pub min: Option<Number>,
    /// The greatest; none of no values.
    pub max: Option<Number>,
    /// The sum of all.
    pub sum: Sum,
}

impl Summary {
    /// Summarises the array at `from`; `shape` and `strides` (bytes, of any sign or zero) as for `gather`.
    ///
    /// # Errors
    /// `DType` unless the elements are bool, int or uint of 8 to 64 bits, or float of 32 or 64; `Shape` when there is not
    /// one stride for each axis.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `from` must be readable.
    pub unsafe fn of(shape: &Shape, from: *const u8, strides: &Strides) -> Result<Summary> {
        let (rows, from) = Rows::of(shape, from, strides)?;
        macro_rules! summarised {
            ($number:ty) => {{
                let mut all = <$number>::NOTHING;
                // SAFETY: the caller's promise.
                unsafe { rows.blocks::<$number>(from, |block| all = all.merge(&<$number>::summary(&block))) };
                Ok(all)
            }};
        }
        with_number!(shape, summarised)
    }

    /// What is known of the values of both pieces.
    pub fn merge(&self, other: &Summary) -> Summary {
        let pick = |a: Option<Number>, b: Option<Number>, least: bool| match (a, b) {
            (Some(Number::Whole(a)), Some(Number::Whole(b))) => {
                Some(Number::Whole(if least { a.min(b) } else { a.max(b) }))
            }
            (Some(a), Some(b)) => {
                let (a, b) = (a.to_f64(), b.to_f64());
                let first = a.is_nan() || (!b.is_nan() && if least { a <= b } else { a >= b });
                Some(Number::Real(if first { a } else { b }))
            }
            (a, b) => a.or(b),
        };
        let sum = match (self.count, other.count) {
            (0, _) => other.sum,
            (_, 0) => self.sum,
            _ => self.sum.plus(other.sum),
        };
        Summary {
            count: self.count + other.count,
            min: pick(self.min, other.min, true),
            max: pick(self.max, other.max, false),
            sum,
        }
    }

    /// The mean; none of no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.to_f64() / self.count as f64)
    }
}

/// Lanes that are summed side by side, as vector registers do.
const LANES: usize = 16;

/// A type of elements that can be reduced.
pub(super) trait Reduced: Copy {
    const NOTHING: Summary;
    fn to_f64(self) -> f64;
    fn summary(block: &Block<'_, Self>) -> Summary;
}

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl Reduced for $number {
            const NOTHING: Summary = Summary { count: 0, min: None, max: None, sum: Sum::Whole(0) };
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn summary(block: &Block<'_, $number>) -> Summary {
                let (mut min, mut max) = (<$number>::MAX, <$number>::MIN);
                // both halves apart, so that neither can overflow and both are summed in vector registers
                let (mut low, mut high) = (0u64, 0i64);
                block.each(|value| {
                    min = min.min(value);
                    max = max.max(value);
                    low += (value as u64) & 0xffff_ffff;
                    high += if <$number>::BITS == 64 && <$number>::MIN == 0 {
                        (value as u64 >> 32) as i64
                    } else {
                        value as i64 >> 32
                    };
                });
                Summary {
                    count: block.0.len() as u64,
                    min: Some(Number::Whole(min as i128)),
                    max: Some(Number::Whole(max as i128)),
                    sum: Sum::Whole(((high as i128) << 32) + low as i128),
                }
            }
        }
    )*};
}

macro_rules! real {
    ($($number:ty),*) => {$(
        impl Reduced for $number {
            const NOTHING: Summary = Summary { count: 0, min: None, max: None, sum: Sum::Real(0.0, 0.0) };
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn summary(block: &Block<'_, $number>) -> Summary {
                let mut lanes = [(<$number>::INFINITY, <$number>::NEG_INFINITY, 0.0f64, false); LANES];
                let mut take = |lane: usize, value: $number| {
                    let (min, max, sum, nan) = lanes[lane];
                    lanes[lane] = (
                        if value < min { value } else { min },
                        if value > max { value } else { max },
                        sum + f64::from(value),
                        nan | value.is_nan(),
                    );
                };
                let chunks = block.0.chunks_exact(LANES);
                let rest = chunks.remainder();
                for chunk in chunks {
                    for (lane, value) in chunk.iter().enumerate() {
                        take(lane, *value);
                    }
                }
                for (lane, value) in rest.iter().enumerate() {
                    take(lane, *value);
                }
                let (mut min, mut max, mut sum, mut nan) = (lanes[0].0, lanes[0].1, Sum::Real(0.0, 0.0), false);
                for lane in lanes {
                    min = min.min(lane.0);
                    max = max.max(lane.1);
                    sum = sum.plus(Sum::Real(lane.2, 0.0));
                    nan |= lane.3;
                }
                let real = |value: $number| Some(Number::Real(if nan { f64::NAN } else { f64::from(value) }));
                Summary { count: block.0.len() as u64, min: real(min), max: real(max), sum }
            }
        }
    )*};
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);
real!(f32, f64);
