//! How the values of an array are distributed.

use super::rows::{Block, Rows};
use super::summary::Reduced;
use super::with_number;
use crate::array::{Shape, Strides};
use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};

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
