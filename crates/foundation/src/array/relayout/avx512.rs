//! Planes turned in 512-bit registers: a register holds a line of the source, then a line of the target.

use super::planes::{Places, Stores, DEPTH, LINE};
use std::arch::x86_64::*;
use std::ops::IndexMut;

/// So many squares ahead along the source its lines are asked for.
const AHEAD: usize = 8;

/// As many lines of the source as a line has elements, and how they are turned.
trait Square {
    /// Bytes of an element.
    const SIZE: usize;
    /// Lines of a square, elements of a line.
    const LINES: usize = LINE / Self::SIZE;
    /// The lines.
    type Lines: Copy + IndexMut<usize, Output = __m512i>;
    /// A square of zeros.
    unsafe fn zero() -> Self::Lines;
    /// Turns rows into columns.
    unsafe fn turn(lines: &mut Self::Lines);
}

struct Of<const SIZE: usize>;

/// Copies one plane; `next` is where the source of the next one begins.
///
/// # Safety
/// As for `planes::turn`; the processor must have AVX-512 F, BW and VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn turn(
    plane: &impl Places,
    size: usize,
    from: *const u8,
    to: *mut u8,
    next: *const u8,
    stores: Stores,
) {
    // SAFETY: passed on.
    unsafe {
        match size {
            1 => walk::<Of<1>, 1>(plane, from, to, next, stores),
            2 => walk::<Of<2>, 1>(plane, from, to, next, stores),
            4 => walk::<Of<4>, 2>(plane, from, to, next, stores),
            8 => walk::<Of<8>, 2>(plane, from, to, next, stores),
            _ => walk::<Of<16>, 2>(plane, from, to, next, stores),
        }
    }
}

