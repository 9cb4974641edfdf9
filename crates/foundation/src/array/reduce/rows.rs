//! The elements of a strided array, block by block.

use crate::array::layout::check;
use crate::array::relayout::{each, Axes, Axis};
use crate::array::{Shape, Strides};
use crate::base::Result;

/// Values in a block: few enough that lanes lose nothing, enough that the rest costs nothing.
const BLOCK: usize = 1024;

/// The innermost axis of an array and those around it, in the order of memory.
pub(super) struct Rows {
    outer: Axes,
    inner: Axis,
}

impl Rows {
    pub fn of(shape: &Shape, from: *const u8, strides: &Strides) -> Result<(Rows, *const u8)> {
        check(shape, strides)?;
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
    pub unsafe fn blocks<T: Copy>(&self, from: *const u8, mut take: impl FnMut(Block<'_, T>)) {
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
pub(super) struct Block<'a, T>(pub &'a [T]);

impl<T: Copy> Block<'_, T> {
    pub fn each(&self, take: impl FnMut(T)) {
        self.0.iter().copied().for_each(take);
    }
}
