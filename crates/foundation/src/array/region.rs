//! Regions: boxes in an index space, given by their lower corner and extent.

use super::Extents;
use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The cells `lower[i] <= index[i] < lower[i] + extent[i]` of an index space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Region {
    lower: Extents,
    extent: Extents,
}

impl Region {
    /// The region with lower corner `lower` and `extent` cells along each axis.
    ///
    /// # Errors
    /// `Shape` when the two differ in dimensions, or an upper corner overflows.
    pub fn new(lower: &[u64], extent: &[u64]) -> Result<Region> {
        let region = Region { lower: Extents::new(lower)?, extent: Extents::new(extent)? };
        if lower.len() != extent.len() {
            let detail =
                format!("lower {:?} and extent {:?} differ in dimensions", region.lower, region.extent);
            return Err(Error::new(Kind::Shape, "region", detail));
        }
        if lower.iter().zip(extent).any(|(l, e)| l.checked_add(*e).is_none()) {
            let detail = format!("lower {:?} plus extent {:?} overflows", region.lower, region.extent);
            return Err(Error::new(Kind::Shape, "region", detail));
        }
        Ok(region)
    }

    /// The region of all cells of an array with `extents`.
    pub fn whole(extents: &Extents) -> Region {
        let mut lower = *extents;
        lower.as_mut_slice().fill(0);
        Region { lower, extent: *extents }
    }

    /// The same cells, counted from `origin`, which is no higher than the lower corner along any axis.
    pub fn seen_from(&self, origin: &[u64]) -> Region {
        let mut moved = *self;
        for (lower, from) in moved.lower.as_mut_slice().iter_mut().zip(origin) {
            *lower = lower.saturating_sub(*from);
        }
        moved
    }

    /// The numbers of cells along each axis.
    pub fn extents(&self) -> Extents {
        self.extent
    }

    /// The first cell along each axis.
    pub fn lower(&self) -> &[u64] {
        self.lower.as_slice()
    }

    /// The number of cells along each axis.
    pub fn extent(&self) -> &[u64] {
        self.extent.as_slice()
    }

    /// The first cell behind the region along axis `i`.
    pub fn upper(&self, i: usize) -> u64 {
        self.lower()[i] + self.extent()[i]
    }

    /// The number of cells; one for a region of no dimensions.
    pub fn cells(&self) -> u128 {
        self.extent().iter().map(|e| u128::from(*e)).product()
    }

    /// Whether it has no cell.
    pub fn is_empty(&self) -> bool {
        self.extent().contains(&0)
    }

    /// Whether every cell of `other` is in this region; an empty region is in all of its dimensions.
    pub fn contains(&self, other: &Region) -> bool {
        self.lower().len() == other.lower().len()
            && (other.is_empty()
                || (0..self.lower().len())
                    .all(|i| self.lower()[i] <= other.lower()[i] && other.upper(i) <= self.upper(i)))
    }

    /// The cells in both; none when they do not meet or differ in dimensions.
    pub fn intersection(&self, other: &Region) -> Option<Region> {
        if self.lower().len() != other.lower().len() {
            return None;
        }
        let mut both = *self;
        for i in 0..self.lower().len() {
            let lower = self.lower()[i].max(other.lower()[i]);
            let upper = self.upper(i).min(other.upper(i));
            if lower >= upper {
                return None;
            }
            both.lower.as_mut_slice()[i] = lower;
            both.extent.as_mut_slice()[i] = upper - lower;
        }
        Some(both)
    }

    /// The cells of this region that are not in `other`, as regions that do not meet.
    pub fn without(&self, other: &Region) -> Vec<Region> {
        let Some(hole) = self.intersection(other) else {
            return if self.is_empty() { Vec::new() } else { vec![*self] };
        };
        let (mut rest, mut pieces) = (*self, Vec::new());
        for i in 0..rest.lower().len() {
            let (low, high) = (rest.lower()[i], rest.upper(i));
            for (from, to) in [(low, hole.lower()[i]), (hole.upper(i), high)] {
                if from < to {
                    let mut piece = rest;
                    piece.lower.as_mut_slice()[i] = from;
                    piece.extent.as_mut_slice()[i] = to - from;
                    pieces.push(piece);
                }
            }
            rest.lower.as_mut_slice()[i] = hole.lower()[i];
            rest.extent.as_mut_slice()[i] = hole.extent()[i];
        }
        pieces
    }

