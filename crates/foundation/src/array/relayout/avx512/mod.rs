//! Planes turned in 512-bit registers: a register holds a line of the source, then a line of the target.

mod groups;
mod registers;
mod squares;
mod stores;

use super::planes::{Places, Stores};
use registers::Of;

/// So many lines ahead along the source its lines are asked for.
const AHEAD: usize = 8;

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
            1 => groups::walk::<Of<1>, 16>(plane, from, to, next, stores),
            2 => groups::walk::<Of<2>, 8>(plane, from, to, next, stores),
            4 => groups::walk::<Of<4>, 4>(plane, from, to, next, stores),
            8 => squares::walk::<Of<8>, 2>(plane, from, to, next, stores),
            _ => squares::walk::<Of<16>, 2>(plane, from, to, next, stores),
        }
    }
}
