//! Elements with gaps: tile by tile, so that the cache lines of both sides are used while they are there.

use super::axes::Axis;
use super::planes::Plane;

/// The longest run of bytes that counts as one element rather than as a row.
pub(super) const LONGEST: usize = 64;

const TILE: usize = 32;

/// Copies the elements of `size` bytes of one plane.
///
/// # Safety
/// Every element of the plane must be readable from `from` and writable from `to`.
pub(super) unsafe fn copy(plane: &Plane, size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: passed on.
    unsafe {
        match size {
            1 => tiles(plane, from, to, |from, to| *to = *from),
            2 => tiles(plane, from, to, |from, to| word::<u16>(from, to)),
            4 => tiles(plane, from, to, |from, to| word::<u32>(from, to)),
            8 => tiles(plane, from, to, |from, to| word::<u64>(from, to)),
            16 => tiles(plane, from, to, |from, to| word::<[u64; 2]>(from, to)),
            32 => tiles(plane, from, to, |from, to| word::<[u64; 4]>(from, to)),
            64 => tiles(plane, from, to, |from, to| word::<[u64; 8]>(from, to)),
            9..=15 => tiles(plane, from, to, |from, to| ends::<u64>(size, from, to)),
            17..=31 => tiles(plane, from, to, |from, to| ends::<[u64; 2]>(size, from, to)),
            33..=63 => tiles(plane, from, to, |from, to| ends::<[u64; 4]>(size, from, to)),
            _ => tiles(plane, from, to, |from, to| std::ptr::copy_nonoverlapping(from, to, size)),
        }
    }
}

/// Copies one element of the size of `T`.
#[inline(always)]
unsafe fn word<T: Copy>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller passes one element on each side.
    unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned()) }
}

/// Copies one element of more bytes than `T` has and less than twice as many: both ends, which overlap.
#[inline(always)]
unsafe fn ends<T: Copy>(size: usize, from: *const u8, to: *mut u8) {
    let last = size - std::mem::size_of::<T>();
    // SAFETY: both words lie inside the caller's element.
    unsafe {
        let (head, tail) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}

#[inline(always)]
unsafe fn tiles(plane: &Plane, from: *const u8, to: *mut u8, element: impl Fn(*const u8, *mut u8)) {
    let (outer, inner) = (&plane.source, &plane.target);
    let width = if outer.count == 1 { inner.count } else { TILE };
    for i in (0..outer.count).step_by(TILE) {
        for j in (0..inner.count).step_by(width) {
            let (rows, columns) = (TILE.min(outer.count - i), width.min(inner.count - j));
            let (from, to) = step(inner, j, step(outer, i, (from, to)));
            for row in 0..rows {
                let (from, to) = step(outer, row, (from, to));
                for column in 0..columns {
                    let (from, to) = step(inner, column, (from, to));
                    element(from, to);
                }
            }
        }
    }
}

#[inline(always)]
fn step(axis: &Axis, count: usize, at: (*const u8, *mut u8)) -> (*const u8, *mut u8) {
    let count = count as i64;
    (at.0.wrapping_offset((count * axis.from) as isize), at.1.wrapping_offset((count * axis.to) as isize))
}