    /// The cells that are in none of `holes`, as regions that do not meet; at most `most` of these.
    pub fn outside<'a>(&self, holes: impl Iterator<Item = &'a Region>, most: usize) -> Vec<Region> {
        let met: Vec<Region> = holes.filter_map(|hole| self.intersection(hole)).collect();
        let (mut found, mut rest) = (Vec::new(), vec![(*self, met)]);
        while let Some((region, holes)) = rest.pop() {
            if found.len() >= most {
                break;
            }
            // Divides like quicksort: each hole is looked at again only where it is.
            let Some(middle) = holes.get(holes.len() / 2) else {
                found.extend((!region.is_empty()).then_some(region));
                continue;
            };
            for part in region.without(middle).into_iter().rev() {
                rest.push((part, holes.iter().filter_map(|hole| part.intersection(hole)).collect()));
            }
        }
        found
    }

    /// Cuts it in two across its longest axis; none when it has a single cell.
    pub fn halves(&self) -> Option<[Region; 2]> {
        let extent = self.extent.as_slice();
        let axis = (0..extent.len()).max_by_key(|i| extent[*i]).filter(|i| extent[*i] > 1)?;
        let (mut first, mut second) = (*self, *self);
        let half = extent[axis] / 2;
        first.extent.as_mut_slice()[axis] = half;
        second.lower.as_mut_slice()[axis] += half;
        second.extent.as_mut_slice()[axis] -= half;
        Some([first, second])
    }

    /// The smallest region that holds both; none when they differ in dimensions.
    pub fn hull(&self, other: &Region) -> Option<Region> {
        if self.lower().len() != other.lower().len() {
            return None;
        }
        let mut both = *self;
        for i in 0..self.lower().len() {
            let lower = self.lower()[i].min(other.lower()[i]);
            both.lower.as_mut_slice()[i] = lower;
            both.extent.as_mut_slice()[i] = self.upper(i).max(other.upper(i)) - lower;
        }
        Some(both)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for i in 0..self.lower().len() {
            write!(f, "{}{}:{}", if i > 0 { ", " } else { "" }, self.lower()[i], self.upper(i))?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Region {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Region, D::Error> {
        let (lower, extent): (Extents, Extents) = Deserialize::deserialize(from)?;
        Region::new(lower.as_slice(), extent.as_slice()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boxes() -> impl Strategy<Value = (Region, Region)> {
        (1usize..4).prop_flat_map(|dims| {
            let one = (prop::collection::vec(0u64..6, dims), prop::collection::vec(0u64..6, dims));
            (one.clone(), one).prop_map(|((al, ae), (bl, be))| {
                (Region::new(&al, &ae).unwrap(), Region::new(&bl, &be).unwrap())
            })
        })
    }

    fn has(region: &Region, cell: &[u64]) -> bool {
        cell.iter().enumerate().all(|(i, c)| region.lower()[i] <= *c && *c < region.upper(i))
    }

    fn cells(dims: usize) -> Vec<Vec<u64>> {
        (0..12u64.pow(dims as u32))
            .map(|n| (0..dims as u32).map(|i| n / 12u64.pow(i) % 12).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_cell_by_cell_membership((a, b) in boxes()) {
            let both = a.intersection(&b);
            let rest = a.without(&b);
            let hull = a.hull(&b).unwrap();
            for cell in cells(a.lower().len()) {
                let (in_a, in_b) = (has(&a, &cell), has(&b, &cell));
                prop_assert_eq!(both.is_some_and(|r| has(&r, &cell)), in_a && in_b);
                prop_assert_eq!(rest.iter().filter(|r| has(r, &cell)).count(), usize::from(in_a && !in_b));
                prop_assert!(!(in_a || in_b) || has(&hull, &cell));
            }
            prop_assert_eq!(a.contains(&b), cells(a.lower().len()).iter().all(|c| !has(&b, c) || has(&a, c)));
        }

        #[test]
        fn what_is_outside_of_holes_is_in_none_of_them(a in boxes(), b in boxes(), most in 0usize..9) {
            let dims = a.0.lower().len();
            let holes: Vec<Region> = [a.1, b.0, b.1].into_iter().filter(|h| h.lower().len() == dims).collect();
            let outside = a.0.outside(holes.iter(), usize::MAX);
            for cell in cells(dims) {
                let out = has(&a.0, &cell) && !holes.iter().any(|h| has(h, &cell));
                prop_assert_eq!(outside.iter().filter(|r| has(r, &cell)).count(), usize::from(out));
            }
            let some = a.0.outside(holes.iter(), most);
            prop_assert_eq!(&some[..], &outside[..most.min(outside.len())]);
        }

        #[test]
        fn halves_make_up_the_whole((a, _) in boxes()) {
            let Some([first, second]) = a.halves() else {
                prop_assert!(a.extents().as_slice().iter().all(|n| *n <= 1));
                return Ok(());
            };
            prop_assert!(!first.is_empty() || a.is_empty());
            prop_assert!(first.intersection(&second).is_none());
            prop_assert_eq!((first.hull(&second), first.cells() + second.cells()), (Some(a), a.cells()));
        }
    }

    #[test]
    fn a_region_beyond_the_last_index_is_refused() {
        let error = Region::new(&[u64::MAX], &[1]).unwrap_err();
        assert_eq!(error.to_string(), "region: lower (18446744073709551615,) plus extent (1,) overflows");
        assert!(Region::new(&[0, 0], &[1]).is_err());
    }
}
