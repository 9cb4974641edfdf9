//! Runs: several short axes that lie behind each other, taken as one direction of a plane.
//!
//! Squares need length in both directions. Where an axis is short, the one that continues it in memory makes it longer;
//! where each position of such a run lies on the other side is in a table.

use super::axes::{each, Axes, Axis};
use super::instructions::Instructions;
use super::planes::{self, Plane};
#[cfg(target_arch = "x86_64")]
use super::planes::{Places, Stores};

/// A run shorter than this is made longer, if it can be.
const SHORT: usize = 256;

/// Axes beyond those of a plane that make it longer, slowest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    pub plane: Plane,
    /// They continue the source.
    pub source: Axes,
    /// They continue the target.
    pub target: Axes,
}

impl Runs {
    /// Takes from `axes` what continues `plane`; none when nothing does, or nothing needs to.
    pub fn of(plane: Plane, size: usize, axes: &mut Axes) -> Option<Runs> {
        let mut runs = Runs { plane, source: Axes::NONE, target: Axes::NONE };
        let (mut depth, mut length) = (plane.source.count * size, plane.target.count * size);
        loop {
            let longer = |bytes: usize, step: fn(&Axis) -> i64, axes: &Axes| {
                let found = axes.as_slice().iter().position(|axis| step(axis) == bytes as i64);
                found.filter(|_| bytes < SHORT)
            };
            let (in_source, in_target) = (longer(depth, |a| a.from, axes), longer(length, |a| a.to, axes));
            match (in_source, in_target) {
                (Some(at), other) if other.is_none() || depth <= length => {
                    let axis = axes.remove(at);
                    depth *= axis.count;
                    runs.source.push_outermost(axis);
                }
                (_, Some(at)) => {
                    let axis = axes.remove(at);
                    length *= axis.count;
                    runs.target.push_outermost(axis);
                }
                _ => break,
            }
        }
        let any = !runs.source.as_slice().is_empty() || !runs.target.as_slice().is_empty();
        any.then_some(runs)
    }
}

/// Copies the planes that `runs` make at every position of `outer`.
///
/// # Safety
/// As for `planes::turn`.
pub(super) unsafe fn turn(
    outer: &[Axis],
    runs: &Runs,
    size: usize,
    from: *const u8,
    to: *mut u8,
    streamed: bool,
    instructions: Instructions,
) {
    #[cfg(target_arch = "x86_64")]
    if instructions == Instructions::Avx512 {
        let table = Table::of(runs);
        let steps = outer.iter().map(|axis| axis.to).chain(table.columns.iter().map(|place| *place as i64));
        let stores = Stores::of(table.length * size, to, steps, streamed);
        each(outer, from, to, |from, to, next| {
            // SAFETY: the caller's promise for this position; the processor has the instructions.
            unsafe { super::avx512::turn(&table, size, from, to, next, stores) }
        });
        // SAFETY: makes streamed stores visible in order; needs nothing.
        return unsafe { std::arch::x86_64::_mm_sfence() };
    }
    each(outer, from, to, |from, to, _| {
        each(runs.source.as_slice(), from, to, |from, to, _| {
            // SAFETY: the caller's promise for this position.
            unsafe {
                planes::turn(runs.target.as_slice(), &runs.plane, size, from, to, streamed, instructions)
            }
        });
    });
}

/// Where the positions of two runs lie.
#[cfg(target_arch = "x86_64")]
struct Table {
    rows: Vec<isize>,
    columns: Vec<isize>,
    length: usize,
}

#[cfg(target_arch = "x86_64")]
impl Table {
    fn of(runs: &Runs) -> Table {
        let fill = |first: Axis, more: &Axes, step: fn(&Axis) -> i64| {
            let mut places = vec![0];
            for axis in [first].iter().chain(more.as_slice().iter().rev()) {
                let before = places.len();
                for i in 1..axis.count {
                    let further = i as isize * step(axis) as isize;
                    places.extend_from_within(..before);
                    let new = places.len() - before;
                    places[new..].iter_mut().for_each(|place| *place += further);
                }
            }
            places
        };
        let mut rows = fill(runs.plane.target, &runs.target, |axis| axis.from);
        let length = rows.len();
        // lines beyond the last may be asked for
        rows.resize(length + 2 * planes::SPAN, 0);
        Table { rows, columns: fill(runs.plane.source, &runs.source, |axis| axis.to), length }
    }
}

#[cfg(target_arch = "x86_64")]
impl Places for Table {
    #[inline(always)]
    fn depth(&self) -> usize {
        self.columns.len()
    }
    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }
    #[inline(always)]
    fn row(&self, target: usize) -> isize {
        self.rows[target]
    }
    #[inline(always)]
    fn column(&self, source: usize) -> isize {
        self.columns[source]
    }
}
