//! Plans: a copy between two strided arrays, reduced to what has to be done.

use super::axes::{each, Axes, Axis};
use super::instructions::Instructions;
use super::planes::{self, Plane};
use super::runs::{self, Runs};
use super::{elements, rows};
use crate::array::{Extents, Strides};
use crate::base::{Bytes, Error, Kind, Result};

/// From this size on, stores go past the cache: what is written would push out what is still to be read. At 7 MB both
/// cost the same here, at 16 MB these less (two cores of an AMD EPYC of 2024, 32 MiB of last-level cache).
const STREAMED: u64 = 8 << 20;

/// A copy between two strided arrays, planned once and run as often as wanted.
///
/// ```
/// use thalweg_foundation::array::Plan;
/// // a row-major 2 by 3 array of two-byte numbers becomes column-major
/// let plan = Plan::new(2, &[2, 3], &[6, 2], &[2, 4])?;
/// let (from, mut to) = ([1u16, 2, 3, 4, 5, 6], [0u16; 6]);
/// // SAFETY: both arrays hold six numbers.
/// unsafe { plan.run(from.as_ptr().cast(), to.as_mut_ptr().cast()) };
/// assert_eq!(to, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), thalweg_foundation::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What surrounds a row, a plane or an element, innermost last.
    outer: Axes,
    way: Way,
    /// Where the first position lies from the addresses that a run is given.
    begin: (i64, i64),
    bytes: u64,
    streamed: bool,
    instructions: Instructions,
}

#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // a plan needs no heap
enum Way {
    /// There is nothing to copy.
    Nothing,
    /// So many bytes behind each other on both sides.
    Rows(usize),
    /// Elements of this size, contiguous along one axis of the source and another one of the target.
    Planes(Plane, usize),
    /// The same where the axes that continue these in memory make them longer.
    Runs(Runs, usize),
    /// Elements of this size with gaps, along the fastest axes of source and target.
    Elements(Plane, usize),
}

/// One of the pieces that `Plan::split` cuts: a plan, and where it begins from the addresses of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The copy of this piece.
    pub plan: Plan,
    /// Where it begins in the source, in bytes.
    pub from: i64,
    /// Where it begins in the target, in bytes.
    pub to: i64,
}

impl Part {
    /// Copies this piece; the addresses are those of the whole arrays.
    ///
    /// # Safety
    /// As for `Plan::run` of the whole plan. Parts of one split write disjoint memory and may run side by side.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        // SAFETY: a part's positions are among those of the whole.
        unsafe { self.plan.run(from.offset(self.from as isize), to.offset(self.to as isize)) }
    }
}

impl Plan {
    /// The copy of `extents` elements of `element` bytes each, with strides in bytes on both sides; slowest axis first,
    /// or in any other order that both sides share. Strides may be negative.
    ///
    /// # Errors
    /// `Shape` when there is not one stride for each axis, the size overflows, or two elements of the target meet because
    /// a stride of `to` is zero; `DType` when an element has no bytes.
    pub fn new(element: u32, extents: &[u64], from: &Strides, to: &Strides) -> Result<Plan> {
        let mut axes = checked(element, extents, from, to)?;
        let bytes = extents.iter().product::<u64>() * u64::from(element);
        let mut begin = (0, 0);
        let mut turn = |axis: &mut Axis| {
            let (reversed, from, to) = axis.reversed();
            *axis = reversed;
            begin = (begin.0 + from, begin.1 + to);
        };
        let mut way = Way::Nothing;
        if bytes > 0 {
            axes.as_mut_slice().iter_mut().filter(|axis| axis.to < 0).for_each(&mut turn);
            axes.merge();
            way = reduced(&mut axes, element as usize, &mut turn);
            axes.by_reach();
        }
        let (streamed, instructions) = (bytes >= STREAMED, Instructions::here());
        Ok(Plan { outer: axes, way, begin, bytes, streamed, instructions })
    }

