//! The allocator: extents of memory in segments, best fit, without touching any memory.
//!
//! Best fit with merging of neighbours hands the extent that was freed last to the next request of its size, so a loop
//! of puts stays in the same warm pages; touching fresh pages is the dearest thing that a writer can do.

use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::Bytes;

/// Extents begin at multiples of this; a cache line.
pub const ALIGNMENT: u64 = 64;

/// A piece of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// The segment's number.
    pub segment: u32,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The free and the used memory of all segments.
#[derive(Debug, Default)]
pub struct Pool {
    segments: BTreeMap<u32, u64>,
    free: BTreeMap<(u32, u64), u64>,
    by_size: BTreeSet<(u64, u32, u64)>,
    total: u64,
    unused: u64,
}

impl Pool {
    /// Bytes of all segments.
    pub fn total(&self) -> Bytes {
        Bytes(self.total)
    }

    /// Bytes that nobody has.
    pub fn unused(&self) -> Bytes {
        Bytes(self.unused)
    }

    /// A pool of one segment of `bytes`, whole cache lines of it.
    pub fn over(segment: u32, bytes: Bytes) -> Pool {
        let mut pool = Pool::default();
        pool.add(segment, Bytes(bytes.0 / ALIGNMENT * ALIGNMENT));
        pool
    }

    /// Adds a segment of `bytes`.
    pub fn add(&mut self, segment: u32, bytes: Bytes) {
        self.segments.insert(segment, bytes.0);
        self.total += bytes.0;
        self.release(Extent { segment, offset: 0, bytes: bytes.0 });
    }

    /// The largest free extent.
    pub fn largest(&self) -> Bytes {
        Bytes(self.by_size.last().map_or(0, |(bytes, ..)| *bytes))
    }

    /// Where the free extent at the end of the only segment begins, or the segment's end.
    pub fn used_end(&self) -> u64 {
        let last = self.free.last_key_value().map(|((_, offset), bytes)| (*offset, offset + bytes));
        last.filter(|(_, end)| *end == self.total).map_or(self.total, |(offset, _)| offset)
    }

    /// The space that an array of `bytes` takes.
    pub fn rounded(bytes: Bytes) -> u64 {
        bytes.0.max(1).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
    }

    /// The smallest free extent that holds `bytes`, cut to size.
    pub fn allocate(&mut self, bytes: Bytes) -> Option<Extent> {
        let need = Pool::rounded(bytes);
        let (size, segment, offset) = *self.by_size.range((need, 0, 0)..).next()?;
        self.take(segment, offset, size);
        if size > need {
            self.give(segment, offset + need, size - need);
        }
        Some(Extent { segment, offset, bytes: need })
    }

    /// Gives `extent` back; it merges with its free neighbours.
    pub fn release(&mut self, extent: Extent) {
        let Extent { segment, mut offset, mut bytes } = extent;
        if let Some((&(_, before), &size)) = self.free.range((segment, 0)..(segment, offset)).next_back() {
            if before + size == offset {
                self.take(segment, before, size);
                (offset, bytes) = (before, bytes + size);
            }
        }
        if let Some(&size) = self.free.get(&(segment, offset + bytes)) {
            self.take(segment, offset + bytes, size);
            bytes += size;
        }
        self.give(segment, offset, bytes);
    }

    fn take(&mut self, segment: u32, offset: u64, bytes: u64) {
        self.free.remove(&(segment, offset));
        self.by_size.remove(&(bytes, segment, offset));
        self.unused -= bytes;
    }

    fn give(&mut self, segment: u32, offset: u64, bytes: u64) {
        self.free.insert((segment, offset), bytes);
        self.by_size.insert((bytes, segment, offset));
        self.unused += bytes;
    }

    /// Checks that `used` and the free extents cover every segment exactly once.
    pub fn check(&self, used: impl IntoIterator<Item = Extent>) -> Result<(), String> {
        let mut all: Vec<Extent> = used.into_iter().collect();
        all.extend(self.free.iter().map(|(&(segment, offset), &bytes)| Extent { segment, offset, bytes }));
        all.sort_unstable();
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for extent in all {
            let end = ends.entry(extent.segment).or_default();
            if *end != extent.offset {
                return Err(format!("segment {}: covered to {end}, then {extent:?}", extent.segment));
            }
            *end += extent.bytes;
        }
        if ends != self.segments {
            return Err(format!("segments {:?} are covered to {ends:?}", self.segments));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn extents_never_overlap_and_nothing_is_lost(steps in prop::collection::vec((any::<bool>(), 0u64..5000, any::<prop::sample::Index>()), 1..200)) {
            let mut pool = Pool::default();
            pool.add(0, Bytes(64 << 10));
            pool.add(3, Bytes(16 << 10));
            let mut used: Vec<Extent> = Vec::new();
            for (allocate, bytes, which) in steps {
                if allocate || used.is_empty() {
                    if let Some(extent) = pool.allocate(Bytes(bytes)) {
                        prop_assert!(extent.bytes >= bytes && extent.offset % ALIGNMENT == 0);
                        used.push(extent);
                    }
                } else {
                    pool.release(used.swap_remove(which.index(used.len())));
                }
                prop_assert_eq!(pool.check(used.iter().copied()), Ok(()));
            }
            used.drain(..).for_each(|e| pool.release(e));
            prop_assert_eq!(pool.free.len(), 2, "all free memory has merged");
        }
    }

    #[test]
    fn the_extent_freed_last_serves_the_next_request_of_its_size() {
        let mut pool = Pool::default();
        pool.add(0, Bytes(1 << 20));
        let a = pool.allocate(Bytes(1000)).unwrap();
        let _b = pool.allocate(Bytes(1000)).unwrap();
        pool.release(a);
        assert_eq!(pool.allocate(Bytes(1000)).unwrap(), a);
        assert_eq!(pool.allocate(Bytes(2 << 20)), None);
    }
}
