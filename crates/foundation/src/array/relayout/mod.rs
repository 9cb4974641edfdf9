//! Copies between strided arrays at the speed of memory: planned once, run as often as wanted.
//!
//! A plan drops and merges axes until what is left is one of three things: rows that are contiguous on both sides
//! (`rows`), planes whose fastest axis differs between source and target, turned square by square in registers
//! (`planes`, with `avx512` or `avx2` where the processor has them;
//! short axes make one long one in `runs`, and a few values side by side are `interleaved`), or elements with gaps on both sides (`elements`).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod axes;
mod elements;
mod instructions;
#[cfg(target_arch = "x86_64")]
mod interleaved;
mod packed;
mod plan;
mod planes;
mod records;
mod rows;
mod runs;
#[cfg(test)]
mod tests;

pub(super) use axes::{each, Axes, Axis};
pub use packed::{gather, scatter};
pub use plan::{Part, Plan};
pub use records::{Arrangement, FieldSpan, RecordPlan};