    /// Bytes that one run copies.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Copies from the array whose first element is at `from` into the one whose first element is at `to`.
    ///
    /// # Safety
    /// Every element that the extents and strides of the plan reach must be readable from `from` and writable from `to`; no
    /// two elements of the target may share memory, and the two arrays must not overlap.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        let (from, to) =
            (from.wrapping_offset(self.begin.0 as isize), to.wrapping_offset(self.begin.1 as isize));
        let (outer, streamed) = (self.outer.as_slice(), self.streamed);
        // SAFETY: the caller's promise for every position of the outer axes.
        unsafe {
            match &self.way {
                Way::Nothing => {}
                Way::Rows(run) => rows::copy(outer, *run, from, to, streamed, self.instructions),
                Way::Planes(plane, size) => {
                    planes::turn(outer, plane, *size, from, to, streamed, self.instructions)
                }
                Way::Runs(these, size) => {
                    runs::turn(outer, these, *size, from, to, streamed, self.instructions)
                }
                Way::Elements(plane, size) => {
                    each(outer, from, to, |from, to, _| elements::copy(plane, *size, from, to))
                }
            }
        }
    }

    /// The same copy cut into at most `parts` plans of about equal size that write disjoint memory.
    ///
    /// Threads are the caller's: whoever has some runs the parts side by side.
    pub fn split(&self, parts: usize) -> Vec<Part> {
        let mut found = Vec::new();
        if self.bytes > 0 {
            self.cut(parts.max(1), 0, 0, &mut found);
        }
        found
    }

    fn cut(&self, parts: usize, from: i64, to: i64, found: &mut Vec<Part>) {
        let axes = self.axes(parts);
        let units = |i: usize| axes[i].0.count.div_ceil(axes[i].1);
        // the slowest axis that gives every part something, else the one that gives the most
        let at = (0..axes.len()).find(|i| units(*i) >= parts);
        let at = at.or_else(|| (0..axes.len()).max_by_key(|i| units(*i)));
        let Some(at) = at.filter(|i| parts > 1 && units(*i) > 1) else {
            return found.push(Part { plan: *self, from, to });
        };
        let (pieces, (axis, unit)) = (parts.min(units(at)), axes[at]);
        for piece in 0..pieces {
            let edge = |n: usize| (units(at) * n / pieces * unit).min(axis.count);
            let (low, high) = (edge(piece), edge(piece + 1));
            let mut plan = *self;
            plan.resize(at, high - low);
            plan.bytes = self.bytes / axis.count as u64 * (high - low) as u64;
            let parts = parts * (piece + 1) / pieces - parts * piece / pieces;
            plan.cut(parts, from + low as i64 * axis.from, to + low as i64 * axis.to, found);
        }
    }

    /// The axes that can be cut, slowest first, each with the steps that are best left together.
    fn axes(&self, parts: usize) -> Vec<(Axis, usize)> {
        let mut all: Vec<(Axis, usize)> = self.outer.as_slice().iter().map(|axis| (*axis, 1)).collect();
        let mut whole_lines = |axis: Axis, unit: usize| {
            all.push((axis, if axis.count >= 4 * unit * parts { unit } else { 1 }));
        };
        match &self.way {
            Way::Nothing => {}
            Way::Rows(run) => whole_lines(Axis { count: *run, from: 1, to: 1 }, rows::PIECE),
            // only the slowest axis of a run: the others lie inside it
            Way::Runs(runs, _) => {
                all.push((*runs.source.as_slice().first().unwrap_or(&runs.plane.source), 1));
                all.push((*runs.target.as_slice().first().unwrap_or(&runs.plane.target), 1));
            }
            Way::Planes(plane, size) | Way::Elements(plane, size) => {
                let unit = (planes::SPAN / size).max(1);
                whole_lines(plane.source, unit);
                whole_lines(plane.target, unit);
            }
        }
        all
    }

    fn resize(&mut self, at: usize, count: usize) {
        let outer = self.outer.as_slice().len();
        match &mut self.way {
            _ if at < outer => self.outer.as_mut_slice()[at].count = count,
            Way::Nothing => {}
            Way::Rows(run) => *run = count,
            Way::Runs(runs, _) if at == outer => {
                runs.source.as_mut_slice().first_mut().unwrap_or(&mut runs.plane.source).count = count
            }
            Way::Runs(runs, _) => {
                runs.target.as_mut_slice().first_mut().unwrap_or(&mut runs.plane.target).count = count
            }
            Way::Planes(plane, _) | Way::Elements(plane, _) if at == outer => plane.source.count = count,
            Way::Planes(plane, _) | Way::Elements(plane, _) => plane.target.count = count,
        }
    }

    /// The same plan with narrower instructions than the processor has, and with or without streamed stores.
    #[cfg(test)]
    pub(super) fn forced(self, instructions: Instructions, streamed: bool) -> Plan {
        Plan { instructions, streamed, ..self }
    }
}

