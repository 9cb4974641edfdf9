//! A variable: its versions, and of which pieces each of them consists.

use super::super::message::{Habit, VersionState};
use super::super::{Definition, Print};
use super::replica::Replica;
use super::store::Stored;
use super::waiting::Id;
use super::PeerId;
use crate::patterns::Patterns;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_foundation::array::{Layout, Region};
use thalweg_foundation::base::Key;
use thalweg_foundation::{Result, Version};

/// Released versions that are remembered one by one.
const RELEASED_MAX: usize = 1024;

/// Versions that are looked at for what they lack.
const LACKING_MAX: usize = 1024;

/// Where a piece's bytes are.
#[derive(Clone, Debug)]
pub(super) enum Rests {
    /// In this service's store.
    Here(Stored),
    /// With its writer.
    There { address: String, source: Key },
}

/// Some cells of a version, as one put brought them.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub rests: Rests,
    pub region: Region,
    /// What was put, of which this may be the part of one service.
    pub put: Box<Region>,
    pub layout: Layout,
    pub peer: PeerId,
    pub writer: Arc<str>,
}

/// One version.
#[derive(Debug)]
pub(super) struct Instance {
    /// What is the oldest is dropped, or spilled, first.
    pub age: u64,
    pub pieces: Vec<Piece>,
    /// Which cells are taken from which piece: regions that do not meet.
    pub cover: Vec<(Region, usize)>,
    pub covered: u128,
    pub seals: BTreeSet<u32>,
    pub replicas: Vec<Replica>,
    /// Writers that put something and went away before it was complete.
    pub left: BTreeSet<Arc<str>>,
}

impl Instance {
    pub fn new(age: u64) -> Instance {
        Instance {
            age,
            pieces: Vec::new(),
            cover: Vec::new(),
            covered: 0,
            seals: BTreeSet::new(),
            replicas: Vec::new(),
            left: BTreeSet::new(),
        }
    }

    /// Adds a piece; cells that are there already stay as they are. The cells that are new.
    pub fn add(&mut self, piece: Piece) -> Vec<Region> {
        let fresh = self.fresh(&piece.region);
        let at = self.pieces.len();
        self.covered += fresh.iter().map(Region::cells).sum::<u128>();
        self.cover.extend(fresh.iter().map(|region| (*region, at)));
        self.pieces.push(piece);
        fresh
    }

    /// The cells of `region` that are not there.
    pub fn fresh(&self, region: &Region) -> Vec<Region> {
        region.outside(self.cover.iter().map(|(there, _)| there), usize::MAX)
    }

    /// Whether every cell of `region` is there.
    pub fn covers(&self, region: &Region) -> bool {
        self.covered >= region.cells() && self.covered_of(region) == region.cells()
    }

    /// How many cells of `region` are there.
    pub fn covered_of(&self, region: &Region) -> u128 {
        let met = self.cover.iter().filter_map(|(r, _)| r.intersection(region));
        met.map(|r| r.cells()).sum()
    }

    /// Takes cells of `region` away from the pieces that `stale` says, so that another piece can bring them; whether there
    /// were any.
    pub fn give_way(&mut self, region: &Region, stale: impl Fn(&Piece) -> bool) -> bool {
        let before = self.covered;
        for (there, at) in std::mem::take(&mut self.cover) {
            match there.intersection(region).filter(|_| stale(&self.pieces[at])) {
                Some(taken) => {
                    self.covered -= taken.cells();
                    self.cover.extend(there.without(region).into_iter().map(|rest| (rest, at)));
                }
                None => self.cover.push((there, at)),
            }
        }
        self.covered < before
    }

