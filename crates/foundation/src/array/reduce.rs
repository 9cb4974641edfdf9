//! Reductions over a strided array: count, least, greatest, sum and histogram, in pieces that can be merged.
//!
//! A sum of integers is exact. One of floats is taken over blocks in lanes and over the blocks with compensation
//! (Neumaier 1974), so that its relative error stays within some units in the last place whatever the number of values.

use super::relayout::{each, Axes, Axis};
use super::{Shape, Strides};
use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};

/// Expands `$with!(type)` for the element type of `$shape`.
macro_rules! with_number {
    ($shape:expr, $with:ident) => {
        match ($shape.dtype().kind(), $shape.dtype().size()) {
            (b'b', 1) | (b'u', 1) => $with!(u8),
            (b'u', 2) => $with!(u16),
            (b'u', 4) => $with!(u32),
            (b'u', 8) => $with!(u64),
            (b'i', 1) => $with!(i8),
            (b'i', 2) => $with!(i16),
            (b'i', 4) => $with!(i32),
            (b'i', 8) => $with!(i64),
            (b'f', 4) => $with!(f32),
            (b'f', 8) => $with!(f64),
            _ => {
                let detail = format!(
                    "elements of {}; accepted are bool, int8 to int64, uint8 to uint64, float32 and float64",
                    $shape.dtype()
                );
                Err(Error::new(Kind::DType, "reduce", detail))
            }
        }
    };
}

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

/// How many values lie in each of some bins of equal width, as `numpy.histogram` counts them: a value on an edge belongs to
/// the bin above it, but one on the last edge to the last bin. Values outside the range and NaN are in no bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The first edge.
    pub low: f64,
    /// The last edge.
    pub high: f64,
    /// Values in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// A histogram of nothing, to be added to.
    ///
    /// # Errors
    /// `Invalid` unless `low` < `high`, both finite, and there are 1 to 2^24 bins.
    pub fn new(low: f64, high: f64, bins: usize) -> Result<Histogram> {
        let range = low < high && (high - low).is_finite();
        if range && (1..=1 << 24).contains(&bins) {
            return Ok(Histogram { low, high, counts: vec![0; bins] });
        }
        let detail = format!(
            "{bins} bins from {low} to {high}; accepted are 1 to 2^24 bins over a finite range, low < high"
        );
        Err(Error::new(Kind::Invalid, "histogram", detail))
    }

    /// Counts the array at `from` too; integers of 64 bits count by their nearest float.
    ///
    /// # Errors
    /// As for `Summary::of`.
    ///
    /// # Safety
    /// As for `Summary::of`.
    pub unsafe fn add(&mut self, shape: &Shape, from: *const u8, strides: &Strides) -> Result<()> {
        let (rows, from) = Rows::of(shape, from, strides)?;
        macro_rules! counted {
            ($number:ty) => {{
                let each = |block: Block<'_, $number>| block.each(|value| self.count(value.to_f64()));
                // SAFETY: the caller's promise.
                unsafe { rows.blocks::<$number>(from, each) };
                Ok(())
            }};
        }
        with_number!(shape, counted)
    }

    /// Counts what `other` has counted too.
    ///
    /// # Errors
    /// `Invalid` when range or bins differ.
    pub fn merge(&mut self, other: &Histogram) -> Result<()> {
        let same = |h: &Histogram| (h.low, h.high, h.counts.len());
        if same(self) != same(other) {
            let (mine, theirs) = (same(self), same(other));
            let detail =
                format!("(low, high, bins) of {theirs:?} cannot be merged into {mine:?}; they must agree");
            return Err(Error::new(Kind::Invalid, "histogram", detail));
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        Ok(())
    }

    #[inline(always)]
    fn count(&mut self, value: f64) {
        if !(self.low <= value && value <= self.high) {
            return;
        }
        let bins = self.counts.len();
        let width = (self.high - self.low) / bins as f64;
        let edge = |i: usize| if i == bins { self.high } else { self.low + i as f64 * width };
        let bin = (((value - self.low) / (self.high - self.low) * bins as f64) as usize).min(bins - 1);
        // the quotient is rounded, the edges say where a value belongs
        let bin = if value < edge(bin) {
            bin - 1
        } else if bin + 1 < bins && value >= edge(bin + 1) {
            bin + 1
        } else {
            bin
        };
        self.counts[bin] += 1;
    }
}

/// Values in a block: few enough that lanes lose nothing, enough that the rest costs nothing.
const BLOCK: usize = 1024;

/// Lanes that are summed side by side, as vector registers do.
const LANES: usize = 16;

/// The innermost axis of an array and those around it, in the order of memory.
struct Rows {
    outer: Axes,
    inner: Axis,
}

