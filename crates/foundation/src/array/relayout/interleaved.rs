//! Narrow planes: a few values side by side on one side, each in a row of its own on the other, as in arrays of structs.
//!
//! As many lines as there are values hold as many bytes on both sides, so lines are turned into lines, and every line of
//! the target picks its bytes from all those of the source. Whole lines are read and written, where squares would
//! mostly hold nothing.

use super::planes::{Plane, LINE};
use std::arch::x86_64::*;

/// More values than this are turned in squares: picking grows with their square.
const WIDEST: usize = 8;

/// Fewer bytes than this do not pay for the table of what is picked.
const SHORTEST: usize = 32 << 10;

/// So many bytes ahead each line of the source is asked for.
const AHEAD: usize = 1024;

/// Which side has the values side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Narrow {
    Source,
    Target,
}

/// What one line of the target takes from one of the source.
#[derive(Clone, Copy)]
struct Pick {
    /// For each byte of the target, which one.
    bytes: [u8; LINE],
    /// Which bytes of the target are taken.
    taken: u64,
}

/// Copies a plane that is narrow and long; what is left of it, and where that begins. The whole plane when it is neither.
///
/// # Safety
/// As for `planes::turn`; the processor must have AVX-512 F, BW and VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn turn(
    plane: &Plane,
    size: usize,
    from: *const u8,
    to: *mut u8,
    streamed: bool,
) -> (Plane, *const u8, *mut u8) {
    let (source, target) = (plane.source, plane.target);
    if source.count * target.count * size < SHORTEST {
        return (*plane, from, to);
    }
    let packed = |count: usize, step: i64| count <= WIDEST && step == (count * size) as i64;
    let narrow = match () {
        () if packed(source.count, target.from) => Narrow::Source,
        () if packed(target.count, source.to) => Narrow::Target,
        () => return (*plane, from, to),
    };
    // SAFETY: passed on.
    unsafe {
        match if narrow == Narrow::Source { source.count } else { target.count } {
            2 => walk::<2>(plane, narrow, size, from, to, streamed),
            3 => walk::<3>(plane, narrow, size, from, to, streamed),
            4 => walk::<4>(plane, narrow, size, from, to, streamed),
            5 => walk::<5>(plane, narrow, size, from, to, streamed),
            6 => walk::<6>(plane, narrow, size, from, to, streamed),
            7 => walk::<7>(plane, narrow, size, from, to, streamed),
            _ => walk::<8>(plane, narrow, size, from, to, streamed),
        }
    }
}

/// Copies as many whole groups of `VALUES` lines as there are; what is left.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn walk<const VALUES: usize>(
    plane: &Plane,
    narrow: Narrow,
    size: usize,
    from: *const u8,
    to: *mut u8,
    streamed: bool,
) -> (Plane, *const u8, *mut u8) {
    let at_once = LINE / size;
    let line = LINE as i64;
    // from one line to the next, and from one group of lines to the next
    let ((count, reads), (next_read, writes, next_write)) = match narrow {
        Narrow::Source => ((plane.target.count, line), (line * VALUES as i64, plane.source.to, line)),
        Narrow::Target => ((plane.source.count, plane.target.from), (line, line, line * VALUES as i64)),
    };
    let streamed = streamed && (to as usize).is_multiple_of(LINE) && writes % line == 0;
    let picks = picks::<VALUES>(narrow, size);
    for group in 0..(count / at_once) as i64 {
        // SAFETY: whole lines of the caller's plane; asking for a line ahead cannot fail.
        unsafe {
            let from = from.offset((group * next_read) as isize);
            let to = to.offset((group * next_write) as isize);
            let lines: [__m512i; VALUES] = std::array::from_fn(|i| {
                let line = from.offset(i as isize * reads as isize);
                _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(AHEAD).cast());
                _mm512_loadu_si512(line.cast())
            });
            for (i, picks) in picks.iter().enumerate() {
                let mut picked = _mm512_setzero_si512();
                for (line, pick) in lines.iter().zip(picks) {
                    let bytes = _mm512_loadu_si512(pick.bytes.as_ptr().cast());
                    picked = _mm512_mask_permutexvar_epi8(picked, pick.taken, bytes, *line);
                }
                let to = to.offset(i as isize * writes as isize).cast();
                if streamed {
                    _mm512_stream_si512(to, picked);
                } else {
                    _mm512_storeu_si512(to, picked);
                }
            }
        }
    }
    let done = count / at_once * at_once;
    let mut rest = *plane;
    let (source, target) = if narrow == Narrow::Source { (0, done) } else { (done, 0) };
    rest.source.count -= source;
    rest.target.count -= target;
    let (from, to) = plane.at(source, target, from, to);
    (rest, from, to)
}

/// For each line of the target, what it takes from each of the source.
fn picks<const VALUES: usize>(narrow: Narrow, size: usize) -> [[Pick; VALUES]; VALUES] {
    let mut all = [[Pick { bytes: [0; LINE], taken: 0 }; VALUES]; VALUES];
    let at_once = LINE / size;
    for (line, picks) in all.iter_mut().enumerate() {
        for place in 0..at_once {
            let (row, column) = match narrow {
                // value `line` of record `place`, which is so many elements into the lines of the source
                Narrow::Source => ((place * VALUES + line) / at_once, (place * VALUES + line) % at_once),
                Narrow::Target => ((line * at_once + place) % VALUES, (line * at_once + place) / VALUES),
            };
            for byte in 0..size {
                picks[row].bytes[place * size + byte] = (column * size + byte) as u8;
                picks[row].taken |= 1 << (place * size + byte);
            }
        }
    }
    all
}
