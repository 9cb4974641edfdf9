//! Planes: two axes, one contiguous in the source and the other one in the target, turned into each other.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))] // what vector registers need

use super::axes::{each, Axis};
use super::elements;
use super::instructions::Instructions;

/// Two axes of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    /// The axis along which the source is walked.
    pub source: Axis,
    /// The axis along which the target is written.
    pub target: Axis,
}

impl Plane {
    /// Where position (`source`, `target`) lies on each side.
    #[inline(always)]
    pub fn at(&self, source: usize, target: usize, from: *const u8, to: *mut u8) -> (*const u8, *mut u8) {
        let (s, t) = (source as i64, target as i64);
        let from = from.wrapping_offset((s * self.source.from + t * self.target.from) as isize);
        (from, to.wrapping_offset((s * self.source.to + t * self.target.to) as isize))
    }
}

/// Where the positions along the two directions of a plane lie.
pub(super) trait Places {
    /// Positions along the source.
    fn depth(&self) -> usize;
    /// Positions along the target.
    fn length(&self) -> usize;
    /// Where in the source position `target` begins; beyond the last one anything.
    fn row(&self, target: usize) -> isize;
    /// Where in the target position `source` begins.
    fn column(&self, source: usize) -> isize;
}

impl Places for Plane {
    #[inline(always)]
    fn depth(&self) -> usize {
        self.source.count
    }
    #[inline(always)]
    fn length(&self) -> usize {
        self.target.count
    }
    #[inline(always)]
    fn row(&self, target: usize) -> isize {
        (target as i64).wrapping_mul(self.target.from) as isize
    }
    #[inline(always)]
    fn column(&self, source: usize) -> isize {
        (source as i64 * self.source.to) as isize
    }
}

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Two lines side by side are what one step writes of a row of the target: one alone leaves half of each burst unused.
pub(super) const SPAN: usize = 2 * LINE;

/// So many rows of the target are written in turn: as many pages as its translations are kept for.
pub(super) const DEPTH: usize = 512;

/// Rows of the target shorter than this are not streamed: too much of them is in lines that are not whole.
const SHORTEST_STREAMED: usize = 512;

/// Planes of fewer elements than this are copied one by one.
const FEWEST: usize = 32;

/// How lines reach the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Through the cache.
    Cached,
    /// Past the cache; each row of the target begins with a line.
    Streamed,
    /// Past the cache; rows of the target begin anywhere in a line.
    Shifted,
}

impl Stores {
    /// How rows of `length` bytes are best written that begin at `to` and whole numbers of `steps` from it.
    pub fn of(length: usize, to: *mut u8, mut steps: impl Iterator<Item = i64>, streamed: bool) -> Stores {
        let whole = |step: i64| step % LINE as i64 == 0;
        if !streamed || length < SHORTEST_STREAMED {
            Stores::Cached
        } else if whole(to as i64) && steps.all(whole) {
            Stores::Streamed
        } else {
            Stores::Shifted
        }
    }
}

/// Copies the planes of elements of `size` (1, 2, 4, 8 or 16) bytes at every position of `outer`.
///
/// # Safety
/// Every element of every plane must be readable from `from` and writable from `to`; no two of the target may share memory.
pub(super) unsafe fn turn(
    outer: &[Axis],
    plane: &Plane,
    size: usize,
    from: *const u8,
    to: *mut u8,
    streamed: bool,
    instructions: Instructions,
) {
    let tiny = plane.source.count * plane.target.count < FEWEST;
    let steps = outer.iter().chain([&plane.source]).map(|axis| axis.to);
    let stores = Stores::of(plane.target.count * size, to, steps, streamed);
    each(outer, from, to, |from, to, next| {
        // SAFETY: the caller's promise for this position; the processor has the instructions.
        unsafe {
            match instructions {
                _ if tiny => elements::copy(plane, size, from, to),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => {
                    let (rest, from, to) = super::interleaved::turn(plane, size, from, to, streamed);
                    super::avx512::turn(&rest, size, from, to, next, stores);
                }
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => super::avx2::turn(plane, size, from, to, stores),
                Instructions::Plain => elements::copy(plane, size, from, to),
            }
        }
    });
    #[cfg(target_arch = "x86_64")]
    if streamed {
        // SAFETY: makes streamed stores visible in order; needs nothing.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}