    /// Removes the pieces that `gone` says; whether there were any. Their cells are taken from others that have them.
    pub fn lose(&mut self, gone: impl Fn(&Piece) -> bool) -> bool {
        if !self.pieces.iter().any(&gone) {
            return false;
        }
        let pieces = std::mem::take(&mut self.pieces);
        let mut places: Vec<Option<usize>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let stays = !gone(&piece);
            places.push(stays.then_some(self.pieces.len()));
            self.pieces.extend(stays.then_some(piece));
        }
        self.cover = self.cover.iter().filter_map(|(there, at)| Some((*there, places[*at]?))).collect();
        for at in 0..self.pieces.len() {
            let fresh = self.fresh(&self.pieces[at].region);
            self.cover.extend(fresh.into_iter().map(|region| (region, at)));
        }
        self.covered = self.cover.iter().map(|(there, _)| there.cells()).sum();
        true
    }

    /// For each piece that has cells of `region`: which they are.
    pub fn pieces_of(&self, region: &Region) -> BTreeMap<usize, Vec<Region>> {
        let mut all: BTreeMap<usize, Vec<Region>> = BTreeMap::new();
        for (there, at) in &self.cover {
            if let Some(cells) = there.intersection(region) {
                all.entry(*at).or_default().push(cells);
            }
        }
        all
    }

    pub fn is_closed(&self, definition: &Definition) -> bool {
        self.seals.len() as u64 >= u64::from(definition.writers.max(1))
    }

    /// Whether everything that will be put has been.
    pub fn is_complete(&self, definition: &Definition, part: &Region) -> bool {
        self.is_closed(definition) || (definition.writers == 0 && self.covered == part.cells())
    }

    /// Whether `region` can be read.
    pub fn is_readable(&self, definition: &Definition, region: &Region) -> bool {
        (definition.writers == 0 || self.is_closed(definition)) && self.covers(region)
    }

    pub fn state(&self, version: Version, definition: &Definition, part: &Region) -> VersionState {
        VersionState {
            version,
            cells: u64::try_from(self.covered).unwrap_or(u64::MAX),
            complete: self.is_complete(definition, part),
            seals: self.seals.len() as u32,
            pieces: self.pieces.len() as u32,
            replicas: self.replicas.iter().filter(|r| r.stored.is_some()).count() as u32,
        }
    }
}

/// Versions that were there and will not be again.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Every version below this one.
    floor: u64,
    released: BTreeSet<u64>,
}

impl Past {
    pub fn has(&self, version: Version) -> bool {
        version.0 < self.floor || self.released.contains(&version.0)
    }

    /// Everything below `version` is past.
    pub fn raise(&mut self, version: Version) {
        self.floor = self.floor.max(version.0);
        self.released = self.released.split_off(&self.floor);
    }

    pub fn add(&mut self, version: Version) {
        if version.0 < self.floor {
            return;
        }
        self.released.insert(version.0);
        while self.released.remove(&self.floor) {
            self.floor += 1;
        }
        // Who releases every second version does not make this grow for ever: the oldest are forgotten.
        while self.released.len() > RELEASED_MAX {
            self.released.pop_first();
        }
    }
}

/// A variable.
#[derive(Debug)]
pub(super) struct Variable {
    pub definition: Definition,
    pub print: Print,
    /// The part of the domain that this service holds.
    pub part: Region,
    pub attributes: BTreeMap<String, String>,
    pub versions: BTreeMap<Version, Instance>,
    pub past: Past,
    pub patterns: Patterns<Layout>,
    /// Cells of a version when one was last complete; 0: none was, or one has been let go since that never was.
    pub usual: u128,
    /// Gets that wait for cells of it.
    pub gets: BTreeSet<Id>,
}

impl Variable {
    /// Whether it still is what a client knows it as.
    pub fn is(&self, of: Print, operation: &str, name: &str) -> Result<()> {
        if of == self.print {
            return Ok(());
        }
        Err(self.definition.anew(operation, name))
    }

    pub fn new(definition: Definition, part: Region) -> Variable {
        Variable {
            print: definition.print(),
            definition,
            part,
            attributes: BTreeMap::new(),
            versions: BTreeMap::new(),
            past: Past::default(),
            patterns: Patterns::default(),
            usual: 0,
            gets: BTreeSet::new(),
        }
    }

    /// The newest version that is complete.
    pub fn newest(&self) -> Option<Version> {
        let mut complete =
            self.versions.iter().rev().filter(|(_, i)| i.is_complete(&self.definition, &self.part));
        complete.next().map(|(version, _)| *version)
    }

