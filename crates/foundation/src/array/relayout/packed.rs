//! Copies between a strided array and a packed row-major one.

use super::Plan;
use crate::array::layout::check;
use crate::array::{Layout, Shape, Strides};
use crate::base::Result;

/// Copies the array at `from` with `strides` into packed row-major memory at `to`.
///
/// # Errors
/// `Shape` when there is not one stride for each axis.
///
/// # Safety
/// Every element that `shape` and `strides` reach from `from` must be readable, `to` writable for `shape.size()` bytes, and
/// the two must not overlap.
pub unsafe fn gather(shape: &Shape, from: *const u8, strides: &Strides, to: *mut u8) -> Result<()> {
    check(shape, strides)?;
    let packed = Layout::right(shape.extents().len()).strides(shape);
    let plan = Plan::new(shape.dtype().size(), shape.extents(), strides, &packed)?;
    // SAFETY: the caller's promise is that of `run` for these strides.
    unsafe { plan.run(from, to) };
    Ok(())
}

/// Copies packed row-major memory at `from` into the array at `to` with `strides`.
///
/// # Errors
/// `Shape` when there is not one stride for each axis.
///
/// # Safety
/// As for `gather`, with the sides exchanged; no two elements of the target may share memory.
pub unsafe fn scatter(shape: &Shape, from: *const u8, to: *mut u8, strides: &Strides) -> Result<()> {
    check(shape, strides)?;
    let packed = Layout::right(shape.extents().len()).strides(shape);
    let plan = Plan::new(shape.dtype().size(), shape.extents(), &packed, strides)?;
    // SAFETY: the caller's promise is that of `run` for these strides.
    unsafe { plan.run(from, to) };
    Ok(())
}
