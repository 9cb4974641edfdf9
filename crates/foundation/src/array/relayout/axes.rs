//! The axes of a copy, in the fewest that say the same.

use crate::array::MAX_DIMS;

/// One axis: how many steps, and how far a step goes on each side in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::array) struct Axis {
    pub count: usize,
    pub from: i64,
    pub to: i64,
}

impl Axis {
    /// An axis without extent.
    pub const POINT: Axis = Axis { count: 1, from: 0, to: 0 };

    /// The same positions in the other direction, and how far its begin has moved on each side.
    pub fn reversed(self) -> (Axis, i64, i64) {
        let last = self.count as i64 - 1;
        (Axis { count: self.count, from: -self.from, to: -self.to }, last * self.from, last * self.to)
    }

    /// The shorter step of the two sides: the inner an axis is walked, the more of its cache lines are still there.
    fn reach(&self) -> u64 {
        self.from.unsigned_abs().min(self.to.unsigned_abs())
    }
}

/// Up to eight axes, without a heap allocation.
#[derive(Clone, Copy, Debug)]
pub(in crate::array) struct Axes {
    len: usize,
    all: [Axis; MAX_DIMS],
}

impl Axes {
    pub const NONE: Axes = Axes { len: 0, all: [Axis::POINT; MAX_DIMS] };

    pub fn as_slice(&self) -> &[Axis] {
        &self.all[..self.len]
    }

    pub fn as_mut_slice(&mut self) -> &mut [Axis] {
        &mut self.all[..self.len]
    }

    /// Adds an innermost axis; there is room for as many as an array may have.
    pub fn push(&mut self, axis: Axis) {
        self.all[self.len] = axis;
        self.len += 1;
    }

    /// Adds an outermost axis.
    pub fn push_outermost(&mut self, axis: Axis) {
        self.all.copy_within(..self.len, 1);
        self.all[0] = axis;
        self.len += 1;
    }

    /// Takes the axis at place `at` away.
    pub fn remove(&mut self, at: usize) -> Axis {
        let axis = self.all[at];
        self.all.copy_within(at + 1..self.len, at);
        self.len -= 1;
        axis
    }

    /// The slowest of the target first, and neighbours made one where they lie behind each other on both sides.
    pub fn merge(&mut self) {
        self.as_mut_slice().sort_by_key(|axis| std::cmp::Reverse(axis.to));
        let mut merged = Axes::NONE;
        for axis in self.as_slice() {
            let steps = axis.count as i64;
            match merged.as_mut_slice().last_mut() {
                Some(outer)
                    if Some(outer.from) == axis.from.checked_mul(steps)
                        && Some(outer.to) == axis.to.checked_mul(steps) =>
                {
                    *outer = Axis { count: outer.count * axis.count, ..*axis };
                }
                _ => merged.push(*axis),
            }
        }
        *self = merged;
    }

    /// The order in which neighbours in memory are met soon after each other.
    pub fn by_reach(&mut self) {
        self.as_mut_slice().sort_by_key(|axis| std::cmp::Reverse(axis.reach()));
    }
}

/// Calls `inner` with both addresses at every position of `axes`, the last axis fastest, and with where the source goes on
/// after it. No axis may be empty.
#[inline(always)]
pub(in crate::array) fn each(
    axes: &[Axis],
    from: *const u8,
    to: *mut u8,
    mut inner: impl FnMut(*const u8, *mut u8, *const u8),
) {
    let mut at = [0; MAX_DIMS];
    let (mut from, mut to) = (from, to);
    loop {
        let (mut next, mut next_to, mut more) = (from, to, false);
        for (i, axis) in axes.iter().enumerate().rev() {
            at[i] += 1;
            more = at[i] < axis.count;
            let steps = if more { 1 } else { 1 - axis.count as i64 };
            next = next.wrapping_offset((steps * axis.from) as isize);
            next_to = next_to.wrapping_offset((steps * axis.to) as isize);
            if more {
                break;
            }
            at[i] = 0;
        }
        inner(from, to, next);
        if !more {
            return;
        }
        (from, to) = (next, next_to);
    }
}