/// The axes with more than one element.
fn checked(element: u32, extents: &[u64], from: &Strides, to: &Strides) -> Result<Axes> {
    let refuse = |kind, detail: String| Err(Error::new(kind, "relayout", detail));
    let extents = Extents::new(extents)?;
    let dims = extents.as_slice().len();
    if from.len() != dims || to.len() != dims {
        let detail = format!(
            "{} strides of the source and {} of the target for extents {extents:?}; expected one for each axis",
            from.len(),
            to.len()
        );
        return refuse(Kind::Shape, detail);
    }
    if element == 0 {
        return refuse(Kind::DType, "elements of 0 bytes; accepted are at least 1".into());
    }
    let empty = extents.as_slice().contains(&0);
    let size = extents.as_slice().iter().try_fold(u64::from(element), |size, n| size.checked_mul(*n));
    if !empty && size.is_none_or(|size| size >= 1 << 63) {
        let detail =
            format!("extents {extents:?} of {element} bytes overflow; accepted are at most 2^63 - 1 bytes");
        return refuse(Kind::Shape, detail);
    }
    let mut axes = Axes::NONE;
    for (i, count) in extents.as_slice().iter().enumerate().filter(|(_, count)| **count != 1) {
        let axis = Axis { count: *count as usize, from: from[i], to: to[i] };
        let far = |step: i64| step.unsigned_abs().checked_mul(*count).is_none_or(|reach| reach >= 1 << 63);
        if !empty && (axis.to == 0 || far(axis.from) || far(axis.to)) {
            let detail = format!(
                "axis {i} with {count} elements and strides {} and {}; accepted are strides within 2^63 bytes, \
                 and none of 0 in the target",
                axis.from, axis.to
            );
            return refuse(Kind::Shape, detail);
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// Takes the axes that rows, planes or elements consist of; those around them stay.
fn reduced(axes: &mut Axes, element: usize, turn: &mut impl FnMut(&mut Axis)) -> Way {
    let mut size = element;
    let contiguous = |axis: &Axis, size: usize| axis.from == size as i64 && axis.to == size as i64;
    if let Some(last) = axes.as_slice().last().copied().filter(|axis| contiguous(axis, size)) {
        axes.remove(axes.as_slice().len() - 1);
        size *= last.count;
    }
    if axes.as_slice().is_empty() || size > elements::LONGEST {
        return Way::Rows(size);
    }
    let target = axes.remove(axes.as_slice().len() - 1);
    let nearest = (0..axes.as_slice().len()).min_by_key(|i| axes.as_slice()[*i].from.unsigned_abs());
    let nearest = nearest.filter(|i| axes.as_slice()[*i].from.unsigned_abs() < target.from.unsigned_abs());
    let Some(nearest) = nearest else {
        return Way::Elements(Plane { source: Axis::POINT, target }, size);
    };
    let mut source = axes.remove(nearest);
    if source.from < 0 {
        turn(&mut source);
    }
    let plane = Plane { source, target };
    if source.from == size as i64 && target.to == size as i64 && matches!(size, 1 | 2 | 4 | 8 | 16) {
        Runs::of(plane, size, axes).map_or(Way::Planes(plane, size), |runs| Way::Runs(runs, size))
    } else {
        Way::Elements(plane, size)
    }
}
