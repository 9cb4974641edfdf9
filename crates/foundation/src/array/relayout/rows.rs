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
        each(outer, from, to, |from, to, next| {
            // SAFETY: the caller's promise for this position; the processor has the instructions.
            unsafe { stream(from, to, run, next) }
        });
        // SAFETY: makes streamed stores visible in order; needs nothing.
        return unsafe { std::arch::x86_64::_mm_sfence() };
    }
    let _ = (streamed, instructions, SHORTEST_STREAMED);
    // SAFETY: the caller's promise for this position.
    each(outer, from, to, |from, to, _| unsafe { std::ptr::copy_nonoverlapping(from, to, run) });
}

/// Lines at the begin of the next row that are asked for while this one is copied: the processor itself does not look
/// beyond a page.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 64;

/// Copies one row, whole lines of the target past the cache.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn stream(from: *const u8, to: *mut u8, run: usize, next: *const u8) {
    use std::arch::x86_64::*;
    let head = to.align_offset(64).min(run);
    let lines = (run - head) / 64;
    // SAFETY: head, lines and tail together are the row; the lines are aligned; asking for a line ahead cannot fail.
    unsafe {
        if head > 0 {
            std::ptr::copy_nonoverlapping(from, to, head);
        }
        let copy = |line: usize| {
            let (from, to) = (from.add(head + line * 64).cast(), to.add(head + line * 64).cast::<__m256i>());
            let (low, high) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_stream_si256(to, low);
            _mm256_stream_si256(to.add(1), high);
        };
        let near = lines.saturating_sub(AHEAD);
        (0..near).for_each(copy);
        for line in near..lines {
            _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add((line - near) * 64).cast());
            copy(line);
        }
        let done = head + lines * 64;
        if done < run {
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), run - done);
        }
    }
}