/// Walks along the source, `WIDE` squares side by side in the target.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn walk<S: Square, const WIDE: usize>(
    plane: &impl Places,
    from: *const u8,
    to: *mut u8,
    next: *const u8,
    stores: Stores,
) {
    let (depth, length) = (plane.depth(), plane.length());
    let step = WIDE * S::LINES;
    // What was read of each row of the target and did not fill a line.
    let mut carried = [const { std::mem::MaybeUninit::<__m512i>::uninit() }; DEPTH];
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

/// The lowest `bytes` bits.
#[inline(always)]
fn first(bytes: usize) -> u64 {
    if bytes >= LINE {
        u64::MAX
    } else {
        (1 << bytes) - 1
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

#[inline(always)]
unsafe fn write_masked<const WIDE: usize>(row: [__m512i; WIDE], to: *mut u8, end: usize) {
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
unsafe fn joined(before: __m512i, line: __m512i, phase: usize) -> __m512i {
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
unsafe fn write_shifted<const WIDE: usize>(row: [__m512i; WIDE], before: __m512i, to: *mut u8) {
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
unsafe fn write_edge<const WIDE: usize>(
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

// Plain loops, no closures: those would be compiled for any processor, and could not be inlined here.

/// Turns eight lines of eight 8-byte words.
#[inline(always)]
unsafe fn turn_words(lines: &[__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the caller runs with AVX-512 F.
    unsafe {
        let mut even = [_mm512_setzero_si512(); 4];
        let mut odd = even;
        for i in 0..4 {
            even[i] = _mm512_unpacklo_epi64(lines[2 * i], lines[2 * i + 1]);
            odd[i] = _mm512_unpackhi_epi64(lines[2 * i], lines[2 * i + 1]);
        }
        let (even, odd) = (turn_quarters(&even), turn_quarters(&odd));
        [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
    }
}

/// Turns four lines of four 16-byte words.
#[inline(always)]
unsafe fn turn_quarters(lines: &[__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller runs with AVX-512 F.
    unsafe {
        let [a, b, c, d] = *lines;
        let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
        let (ab_odd, cd_odd) = (_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d));
        [
            _mm512_shuffle_i64x2::<0x88>(ab, cd),
            _mm512_shuffle_i64x2::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_i64x2::<0xdd>(ab, cd),
            _mm512_shuffle_i64x2::<0xdd>(ab_odd, cd_odd),
        ]
    }
}

/// For each byte of a line of eight 8-byte words, one from each line of the source, which byte of it belongs there when
/// elements of `SIZE` bytes of one column stand side by side.
const fn by_column<const SIZE: usize>() -> [u8; LINE] {
    let mut index = [0; LINE];
    let mut byte = 0;
    while byte < LINE {
        let (element, rest) = (byte / SIZE, byte % SIZE);
        let (column, line) = (element / 8, element % 8);
        index[byte] = ((line * (8 / SIZE) + column) * SIZE + rest) as u8;
        byte += 1;
    }
    index
}

/// Turns the words of lines `group * 8` and the seven after it, then the elements inside: line `w` of the result has the
/// elements of word `w`, those of one column side by side.
#[inline(always)]
unsafe fn turn_group<const SIZE: usize>(lines: &[__m512i], group: usize) -> [__m512i; 8] {
    // SAFETY: the caller runs with AVX-512 F and VBMI.
    unsafe {
        let index = _mm512_loadu_si512(const { by_column::<SIZE>() }.as_ptr().cast());
        let mut eight = [_mm512_setzero_si512(); 8];
        for i in 0..8 {
            eight[i] = lines[8 * group + i];
        }
        let mut eight = turn_words(&eight);
        for line in &mut eight {
            *line = _mm512_permutexvar_epi8(index, *line);
        }
        eight
    }
}

macro_rules! lines_of {
    ($count:literal) => {
        const SIZE: usize = LINE / $count;
        type Lines = [__m512i; $count];
        #[inline(always)]
        unsafe fn zero() -> Self::Lines {
            // SAFETY: the caller runs with AVX-512 F.
            unsafe { [_mm512_setzero_si512(); $count] }
        }
    };
}

impl Square for Of<16> {
    lines_of!(4);
    #[inline(always)]
    unsafe fn turn(lines: &mut Self::Lines) {
        // SAFETY: passed on.
        *lines = unsafe { turn_quarters(lines) };
    }
}

impl Square for Of<8> {
    lines_of!(8);
    #[inline(always)]
    unsafe fn turn(lines: &mut Self::Lines) {
        // SAFETY: passed on.
        *lines = unsafe { turn_words(lines) };
    }
}

impl Square for Of<4> {
    lines_of!(16);
    #[inline(always)]
    unsafe fn turn(lines: &mut Self::Lines) {
        // SAFETY: the caller runs with AVX-512 F and VBMI.
        unsafe {
            let (low, high) = (turn_group::<4>(lines, 0), turn_group::<4>(lines, 1));
            for word in 0..8 {
                lines[2 * word] = _mm512_shuffle_i64x2::<0x44>(low[word], high[word]);
                lines[2 * word + 1] = _mm512_shuffle_i64x2::<0xee>(low[word], high[word]);
            }
        }
    }
}

impl Square for Of<2> {
    lines_of!(32);
    #[inline(always)]
    unsafe fn turn(lines: &mut Self::Lines) {
        // SAFETY: the caller runs with AVX-512 F and VBMI.
        unsafe {
            let mut groups = [[_mm512_setzero_si512(); 8]; 4];
            for (i, group) in groups.iter_mut().enumerate() {
                *group = turn_group::<2>(lines, i);
            }
            for word in 0..8 {
                let quarters = [groups[0][word], groups[1][word], groups[2][word], groups[3][word]];
                lines[4 * word..4 * word + 4].copy_from_slice(&turn_quarters(&quarters));
            }
        }
    }
}

impl Square for Of<1> {
    lines_of!(64);
    #[inline(always)]
    unsafe fn turn(lines: &mut Self::Lines) {
        // SAFETY: the caller runs with AVX-512 F and VBMI.
        unsafe {
            let mut groups = [[_mm512_setzero_si512(); 8]; 8];
            for (i, group) in groups.iter_mut().enumerate() {
                *group = turn_group::<1>(lines, i);
            }
            for word in 0..8 {
                let mut words = [_mm512_setzero_si512(); 8];
                for (line, group) in words.iter_mut().zip(&groups) {
                    *line = group[word];
                }
                lines[8 * word..8 * word + 8].copy_from_slice(&turn_words(&words));
            }
        }
    }
}