    /// Versions that are kept no longer, since newer ones are complete. Of a variable that several services share none of
    /// them knows that: its writers look, and release them.
    pub fn overdue(&self) -> Vec<Version> {
        let shared = self.part != self.definition.whole();
        let Some(keep) = self.definition.keep_last.filter(|_| !shared) else { return Vec::new() };
        let complete =
            self.versions.iter().rev().filter(|(_, i)| i.is_complete(&self.definition, &self.part));
        let Some((oldest, _)) = complete.take(keep as usize).nth(keep as usize - 1) else {
            return Vec::new();
        };
        self.versions.range(..*oldest).map(|(version, _)| *version).collect()
    }

    /// Cells that versions which are begun will lack until they are as complete as others were: as many of the oldest as must
    /// be complete before one is let go.
    pub fn lacking(&self) -> u128 {
        let newest = self.versions.values().rev().take(LACKING_MAX);
        let begun = newest.filter(|i| !i.is_complete(&self.definition, &self.part));
        let lacks: Vec<u128> = begun.map(|i| self.usual.saturating_sub(i.covered)).collect();
        let first = self.definition.keep_last.unwrap_or(1) as usize + 1;
        lacks.iter().rev().take(first).sum()
    }

    pub fn habits(&self) -> Vec<Habit> {
        self.patterns.iter().map(|p| Habit { region: p.region, layout: p.form, gets: p.gets }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_foundation::base::Name;

    fn region(lower: u64, extent: u64) -> Region {
        Region::new(&[lower], &[extent]).unwrap()
    }

    fn piece(lower: u64, extent: u64, peer: u64) -> Piece {
        let source = Key { name: Name::new("", "x").unwrap(), version: Version(0) };
        Piece {
            rests: Rests::There { address: String::new(), source },
            region: region(lower, extent),
            put: region(lower, extent).into(),
            layout: Layout::right(1),
            peer: PeerId(peer),
            writer: "w".into(),
        }
    }

    #[test]
    fn cells_that_are_there_stay_with_the_piece_that_brought_them() {
        let mut instance = Instance::new(0);
        assert_eq!(instance.add(piece(0, 4, 1)), [region(0, 4)]);
        assert_eq!(instance.add(piece(2, 4, 2)), [region(4, 2)]);
        assert_eq!(instance.covered, 6);
        assert!(instance.covers(&region(1, 5)) && !instance.covers(&region(1, 6)));
        assert_eq!(
            instance.pieces_of(&region(3, 2)),
            [(0, vec![region(3, 1)]), (1, vec![region(4, 1)])].into()
        );
        assert!(instance.lose(|p| p.peer == PeerId(1)));
        assert_eq!((instance.covered, instance.covers(&region(2, 4))), (4, true));
    }

    #[test]
    fn what_gave_way_does_not_come_back() {
        let mut instance = Instance::new(0);
        [piece(0, 6, 1), piece(8, 2, 3)].into_iter().for_each(|p| drop(instance.add(p)));
        assert!(instance.give_way(&region(2, 7), |p| p.peer == PeerId(1)));
        assert_eq!((instance.covered, instance.covers(&region(2, 4))), (4, false));
        assert_eq!(instance.add(piece(2, 7, 2)), [region(2, 6)]);
        let of = [(0, vec![region(0, 2)]), (1, vec![region(8, 2)]), (2, vec![region(2, 6)])];
        assert_eq!(instance.pieces_of(&region(0, 10)), of.into());
        assert!(instance.lose(|p| p.peer == PeerId(3)));
        let of = [(0, vec![region(0, 2)]), (1, vec![region(2, 6), region(8, 1)])];
        assert_eq!((instance.covered, instance.pieces_of(&region(0, 10))), (9, of.into()));
    }

    #[test]
    fn what_was_released_stays_past_without_growing() {
        let mut past = Past::default();
        (0..5000).map(|n| Version(2 * n)).for_each(|v| past.add(v));
        assert!(past.has(Version(9998)) && !past.has(Version(9999)));
        assert!(past.released.len() <= RELEASED_MAX);
        past.raise(Version(20_000));
        assert!(past.has(Version(9999)) && past.released.is_empty());
        past.add(Version(20_001));
        past.add(Version(20_000));
        assert!(past.has(Version(20_001)) && past.released.is_empty());
    }
}
