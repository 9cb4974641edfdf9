//! Layouts: in which order the elements of an array lie in memory.

use super::{Shape, MAX_DIMS};
use crate::base::{Error, Kind, Result};

/// The distance in bytes between neighbours along each axis, slowest axis first as in the shape.
pub type Strides = [i64];

/// The order of the axes in memory of a packed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major (C): the last axis varies fastest.
    Right,
    /// Column-major (Fortran): the first axis varies fastest.
    Left,
}

impl Layout {
    /// Strides in bytes of a packed array of `shape`.
    pub fn strides(self, shape: &Shape) -> Vec<i64> {
        let extents = shape.extents();
        let mut strides = vec![0; extents.len()];
        let mut step = i64::from(shape.dtype().size());
        let mut fill = |i: usize| {
            strides[i] = step;
            step = step.saturating_mul(extents[i].max(1) as i64);
        };
        match self {
            Layout::Right => (0..extents.len()).rev().for_each(&mut fill),
            Layout::Left => (0..extents.len()).for_each(&mut fill),
        }
        strides
    }

    /// Whether `strides` are those of a packed array of `shape` in this layout (axes of one element may have any).
    pub fn is_of(self, shape: &Shape, strides: &Strides) -> bool {
        let own = self.strides(shape);
        shape.size().0 == 0
            || (0..own.len()).all(|i| shape.extents()[i] == 1 || strides.get(i) == Some(&own[i]))
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

    #[test]
    fn packed_strides_follow_the_layout() {
        let shape = Shape::new(DType::new(b'f', 8).unwrap(), Extents::new(&[2, 3, 4]).unwrap()).unwrap();
        assert_eq!(Layout::Right.strides(&shape), [96, 32, 8]);
        assert_eq!(Layout::Left.strides(&shape), [8, 16, 48]);
        assert!(Layout::Right.is_of(&shape, &[96, 32, 8]));
        assert!(!Layout::Right.is_of(&shape, &[96, 32, 16]));
    }
}
