//! Rows: runs of bytes that are contiguous on both sides.

use super::axes::{each, Axis};
use super::instructions::Instructions;

/// In pieces of so many bytes a single row is well cut.
pub(super) const PIECE: usize = 4096;

/// Rows shorter than this are not streamed: too much of them is in lines that are not whole.
const SHORTEST_STREAMED: usize = 1024;

/// Copies the rows of `run` bytes at every position of `outer`; `streamed` past the cache where the processor can.
///
/// # Safety
/// At every position `run` bytes must be readable from `from` and writable from `to`, and they must not overlap.
pub(super) unsafe fn copy(
    outer: &[Axis],
    run: usize,
    from: *const u8,
    to: *mut u8,
    streamed: bool,
    instructions: Instructions,
) {
    #[cfg(target_arch = "x86_64")]
    if streamed && run >= SHORTEST_STREAMED && instructions >= Instructions::Avx2 {
        each(outer, from, to, |from, to| {
            // SAFETY: the caller's promise for this position; the processor has the instructions.
            unsafe { stream(from, to, run) }
        });
        // SAFETY: makes streamed stores visible in order; needs nothing.
        return unsafe { std::arch::x86_64::_mm_sfence() };
    }
    let _ = (streamed, instructions, SHORTEST_STREAMED);
    // SAFETY: the caller's promise for this position.
    each(outer, from, to, |from, to| unsafe { std::ptr::copy_nonoverlapping(from, to, run) });
}

/// Copies one row, whole lines of the target past the cache.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn stream(from: *const u8, to: *mut u8, run: usize) {
    use std::arch::x86_64::*;
    let head = to.align_offset(64).min(run);
    let lines = (run - head) / 64;
    // SAFETY: head, lines and tail together are the row; the lines are aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let (from, to) = (from.add(head + line * 64).cast(), to.add(head + line * 64).cast::<__m256i>());
            let (low, high) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_stream_si256(to, low);
            _mm256_stream_si256(to.add(1), high);
        }
        let done = head + lines * 64;
        std::ptr::copy_nonoverlapping(from.add(done), to.add(done), run - done);
    }
}
