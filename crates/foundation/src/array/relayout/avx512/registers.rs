//! Rows turned into columns inside registers.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)] // one number for a place in several arrays of registers

use crate::array::relayout::planes::LINE;
use std::arch::x86_64::*;
use std::ops::IndexMut;

/// As many lines of the source as a line has elements, and how they are turned.
pub(super) trait Square {
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

/// Elements of so many bytes.
pub(super) struct Of<const SIZE: usize>;

/// Rows that are turned together when elements are small, and words of a line; bytes of a word.
pub(super) const GROUP: usize = 8;
pub(super) const WORD: usize = 8;

/// Elements smaller than a word.
pub(super) trait Small {
    /// Bytes of an element.
    const SIZE: usize;
    /// Elements of a line.
    const LINES: usize = LINE / Self::SIZE;
    /// Which bytes of eight words, one from each row, belong where when elements of one column stand side by side.
    const BY_COLUMN: [u8; LINE];
    /// The columns of one word, from so many groups from `first` on as fill a line.
    unsafe fn joined(groups: &[__m512i], first: usize) -> [__m512i; WORD];
}

// Plain loops, no closures: those would be compiled for any processor, and could not be inlined here.

/// Turns eight lines of eight 8-byte words.
#[inline(always)]
pub(super) unsafe fn turn_words(lines: &[__m512i; 8]) -> [__m512i; 8] {
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
pub(super) unsafe fn turn_quarters(lines: &[__m512i; 4]) -> [__m512i; 4] {
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

/// `Small::BY_COLUMN` for elements of `SIZE` bytes.
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

/// Turns the words of eight lines, then the elements inside: line `w` of the result has the elements of word `w`, those
/// of one column side by side.
#[inline(always)]
pub(super) unsafe fn turn_group<S: Small>(lines: &[__m512i; GROUP]) -> [__m512i; WORD] {
    // SAFETY: the caller runs with AVX-512 F and VBMI.
    unsafe {
        let index = _mm512_loadu_si512(S::BY_COLUMN.as_ptr().cast());
        let mut words = turn_words(lines);
        for word in &mut words {
            *word = _mm512_permutexvar_epi8(index, *word);
        }
        words
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

impl Small for Of<4> {
    const SIZE: usize = 4;
    const BY_COLUMN: [u8; LINE] = by_column::<4>();
    #[inline(always)]
    unsafe fn joined(groups: &[__m512i], first: usize) -> [__m512i; WORD] {
        // SAFETY: the caller runs with AVX-512 F.
        unsafe {
            let (low, high) = (groups[first], groups[first + 1]);
            let mut lines = [_mm512_setzero_si512(); WORD];
            lines[0] = _mm512_shuffle_i64x2::<0x44>(low, high);
            lines[1] = _mm512_shuffle_i64x2::<0xee>(low, high);
            lines
        }
    }
}

impl Small for Of<2> {
    const SIZE: usize = 2;
    const BY_COLUMN: [u8; LINE] = by_column::<2>();
    #[inline(always)]
    unsafe fn joined(groups: &[__m512i], first: usize) -> [__m512i; WORD] {
        // SAFETY: the caller runs with AVX-512 F.
        unsafe {
            let four = [groups[first], groups[first + 1], groups[first + 2], groups[first + 3]];
            let [a, b, c, d] = turn_quarters(&four);
            let nothing = _mm512_setzero_si512();
            [a, b, c, d, nothing, nothing, nothing, nothing]
        }
    }
}

impl Small for Of<1> {
    const SIZE: usize = 1;
    const BY_COLUMN: [u8; LINE] = by_column::<1>();
    #[inline(always)]
    unsafe fn joined(groups: &[__m512i], first: usize) -> [__m512i; WORD] {
        // SAFETY: the caller runs with AVX-512 F.
        unsafe {
            let mut eight = [_mm512_setzero_si512(); 8];
            for i in 0..8 {
                eight[i] = groups[first + i];
            }
            turn_words(&eight)
        }
    }
}
