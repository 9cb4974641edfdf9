//! Layouts: in which order the elements of an array lie in memory.

use super::{Shape, MAX_DIMS};
use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The distance in bytes between neighbours along each axis, slowest axis first as in the shape.
pub type Strides = [i64];

/// How the fields of records lie in memory; of no meaning for arrays of plain elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Records {
    /// An array of structs: the fields of a cell lie beside each other.
    #[default]
    Structs,
    /// A struct of arrays: each field is a packed array, in the order of the fields.
    Arrays,
}

/// The order of the axes in memory of a packed array, slowest first, and how the fields of records lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    axes: [u8; MAX_DIMS],
    dims: u8,
    records: Records,
}

impl Layout {
    /// Row-major (C): the last axis varies fastest.
    pub fn right(dims: usize) -> Layout {
        let mut layout =
            Layout { axes: [0; MAX_DIMS], dims: dims.min(MAX_DIMS) as u8, records: Records::Structs };
        for (i, axis) in layout.axes.iter_mut().take(dims).enumerate() {
            *axis = i as u8;
        }
        layout
    }

    /// Column-major (Fortran): the first axis varies fastest.
    pub fn left(dims: usize) -> Layout {
        let mut layout = Layout::right(dims);
        layout.axes[..dims.min(MAX_DIMS)].reverse();
        layout
    }

    /// The layout with `axes` from the slowest to the fastest.
    ///
    /// # Errors
    /// `Invalid` when they are not each of the axes once.
    pub fn of(axes: &[u8]) -> Result<Layout> {
        let mut layout = Layout::right(axes.len());
        let mut seen = [false; MAX_DIMS];
        let fits = axes.len() <= MAX_DIMS
            && axes.iter().all(|a| {
                let new = usize::from(*a) < axes.len() && !seen[usize::from(*a)];
                if new {
                    seen[usize::from(*a)] = true;
                }
                new
            });
        if !fits {
            let detail = format!(
                "axes {axes:?}; accepted is each of 0 to n - 1 once, slowest first, n at most {MAX_DIMS}"
            );
            return Err(Error::new(Kind::Invalid, "layout", detail));
        }
        layout.axes[..axes.len()].copy_from_slice(axes);
        Ok(layout)
    }

    /// The layout of an array of `shape` with `strides`: its axes in the order of their strides, whether it is packed or not.
    ///
    /// # Errors
    /// `Shape` when there is not one stride for each axis.
    pub fn nearest(shape: &Shape, strides: &Strides) -> Result<Layout> {
        check(shape, strides)?;
        let mut layout = Layout::right(strides.len());
        // Axes of one element have any stride; a stable sort leaves them where they are.
        let step = |axis: &u8| std::cmp::Reverse(strides[usize::from(*axis)].unsigned_abs());
        let mut long: Vec<u8> =
            layout.axes().iter().copied().filter(|a| shape.extents()[usize::from(*a)] > 1).collect();
        long.sort_by_key(step);
        let mut next = long.into_iter();
        for axis in layout.axes.iter_mut().take(strides.len()) {
            if shape.extents()[usize::from(*axis)] > 1 {
                *axis = next.next().unwrap_or(*axis);
            }
        }
        Ok(layout)
    }

    /// The same order of the axes with fields as `records` says.
    pub fn with_records(self, records: Records) -> Layout {
        Layout { records, ..self }
    }

    /// How the fields of records lie.
    pub fn records(&self) -> Records {
        self.records
    }

    /// The axes from the slowest to the fastest.
    pub fn axes(&self) -> &[u8] {
        &self.axes[..self.dims as usize]
    }

    /// Strides in bytes of a packed array of `shape`, whose elements lie beside each other.
    pub fn strides(&self, shape: &Shape) -> Vec<i64> {
        let extents = shape.extents();
        let mut strides = vec![0; extents.len()];
        let mut step = i64::from(shape.dtype().size());
        for axis in self.axes().iter().rev().map(|a| usize::from(*a)).filter(|a| *a < extents.len()) {
            strides[axis] = step;
            step = step.saturating_mul(extents[axis].max(1) as i64);
        }
        strides
    }

    /// Whether `strides` are those of a packed array of `shape` in this layout (axes of one element may have any).
    pub fn is_of(&self, shape: &Shape, strides: &Strides) -> bool {
        let own = self.strides(shape);
        shape.size().0 == 0
            || (0..own.len()).all(|i| shape.extents()[i] == 1 || strides.get(i) == Some(&own[i]))
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = self.axes().len();
        match self.with_records(Records::Structs) {
            plain if plain == Layout::right(dims) => f.write_str("right")?,
            plain if plain == Layout::left(dims) => f.write_str("left")?,
            _ => write!(f, "{:?}", self.axes())?,
        }
        match self.records {
            Records::Structs => Ok(()),
            Records::Arrays => f.write_str(" (struct of arrays)"),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Serialize for Layout {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        (self.records, self.axes()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Layout, D::Error> {
        let (records, axes): (Records, Vec<u8>) = Deserialize::deserialize(from)?;
        Layout::of(&axes).map(|layout| layout.with_records(records)).map_err(serde::de::Error::custom)
    }
}

/// Checks that `strides` fit `shape`; the caller guarantees the memory behind them.
pub(super) fn check(shape: &Shape, strides: &Strides) -> Result<()> {
    if strides.len() == shape.extents().len() && strides.len() <= MAX_DIMS {
        return Ok(());
    }
    let detail = format!("{} strides for shape {shape}", strides.len());
    Err(Error::new(Kind::Shape, "layout", detail))
}

#[cfg(test)]
mod tests {
    use super::super::{DType, Extents};
    use super::*;

    fn shape(extents: &[u64]) -> Shape {
        Shape::new(DType::new(b'f', 8).unwrap(), Extents::new(extents).unwrap()).unwrap()
    }

    #[test]
    fn packed_strides_follow_the_layout() {
        let shape = shape(&[2, 3, 4]);
        assert_eq!(Layout::right(3).strides(&shape), [96, 32, 8]);
        assert_eq!(Layout::left(3).strides(&shape), [8, 16, 48]);
        assert_eq!(Layout::of(&[1, 0, 2]).unwrap().strides(&shape), [32, 64, 8]);
        assert!(Layout::right(3).is_of(&shape, &[96, 32, 8]));
        assert!(!Layout::right(3).is_of(&shape, &[96, 32, 16]));
    }

    #[test]
    fn the_nearest_layout_is_the_one_that_made_the_strides() {
        let shape = shape(&[2, 1, 4, 3]);
        for axes in [[0, 1, 2, 3], [3, 1, 2, 0], [2, 1, 0, 3], [0, 1, 3, 2]] {
            let layout = Layout::of(&axes).unwrap();
            let nearest = Layout::nearest(&shape, &layout.strides(&shape)).unwrap();
            assert_eq!(nearest.strides(&shape)[0], layout.strides(&shape)[0]);
            assert!(nearest.is_of(&shape, &layout.strides(&shape)), "{nearest} for {layout}");
        }
        assert!(Layout::nearest(&shape, &[8]).is_err());
    }

    #[test]
    fn axes_that_are_no_permutation_are_refused() {
        for axes in [&[0, 0][..], &[1], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
            assert!(Layout::of(axes).is_err(), "{axes:?}");
        }
        assert_eq!(
            Layout::of(&[0, 2]).unwrap_err().to_string(),
            "layout: axes [0, 2]; accepted is each of 0 to n - 1 once, slowest first, n at most 8"
        );
    }
}
