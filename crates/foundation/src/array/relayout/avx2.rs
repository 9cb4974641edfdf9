//! Planes turned in 256-bit registers: elements of two lines are interleaved until rows have become columns.

use super::elements;
use super::planes::{Plane, Stores, DEPTH, LINE};
use std::arch::x86_64::*;

/// A square of the largest size, in memory that stays in the first cache.
#[repr(align(64))]
struct Turned([u8; LINE * LINE]);

/// Copies one plane.
///
/// # Safety
/// As for `planes::turn`; the processor must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn turn(plane: &Plane, size: usize, from: *const u8, to: *mut u8, stores: Stores) {
    // SAFETY: passed on.
    unsafe {
        match size {
            1 => walk::<1, 16>(plane, from, to, stores),
            2 => walk::<2, 8>(plane, from, to, stores),
            4 => walk::<4, 4>(plane, from, to, stores),
            8 => walk::<8, 2>(plane, from, to, stores),
            _ => walk::<16, 1>(plane, from, to, stores),
        }
    }
}

/// Walks along the source, a line wide in the target. `HALF`: elements in 16 bytes.
#[target_feature(enable = "avx2")]
unsafe fn walk<const SIZE: usize, const HALF: usize>(
    plane: &Plane,
    from: *const u8,
    to: *mut u8,
    stores: Stores,
) {
    let lines = LINE / SIZE;
    let (depth, length) = (plane.source.count / lines * lines, plane.target.count / lines * lines);
    let mut turned = Turned([0; LINE * LINE]);
    for low in (0..depth).step_by(DEPTH) {
        for across in (0..length).step_by(lines) {
            for along in (low..depth.min(low + DEPTH)).step_by(lines) {
                let (read, written) = plane.at(along, across, from, to);
                // SAFETY: a whole square of the plane; lines are aligned when stores are streamed.
                unsafe {
                    square::<SIZE, HALF>(read, plane.target.from as isize, &mut turned);
                    for column in 0..lines {
                        let line = turned.0.as_ptr().add(column * LINE).cast();
                        let to: *mut __m256i =
                            written.offset(column as isize * plane.source.to as isize).cast();
                        let (low, high) = (_mm256_load_si256(line), _mm256_load_si256(line.add(1)));
                        if stores == Stores::Streamed {
                            _mm256_stream_si256(to, low);
                            _mm256_stream_si256(to.add(1), high);
                        } else {
                            _mm256_storeu_si256(to, low);
                            _mm256_storeu_si256(to.add(1), high);
                        }
                    }
                }
            }
        }
    }
    let rest = |source: (usize, usize), target: (usize, usize)| {
        let mut part = *plane;
        (part.source.count, part.target.count) = (source.1 - source.0, target.1 - target.0);
        let (from, to) = plane.at(source.0, target.0, from, to);
        // SAFETY: what is left of the plane.
        unsafe { elements::copy(&part, SIZE, from, to) };
    };
    rest((depth, plane.source.count), (0, plane.target.count));
    rest((0, depth), (length, plane.target.count));
}

/// Turns one square into `turned`, two blocks of 16 by 16 bytes at a time.
#[inline(always)]
unsafe fn square<const SIZE: usize, const HALF: usize>(from: *const u8, step: isize, turned: &mut Turned) {
    let lines = LINE / SIZE;
    for across in (0..lines).step_by(HALF) {
        for along in (0..lines).step_by(2 * HALF) {
            // SAFETY: the caller's square; `turned` has a line for each of its columns.
            unsafe {
                let mut block: [__m256i; HALF] = std::array::from_fn(|row| {
                    _mm256_loadu_si256(from.offset((across + row) as isize * step).add(along * SIZE).cast())
                });
                for _ in 0..HALF.ilog2() {
                    block = interleaved::<SIZE, HALF>(block);
                }
                for (column, pair) in block.into_iter().enumerate() {
                    let to = turned.0.as_mut_ptr().add((along + column) * LINE + across * SIZE);
                    _mm_store_si128(to.cast(), _mm256_castsi256_si128(pair));
                    _mm_store_si128(to.add(HALF * LINE).cast(), _mm256_extracti128_si256::<1>(pair));
                }
            }
        }
    }
}

/// Interleaves the elements of each row with those of the row half a block further: as often as the block has twos in its
/// length, that turns it.
#[inline(always)]
unsafe fn interleaved<const SIZE: usize, const HALF: usize>(block: [__m256i; HALF]) -> [__m256i; HALF] {
    std::array::from_fn(|i| {
        let (a, b) = (block[i / 2], block[i / 2 + HALF / 2]);
        // SAFETY: the caller runs with AVX2.
        unsafe {
            match (SIZE, i % 2) {
                (1, 0) => _mm256_unpacklo_epi8(a, b),
                (1, _) => _mm256_unpackhi_epi8(a, b),
                (2, 0) => _mm256_unpacklo_epi16(a, b),
                (2, _) => _mm256_unpackhi_epi16(a, b),
                (4, 0) => _mm256_unpacklo_epi32(a, b),
                (4, _) => _mm256_unpackhi_epi32(a, b),
                (_, 0) => _mm256_unpacklo_epi64(a, b),
                (_, _) => _mm256_unpackhi_epi64(a, b),
            }
        }
    })
}