impl Rows {
    fn of(shape: &Shape, from: *const u8, strides: &Strides) -> Result<(Rows, *const u8)> {
        super::layout::check(shape, strides)?;
        let (mut axes, mut from) = (Axes::NONE, from);
        for (count, stride) in shape.extents().iter().zip(strides).filter(|(count, _)| **count != 1) {
            let axis = Axis { count: *count as usize, from: *stride, to: *stride };
            if *stride < 0 && *count > 0 {
                from = from.wrapping_offset((*stride * (*count as i64 - 1)) as isize);
                axes.push(Axis { from: -stride, to: -stride, ..axis });
            } else {
                axes.push(axis);
            }
        }
        let empty = shape.extents().contains(&0);
        if empty {
            axes = Axes::NONE;
        }
        axes.merge();
        let last = axes.as_slice().len().checked_sub(1);
        let inner = last.map_or(Axis::POINT, |last| axes.remove(last));
        Ok((Rows { outer: axes, inner: if empty { Axis { count: 0, ..inner } } else { inner } }, from))
    }

    /// # Safety
    /// The axes must be those of an array of `T` that begins at `from`.
    unsafe fn blocks<T: Copy>(&self, from: *const u8, mut take: impl FnMut(Block<'_, T>)) {
        let mut buffer = [const { std::mem::MaybeUninit::<T>::uninit() }; BLOCK];
        let size = std::mem::size_of::<T>() as i64;
        each(self.outer.as_slice(), from, std::ptr::null_mut(), |from, _, _| {
            for low in (0..self.inner.count).step_by(BLOCK) {
                let count = BLOCK.min(self.inner.count - low);
                let from = from.wrapping_offset((low as i64 * self.inner.from) as isize);
                if self.inner.from == size && from.cast::<T>().is_aligned() {
                    // SAFETY: so many aligned elements of the caller's array.
                    take(Block(unsafe { std::slice::from_raw_parts(from.cast(), count) }));
                    continue;
                }
                for (i, value) in buffer[..count].iter_mut().enumerate() {
                    // SAFETY: one element of the caller's array.
                    value.write(unsafe {
                        from.offset((i as i64 * self.inner.from) as isize).cast::<T>().read_unaligned()
                    });
                }
                // SAFETY: the first `count` have just been written.
                take(Block(unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast(), count) }));
            }
        });
    }
}

/// Some values behind each other.
struct Block<'a, T>(&'a [T]);

impl<T: Copy> Block<'_, T> {
    fn each(&self, take: impl FnMut(T)) {
        self.0.iter().copied().for_each(take);
    }
}

/// A type of elements that can be reduced.
trait Reduced: Copy {
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

#[cfg(test)]
mod tests {
    use super::super::{DType, Extents, Layout};
    use super::*;
    use proptest::prelude::*;

    fn shape(kind: u8, size: u32, extents: &[u64]) -> Shape {
        Shape::new(DType::new(kind, size).unwrap(), Extents::new(extents).unwrap()).unwrap()
    }

    fn packed<T>(kind: u8, values: &[T]) -> Summary {
        let shape = shape(kind, std::mem::size_of::<T>() as u32, &[values.len() as u64]);
        // SAFETY: the values, packed.
        unsafe { Summary::of(&shape, values.as_ptr().cast(), &Layout::Right.strides(&shape)).unwrap() }
    }

    macro_rules! exact_for {
        ($($name:ident: $number:ty, $kind:literal;)*) => {$(
            proptest! {
                #[test]
                fn $name(values in prop::collection::vec(any::<$number>(), 0..3000), cut in 0usize..3000) {
                    let wide = || values.iter().map(|v| *v as i128);
                    let all = packed($kind, &values);
                    prop_assert_eq!(all.count, values.len() as u64);
                    prop_assert_eq!(all.sum, Sum::Whole(wide().sum()));
                    prop_assert_eq!(all.min, wide().min().map(Number::Whole));
                    prop_assert_eq!(all.max, wide().max().map(Number::Whole));
                    let (left, right) = values.split_at(cut.min(values.len()));
                    prop_assert_eq!(packed($kind, left).merge(&packed($kind, right)), all);
                }
            }
        )*};
    }
    exact_for! {
        whole_numbers_of_i8_are_exact: i8, b'i';
        whole_numbers_of_i32_are_exact: i32, b'i';
        whole_numbers_of_i64_are_exact: i64, b'i';
        whole_numbers_of_u16_are_exact: u16, b'u';
        whole_numbers_of_u32_are_exact: u32, b'u';
        whole_numbers_of_u64_are_exact: u64, b'u';
    }

