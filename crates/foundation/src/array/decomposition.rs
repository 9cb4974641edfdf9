//! Decompositions: a domain cut into a grid of blocks, one for each rank.

use super::{Extents, Region};
use crate::base::{Error, Kind, Rank, Result};

/// A domain cut into `blocks[i]` nearly equal parts along each axis; ranks count the last axis fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    domain: Region,
    blocks: Extents,
}

impl Decomposition {
    /// The cut of `domain` into `blocks` parts along each axis.
    ///
    /// # Errors
    /// `Shape` when the dimensions differ or an axis has no block.
    pub fn new(domain: Region, blocks: &[u64]) -> Result<Decomposition> {
        let blocks = Extents::new(blocks)?;
        if blocks.as_slice().len() != domain.extent().len() || blocks.as_slice().contains(&0) {
            let detail = format!(
                "{blocks:?} blocks for a domain of {} dimensions; give at least 1 for each",
                domain.extent().len()
            );
            return Err(Error::new(Kind::Shape, "decomposition", detail));
        }
        Ok(Decomposition { domain, blocks })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u64 {
        self.blocks.as_slice().iter().product()
    }

    /// The block of `rank`; empty when an axis has more blocks than cells and this one got none.
    ///
    /// # Errors
    /// `Invalid` when there is no such rank.
    pub fn block(&self, rank: Rank) -> Result<Region> {
        if u64::from(rank.0) >= self.ranks() {
            let detail = format!("rank {} of a decomposition with {} ranks", rank.0, self.ranks());
            return Err(Error::new(Kind::Invalid, "decomposition", detail));
        }
        let dims = self.domain.extent().len();
        let (mut lower, mut extent) = (vec![0; dims], vec![0; dims]);
        let mut rest = u64::from(rank.0);
        for i in (0..dims).rev() {
            let parts = self.blocks.as_slice()[i];
            let (at, cells) = (rest % parts, self.domain.extent()[i]);
            rest /= parts;
            let cut = |n: u64| (u128::from(cells) * u128::from(n) / u128::from(parts)) as u64;
            lower[i] = self.domain.lower()[i] + cut(at);
            extent[i] = cut(at + 1) - cut(at);
        }
        Region::new(&lower, &extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cell_is_in_exactly_one_block(
            axes in prop::collection::vec((0u64..5, 0u64..9, 1u64..5), 1..4)
        ) {
            let lower: Vec<u64> = axes.iter().map(|a| a.0).collect();
            let extent: Vec<u64> = axes.iter().map(|a| a.1).collect();
            let blocks: Vec<u64> = axes.iter().map(|a| a.2).collect();
            let domain = Region::new(&lower, &extent).unwrap();
            let cut = Decomposition::new(domain, &blocks).unwrap();
            let parts: Vec<Region> = (0..cut.ranks()).map(|r| cut.block(Rank(r as u32)).unwrap()).collect();
            prop_assert_eq!(parts.iter().map(Region::cells).sum::<u128>(), domain.cells());
            for (i, a) in parts.iter().enumerate() {
                prop_assert!(domain.contains(a));
                prop_assert!(parts[i + 1..].iter().all(|b| a.intersection(b).is_none()));
            }
            prop_assert!(cut.block(Rank(cut.ranks() as u32)).is_err());
        }
    }
}
