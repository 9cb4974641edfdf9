//! Small elements: rows are turned eight at a time and kept, then as many groups of them as fill lines are written.
//!
//! A square of small elements has more rows than a set of the cache has places, when rows are a power of two apart: what
//! was asked for would be gone before it is used.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)] // one number for a place in several arrays of registers

use super::registers::{turn_group, Small, GROUP, WORD};
use super::stores::{first, write_edge, write_masked, write_shifted};
use super::AHEAD;
use crate::array::relayout::planes::{Places, Stores, DEPTH, LINE, SPAN};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Copies one plane, blocks of `GROUPS` times eight rows of the source at a time.
///
/// # Safety
/// As for `planes::turn`; the processor must have AVX-512 F, BW and VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn walk<S: Small, const GROUPS: usize>(
    plane: &impl Places,
    from: *const u8,
    to: *mut u8,
    next: *const u8,
    stores: Stores,
) {
    let (depth, length) = (plane.depth(), plane.length());
    let step = GROUPS * GROUP;
    let mut carried = [const { MaybeUninit::<__m512i>::uninit() }; DEPTH];
    // The words of a block, turned, those of one column from all groups behind each other.
    let mut kept = [const { MaybeUninit::<__m512i>::uninit() }; DEPTH * SPAN / LINE];
    let inside = WORD / S::SIZE;
    for low in (0..depth).step_by(DEPTH) {
        let high = depth.min(low + DEPTH);
        for across in (0..length).step_by(step) {
            let rows = step.min(length - across);
            let (first_block, last_block) = (across == 0, across + rows == length);
            for group in 0..GROUPS {
                let here = across + group * GROUP;
                if here >= length {
                    // nothing is in the lines of these rows
                    let words = (high - low).div_ceil(inside);
                    for word in 0..words {
                        kept[word * GROUPS + group].write(_mm512_setzero_si512());
                    }
                    continue;
                }
                let rows = GROUP.min(length - here);
                let follows = match (here + GROUP < length, high == depth) {
                    (true, _) => (from.wrapping_add(low * S::SIZE), here + GROUP),
                    (false, false) => (from.wrapping_add(high * S::SIZE), 0),
                    (false, true) => (next, 0),
                };
                for along in (low..high).step_by(S::LINES) {
                    let columns = S::LINES.min(high - along);
                    let source = from.wrapping_add(along * S::SIZE);
                    let ahead = along + AHEAD * S::LINES;
                    let ahead = match ahead.checked_sub(high) {
                        None => (from.wrapping_add(ahead * S::SIZE), here),
                        Some(beyond) => (follows.0.wrapping_add(beyond * S::SIZE), follows.1),
                    };
                    // SAFETY: `rows` lines of `columns` elements of the plane; the others are masked out.
                    unsafe {
                        let mut lines = [_mm512_setzero_si512(); GROUP];
                        if rows == GROUP && columns == S::LINES {
                            for row in 0..GROUP {
                                _mm_prefetch::<_MM_HINT_T0>(
                                    ahead.0.wrapping_offset(plane.row(ahead.1 + row)).cast(),
                                );
                                lines[row] = _mm512_loadu_si512(source.offset(plane.row(here + row)).cast());
                            }
                        } else {
                            let mask = first(columns * S::SIZE);
                            for row in 0..GROUP {
                                let mask = if row < rows { mask } else { 0 };
                                let line = source.offset(plane.row(here + row.min(rows - 1)));
                                lines[row] = _mm512_maskz_loadu_epi8(mask, line.cast());
                            }
                        }
                        let turned = turn_group::<S>(&lines);
                        let words = (along - low) / inside;
                        for word in 0..WORD {
                            kept[(words + word) * GROUPS + group].write(turned[word]);
                        }
                    }
                }
            }
            let end = rows * S::SIZE;
            let target = to.wrapping_add(across * S::SIZE);
            for (word, groups) in kept.chunks_exact(GROUPS).take((high - low).div_ceil(inside)).enumerate() {
                let along = low + word * inside;
                // SAFETY: the columns of this word of the plane, in which `rows` rows are; all groups were written.
                unsafe {
                    let groups = std::slice::from_raw_parts(groups.as_ptr().cast::<__m512i>(), GROUPS);
                    let lines = [S::joined(groups, 0), S::joined(groups, GROUPS / 2)];
                    for column in 0..inside {
                        if along + column >= high {
                            break;
                        }
                        let to = target.wrapping_offset(plane.column(along + column));
                        let row = [lines[0][column], lines[1][column]];
                        match stores {
                            Stores::Streamed if rows == step => {
                                _mm512_stream_si512(to.cast(), row[0]);
                                _mm512_stream_si512(to.add(LINE).cast(), row[1]);
                            }
                            Stores::Shifted => {
                                let carried = &mut carried[along - low + column];
                                if first_block || last_block {
                                    let before = if first_block {
                                        _mm512_setzero_si512()
                                    } else {
                                        carried.assume_init()
                                    };
                                    write_edge(row, before, to, first_block, end);
                                } else {
                                    write_shifted(row, carried.assume_init(), to);
                                }
                                carried.write(row[1]);
                            }
                            _ => write_masked(row, to, end),
                        }
                    }
                }
            }
        }
    }
}
