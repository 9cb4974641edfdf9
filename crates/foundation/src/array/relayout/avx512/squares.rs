//! Elements of a word or more: squares, read from the source and written to the target at once.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)] // one number for a place in several arrays of registers

use super::registers::Square;
use super::stores::{first, write_edge, write_masked, write_shifted};
use super::AHEAD;
use crate::array::relayout::planes::{Places, Stores, DEPTH, LINE};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Walks along the source, `WIDE` squares side by side in the target.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn walk<S: Square, const WIDE: usize>(
    plane: &impl Places,
    from: *const u8,
    to: *mut u8,
    next: *const u8,
    stores: Stores,
) {
    let (depth, length) = (plane.depth(), plane.length());
    let step = WIDE * S::LINES;
    // What was read of each row of the target and did not fill a line.
    let mut carried = [const { MaybeUninit::<__m512i>::uninit() }; DEPTH];
    for low in (0..depth).step_by(DEPTH) {
        let high = depth.min(low + DEPTH);
        for across in (0..length).step_by(step) {
            let rows = step.min(length - across);
            let (first, last) = (across == 0, across + rows == length);
            // where the source is walked after this
            let follows = match (last, high == depth) {
                (false, _) => (from.wrapping_add(low * S::SIZE), across + step),
                (true, false) => (from.wrapping_add(high * S::SIZE), 0),
                (true, true) => (next, 0),
            };
            let target = to.wrapping_add(across * S::SIZE);
            for along in (low..high).step_by(S::LINES) {
                let columns = S::LINES.min(high - along);
                let source = from.wrapping_add(along * S::SIZE);
                let whole = rows == step && columns == S::LINES;
                let place = |column: usize| target.wrapping_offset(plane.column(along + column));
                // SAFETY: `rows` by `columns` elements of the plane; whether whole squares are there is asked before.
                unsafe {
                    let squares = if whole {
                        let ahead = along + AHEAD * S::LINES;
                        let ahead = match ahead.checked_sub(high) {
                            None => (from.wrapping_add(ahead * S::SIZE), across),
                            Some(beyond) => (follows.0.wrapping_add(beyond * S::SIZE), follows.1),
                        };
                        whole_squares::<S, WIDE>(plane, source, across, ahead)
                    } else {
                        partial_squares::<S, WIDE>(plane, source, across, rows, columns)
                    };
                    let end = rows * S::SIZE;
                    match stores {
                        Stores::Streamed if whole => write_lines::<S, WIDE, true>(&squares, place),
                        Stores::Cached if whole => write_lines::<S, WIDE, false>(&squares, place),
                        Stores::Shifted if !first && !last => {
                            for column in 0..S::LINES {
                                if column < columns {
                                    let row = row_of::<S, WIDE>(&squares, column);
                                    let carried = &mut carried[along - low + column];
                                    write_shifted(row, carried.assume_init(), place(column));
                                    carried.write(row[WIDE - 1]);
                                }
                            }
                        }
                        Stores::Shifted => {
                            for column in 0..S::LINES {
                                if column < columns {
                                    let row = row_of::<S, WIDE>(&squares, column);
                                    let carried = &mut carried[along - low + column];
                                    let before =
                                        if first { _mm512_setzero_si512() } else { carried.assume_init() };
                                    write_edge(row, before, place(column), first, end);
                                    carried.write(row[WIDE - 1]);
                                }
                            }
                        }
                        _ => {
                            for column in 0..S::LINES {
                                if column < columns {
                                    write_masked(row_of::<S, WIDE>(&squares, column), place(column), end);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Reads the squares whose first row is `across`; asks for the lines that begin `ahead`: at an address, from a row on.
#[inline(always)]
unsafe fn whole_squares<S: Square, const WIDE: usize>(
    plane: &impl Places,
    from: *const u8,
    across: usize,
    ahead: (*const u8, usize),
) -> [S::Lines; WIDE] {
    // SAFETY: the caller passes the first of so many whole lines; asking for a line ahead cannot fail.
    unsafe {
        let mut squares = [S::zero(); WIDE];
        for (i, square) in squares.iter_mut().enumerate() {
            for line in 0..S::LINES {
                let row = i * S::LINES + line;
                _mm_prefetch::<_MM_HINT_T0>(ahead.0.wrapping_offset(plane.row(ahead.1 + row)).cast());
                square[line] = _mm512_loadu_si512(from.offset(plane.row(across + row)).cast());
            }
            S::turn(square);
        }
        squares
    }
}

#[inline(always)]
unsafe fn partial_squares<S: Square, const WIDE: usize>(
    plane: &impl Places,
    from: *const u8,
    across: usize,
    rows: usize,
    columns: usize,
) -> [S::Lines; WIDE] {
    // SAFETY: only `rows` lines are read, and of them only `columns` elements: the others are masked out.
    unsafe {
        let mask = first(columns * S::SIZE);
        let mut squares = [S::zero(); WIDE];
        for (i, square) in squares.iter_mut().enumerate() {
            if i * S::LINES >= rows {
                break;
            }
            for line in 0..S::LINES {
                let row = i * S::LINES + line;
                // the address stays one that is there, though nothing would be read: a fault is dear even when masked
                let line_at = from.offset(plane.row(across + row.min(rows - 1)));
                square[line] = _mm512_maskz_loadu_epi8(if row < rows { mask } else { 0 }, line_at.cast());
            }
            S::turn(square);
        }
        squares
    }
}

/// What all squares have of one row of the target.
#[inline(always)]
unsafe fn row_of<S: Square, const WIDE: usize>(squares: &[S::Lines; WIDE], column: usize) -> [__m512i; WIDE] {
    // SAFETY: the caller runs with AVX-512 F.
    let mut row = [unsafe { _mm512_setzero_si512() }; WIDE];
    for (line, square) in row.iter_mut().zip(squares) {
        *line = square[column];
    }
    row
}

#[inline(always)]
unsafe fn write_lines<S: Square, const WIDE: usize, const STREAMED: bool>(
    squares: &[S::Lines; WIDE],
    place: impl Fn(usize) -> *mut u8,
) {
    for column in 0..S::LINES {
        for (i, square) in squares.iter().enumerate() {
            // SAFETY: whole lines of the caller's plane, aligned when they are streamed.
            unsafe {
                let to = place(column).add(i * LINE).cast();
                if STREAMED {
                    _mm512_stream_si512(to, square[column]);
                } else {
                    _mm512_storeu_si512(to, square[column]);
                }
            }
        }
    }
}
