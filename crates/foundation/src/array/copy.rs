//! Copies between a strided array and a packed row-major one, without an intermediate buffer.
//!
//! Axes that lie packed behind each other are merged first, so an array with any contiguous part is copied by whole runs;
//! where no axis is contiguous in both, elements are copied tile by tile so that both sides stay in the cache.

use super::layout::check;
use super::{Layout, Shape, Strides};
use crate::base::Result;

const TILE: usize = 16;

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
    // SAFETY: the caller's promise is that of `copy` for these strides.
    unsafe { copy(shape, from, strides, to, &packed) };
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
    // SAFETY: the caller's promise is that of `copy` for these strides.
    unsafe { copy(shape, from, &packed, to, strides) };
    Ok(())
}

#[derive(Clone, Copy)]
struct Axis {
    count: usize,
    from: i64,
    to: i64,
}

/// The axes with more than one element, neighbours merged where both sides allow it, fastest axis last.
fn merged(shape: &Shape, from: &Strides, to: &Strides) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(from.len());
    for (i, count) in shape.extents().iter().enumerate() {
        let axis = Axis { count: *count as usize, from: from[i], to: to[i] };
        match axes.last_mut() {
            _ if axis.count == 1 => {}
            Some(outer)
                if outer.from == axis.from * axis.count as i64 && outer.to == axis.to * axis.count as i64 =>
            {
                *outer = Axis { count: outer.count * axis.count, ..axis };
            }
            _ => axes.push(axis),
        }
    }
    axes
}

pub(super) unsafe fn copy(
    shape: &Shape,
    from: *const u8,
    from_strides: &Strides,
    to: *mut u8,
    to_strides: &Strides,
) {
    if shape.size().0 == 0 {
        return;
    }
    let size = shape.dtype().size() as usize;
    let mut axes = merged(shape, from_strides, to_strides);
    let mut run = size;
    if let Some(last) = axes.last() {
        if last.from == size as i64 && last.to == size as i64 {
            run = last.count * size;
            axes.pop();
        }
    }
    // SAFETY: the axes are those of the caller's arrays, so every offset stays inside them.
    unsafe {
        match (run, run == size) {
            (1, true) => tiles(&axes, from, to, &|f, t| *t = *f),
            (2, true) => tiles(&axes, from, to, &|f, t| word::<u16>(f, t)),
            (4, true) => tiles(&axes, from, to, &|f, t| word::<u32>(f, t)),
            (8, true) => tiles(&axes, from, to, &|f, t| word::<u64>(f, t)),
            (16, true) => tiles(&axes, from, to, &|f, t| word::<u128>(f, t)),
            _ => each(&axes, from, to, &|f, t| std::ptr::copy_nonoverlapping(f, t, run)),
        }
    }
}

unsafe fn word<T: Copy>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller passes one element of size_of::<T>() bytes on each side.
    unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned()) }
}

/// Calls `element` for every position of `axes`, the last axis fastest.
unsafe fn each(axes: &[Axis], from: *const u8, to: *mut u8, element: &impl Fn(*const u8, *mut u8)) {
    let Some((axis, inner)) = axes.split_first() else {
        return element(from, to);
    };
    for i in 0..axis.count as i64 {
        // SAFETY: positions 0..count along an axis of the caller's arrays.
        unsafe {
            each(inner, from.offset((i * axis.from) as isize), to.offset((i * axis.to) as isize), element)
        }
    }
}

/// Like `each`, but walks the last axis and the one with the shortest step on the reading side in tiles.
unsafe fn tiles(axes: &[Axis], from: *const u8, to: *mut u8, element: &impl Fn(*const u8, *mut u8)) {
    let last = axes.len().saturating_sub(1);
    let short = (0..axes.len()).min_by_key(|i| axes[*i].from.unsigned_abs());
    let Some(short) = short.filter(|i| *i != last) else {
        // SAFETY: passed on.
        return unsafe { each(axes, from, to, element) };
    };
    let (a, b) = (axes[short], axes[last]);
    let outer: Vec<Axis> =
        axes.iter().enumerate().filter(|(i, _)| *i != short && *i != last).map(|(_, a)| *a).collect();
    let plane = |from: *const u8, to: *mut u8| {
        for i0 in (0..a.count).step_by(TILE) {
            for j0 in (0..b.count).step_by(TILE) {
                for i in i0..(i0 + TILE).min(a.count) {
                    for j in j0..(j0 + TILE).min(b.count) {
                        let (i, j) = (i as i64, j as i64);
                        // SAFETY: positions inside the two axes of the caller's arrays.
                        let (f, t) = unsafe {
                            (
                                from.offset((i * a.from + j * b.from) as isize),
                                to.offset((i * a.to + j * b.to) as isize),
                            )
                        };
                        element(f, t);
                    }
                }
            }
        }
    };
    // SAFETY: passed on.
    unsafe { each(&outer, from, to, &plane) }
}

#[cfg(test)]
mod tests {
    use super::super::{DType, Extents};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn there_and_back_is_the_identity(
            extents in prop::collection::vec(0u64..20, 0..5),
            size in prop::sample::select(vec![1u32, 2, 4, 8, 16, 12]),
            order in any::<u64>(),
            gap in 0u64..3,
        ) {
            let kind = if size == 12 { b'V' } else if size == 16 { b'c' } else { b'u' };
            let shape = Shape::new(DType::new(kind, size).unwrap(), Extents::new(&extents).unwrap()).unwrap();
            // any permutation of the axes, with gaps between rows
            let mut axes: Vec<usize> = (0..extents.len()).collect();
            axes.sort_by_key(|i| order.rotate_left(*i as u32 * 7) % 97);
            let (mut strides, mut step) = (vec![0i64; extents.len()], i64::from(size));
            for i in axes {
                strides[i] = step;
                step = step * extents[i].max(1) as i64 + gap as i64 * i64::from(size);
            }
            let packed: Vec<u8> = (0..shape.size().0).map(|i| (i * 31 % 251) as u8).collect();
            let mut strided = vec![0u8; step as usize + 64];
            let mut back = vec![0u8; packed.len()];
            // SAFETY: `strided` holds every position of the permuted shape, `packed` and `back` the packed one.
            unsafe {
                scatter(&shape, packed.as_ptr(), strided.as_mut_ptr(), &strides).unwrap();
                gather(&shape, strided.as_ptr(), &strides, back.as_mut_ptr()).unwrap();
            }
            prop_assert_eq!(&back, &packed);
            // element by element, written out
            if let Some(last) = extents.last().filter(|_| shape.size().0 > 0) {
                let index = (shape.size().0 / u64::from(size)) - 1;
                let at: i64 = extents.iter().zip(&strides).map(|(e, s)| (*e as i64 - 1) * s).sum();
                let from = (index * u64::from(size)) as usize;
                prop_assert_eq!(&strided[at as usize..at as usize + size as usize], &packed[from..from + size as usize]);
                prop_assert!(*last > 0);
            }
        }
    }

    #[test]
    fn a_negative_stride_reads_backwards() {
        let shape = Shape::new(DType::new(b'u', 1).unwrap(), Extents::new(&[4]).unwrap()).unwrap();
        let (from, mut to) = ([1u8, 2, 3, 4], [0u8; 4]);
        // SAFETY: four elements backwards from the last one.
        unsafe { gather(&shape, from.as_ptr().add(3), &[-1], to.as_mut_ptr()).unwrap() };
        assert_eq!(to, [4, 3, 2, 1]);
    }
}