    proptest! {
        #[test]
        fn strided_floats_agree_with_a_plain_loop(
            rows in 0usize..40, columns in 0usize..90, gap in 0usize..3, backwards: bool, shift in 0usize..8,
            scale in -1e6f64..1e6, bins in 1usize..40,
        ) {
            let width = columns + gap;
            let values: Vec<f64> = (0..rows * width + 1).map(|i| ((i * 7919 % 1009) as f64 - 500.0) * scale).collect();
            let mut bytes = vec![0u8; shift];
            bytes.extend(values.iter().flat_map(|v| v.to_ne_bytes()));
            let shape = shape(b'f', 8, &[columns as u64, rows as u64]);
            let row = 8 * width as i64;
            let (begin, strides) = match backwards && rows > 0 {
                true => (shift + (rows - 1) * 8 * width, [8, -row]),
                false => (shift, [8, row]),
            };
            let inside: Vec<f64> =
                (0..rows).flat_map(|r| values[r * width..r * width + columns].iter().copied()).collect();
            let mut histogram = Histogram::new(-400.0, 300.0, bins).unwrap();
            // SAFETY: all rows and columns lie in `bytes`.
            let all = unsafe {
                histogram.add(&shape, bytes.as_ptr().add(begin), &strides).unwrap();
                Summary::of(&shape, bytes.as_ptr().add(begin), &strides).unwrap()
            };
            prop_assert_eq!(all.count, inside.len() as u64);
            prop_assert_eq!(all.min.map(Number::to_f64), inside.iter().copied().reduce(f64::min));
            prop_assert_eq!(all.max.map(Number::to_f64), inside.iter().copied().reduce(f64::max));
            let size: f64 = inside.iter().map(|v| v.abs()).sum();
            prop_assert!((all.sum.to_f64() - inside.iter().sum::<f64>()).abs() <= 1e-12 * size);
            let edges: Vec<f64> =
                (0..=bins).map(|i| if i == bins { 300.0 } else { -400.0 + i as f64 * (700.0 / bins as f64) }).collect();
            let expected: Vec<u64> = (0..bins).map(|b| {
                let holds = |v: &&f64| edges[b] <= **v && (**v < edges[b + 1] || (b + 1 == bins && **v == 300.0));
                inside.iter().filter(holds).count() as u64
            }).collect();
            prop_assert_eq!(histogram.counts, expected);
        }

        #[test]
        fn a_nan_anywhere_shows(mut values in prop::collection::vec(-1e3f32..1e3, 1..3000), at in any::<prop::sample::Index>()) {
            let place = at.index(values.len());
            values[place] = f32::NAN;
            let all = packed(b'f', &values);
            prop_assert!(all.sum.to_f64().is_nan() && all.mean().unwrap().is_nan());
            prop_assert!(all.min.unwrap().to_f64().is_nan() && all.max.unwrap().to_f64().is_nan());
            let merged = packed(b'f', &[1.0f32]).merge(&all);
            prop_assert!(merged.min.unwrap().to_f64().is_nan() && merged.max.unwrap().to_f64().is_nan());
        }
    }

    #[test]
    fn the_mean_of_a_billion_equal_values_is_that_value() {
        let value = 0.1f64;
        let shape = shape(b'f', 8, &[1_000_000_000]);
        // SAFETY: one value, read a billion times with a stride of zero.
        let all = unsafe { Summary::of(&shape, (&raw const value).cast(), &[0]).unwrap() };
        assert_eq!(all.count, 1_000_000_000);
        assert!((all.mean().unwrap() / value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn infinities_stay_what_they_are() {
        let all = packed(b'f', &[1.0, f64::INFINITY, 2.0]);
        assert_eq!(all.sum.to_f64(), f64::INFINITY);
        assert!(packed(b'f', &[f64::INFINITY, f64::NEG_INFINITY]).sum.to_f64().is_nan());
        assert_eq!(packed::<f64>(b'f', &[]).mean(), None);
    }

    #[test]
    fn what_cannot_be_reduced_is_refused() {
        // SAFETY: refused before anything is read.
        let error = unsafe { Summary::of(&shape(b'c', 16, &[2]), std::ptr::null(), &[16]) }.unwrap_err();
        assert_eq!(
            error.message,
            "reduce: elements of complex128; accepted are bool, int8 to int64, uint8 to uint64, float32 and float64"
        );
        assert!(Histogram::new(1.0, 1.0, 4).is_err() && Histogram::new(0.0, f64::NAN, 4).is_err());
        let mut histogram = Histogram::new(0.0, 1.0, 4).unwrap();
        assert!(histogram.merge(&Histogram::new(0.0, 1.0, 5).unwrap()).is_err());
    }
}
