//! Lines written to the target: as they are, masked, or joined where its rows begin inside a line.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)] // one number for a place in several arrays of registers

use crate::array::relayout::planes::LINE;
use std::arch::x86_64::*;

/// The lowest `bytes` bits.
#[inline(always)]
pub(super) fn first(bytes: usize) -> u64 {
    if bytes >= LINE {
        u64::MAX
    } else {
        (1 << bytes) - 1
    }
}

#[inline(always)]
pub(super) unsafe fn write_masked<const WIDE: usize>(row: [__m512i; WIDE], to: *mut u8, end: usize) {
    for (i, line) in row.into_iter().enumerate() {
        // SAFETY: only the `end` bytes of the caller's plane are written.
        unsafe {
            _mm512_mask_storeu_epi8(
                to.wrapping_add(i * LINE).cast(),
                first(end.saturating_sub(i * LINE)),
                line,
            )
        };
    }
}

/// The line of the target that ends `phase` bytes into `line`, of which `before` was the one before.
#[inline(always)]
pub(super) unsafe fn joined(before: __m512i, line: __m512i, phase: usize) -> __m512i {
    // SAFETY: the caller runs with AVX-512 F, BW and VBMI.
    unsafe {
        let count = _mm512_set_epi8(
            63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,
            39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
            15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
        );
        let index = _mm512_add_epi8(count, _mm512_set1_epi8((LINE - phase) as i8));
        _mm512_permutex2var_epi8(before, index, line)
    }
}

/// Streams the lines of the target that `row`, which begins at `to`, completes.
#[inline(always)]
pub(super) unsafe fn write_shifted<const WIDE: usize>(row: [__m512i; WIDE], before: __m512i, to: *mut u8) {
    let phase = to as usize % LINE;
    let mut before = before;
    for i in 0..WIDE {
        // SAFETY: an aligned line that the row before and this one fill.
        unsafe { _mm512_stream_si512(to.sub(phase).add(i * LINE).cast(), joined(before, row[i], phase)) };
        before = row[i];
    }
}

/// As `write_shifted` where a row of the target begins (`starts`) or where its last `end` bytes are in `row`.
#[inline(always)]
pub(super) unsafe fn write_edge<const WIDE: usize>(
    row: [__m512i; WIDE],
    before: __m512i,
    to: *mut u8,
    starts: bool,
    end: usize,
) {
    let phase = to as usize % LINE;
    let ends = end + phase;
    let mut before = before;
    for i in 0..=WIDE {
        let head = if starts && i == 0 { first(phase) } else { 0 };
        let mask = first(ends.saturating_sub(i * LINE)) & !head;
        let to = to.wrapping_sub(phase).wrapping_add(i * LINE);
        // SAFETY: of the aligned line only bytes of the caller's plane are written.
        unsafe {
            let line = if i < WIDE { row[i] } else { _mm512_setzero_si512() };
            let whole = joined(before, line, phase);
            if mask == u64::MAX {
                _mm512_stream_si512(to.cast(), whole);
            } else if mask != 0 {
                _mm512_mask_storeu_epi8(to.cast(), mask, whole);
            }
            before = line;
        }
    }
}
