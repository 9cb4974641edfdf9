//! What the staging service answers.

use super::super::definition::Definition;
use super::stats::Stats;
use serde::{Deserialize, Serialize};
use thalweg_foundation::array::{Histogram, Layout, Region, Shape, Summary};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Result, Version};

/// Memory that a client may fill, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its number, never used twice.
    pub id: u64,
    /// The segment's number.
    pub segment: u32,
    /// Bytes from the segment's start.
    pub offset: u64,
    /// How many bytes may be filled.
    pub bytes: Bytes,
}

/// Where a part of an answer lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lies {
    /// In this service's memory.
    Here {
        /// Its slot in the directory.
        slot: u64,
        /// Its publication, to be leased.
        ticket: Ticket,
        /// The segment's number.
        segment: u32,
        /// Bytes from the segment's start.
        offset: u64,
    },
    /// In another service's, as an array of its own.
    There {
        /// That service.
        address: String,
        /// The array there.
        source: Key,
        /// Who keeps it.
        keeper: String,
    },
}

/// A packed array from which cells are to be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Where it lies.
    pub lies: Lies,
    /// Which cells it holds.
    pub region: Region,
    /// How they lie.
    pub layout: Layout,
    /// Which of them to take: regions that do not meet.
    pub cells: Vec<Region>,
}

/// One version of a variable in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionState {
    /// Which.
    pub version: Version,
    /// How many cells have been put.
    pub cells: u64,
    /// Whether all that will be put has been: every cell, or every writer's seal.
    pub complete: bool,
    /// How many writers have sealed it.
    pub seals: u32,
    /// How many pieces it consists of.
    pub pieces: u32,
    /// How many replicas in other layouts are ready.
    pub replicas: u32,
}

/// A region that is read in a layout again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Habit {
    /// Which cells.
    pub region: Region,
    /// In which layout.
    pub layout: Layout,
    /// How often.
    pub gets: u64,
}

/// One version in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name and version.
    pub key: Key,
    /// Extents and element type.
    pub shape: Shape,
}

/// What was found in the cells of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// Count, least, greatest, sum.
    pub summary: Summary,
    /// How many cells fell into each bin, where bins were given.
    pub histogram: Option<Histogram>,
}

// A reply is compared in tests only.
impl Eq for Reduction {}

impl Reduction {
    /// What was found in the cells of both.
    ///
    /// # Errors
    /// `Invalid` when their bins differ.
    pub fn merge(mut self, other: &Reduction) -> Result<Reduction> {
        self.summary = self.summary.merge(&other.summary);
        if let (Some(mine), Some(theirs)) = (&mut self.histogram, &other.histogram) {
            mine.merge(theirs)?;
        }
        Ok(self)
    }
}

/// What the service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Reserve`.
    Granted(Grant),
    /// To `Put`; perhaps with memory for the next one, which the service may take back until it is used.
    Stored {
        /// A grant in the client's spare words.
        spare: Option<Grant>,
    },
    /// To `Put` and `Refer`: this very region of the version was put before, and stays as it was.
    Known {
        /// By whom.
        by: String,
    },
    /// To `Put` and `Refer` of a piece: its cells are all there, in other regions; it was not needed.
    Covered,
    /// To `Abandon` and `Cancel`.
    Done,
    /// To `Wait`: the indices of the keys that are there.
    Ready(Vec<u32>),
    /// To `Delete`: whether it was there.
    Deleted(bool),
    /// To `DropNamespace`: how many versions there were.
    Dropped(u64),
    /// To `List`.
    Entries {
        /// A page, in order.
        entries: Vec<Entry>,
        /// Whether there are more behind it.
        more: bool,
    },
    /// To `Stats`.
    Stats(Stats),
    /// The request was refused.
    Failed(Error),
    /// To `Define` and `Describe`.
    Defined {
        /// How the variable is.
        definition: Box<Definition>,
        /// The part of its domain that this service holds.
        part: Region,
        /// What was noted about it.
        attributes: Vec<(String, String)>,
    },
    /// To `Get` with the wish for parts.
    Parts {
        /// The version that was found.
        version: Version,
        /// Which together hold the region.
        parts: Vec<Part>,
    },
    /// To `Get` with the wish for parts: there are more of them than an answer holds; get parts of the region.
    Scattered {
        /// The version that was found.
        version: Version,
    },
    /// To `Get` with the wish for a summary.
    Summary {
        /// The version that was found.
        version: Version,
        /// What was found in it.
        found: Reduction,
    },
    /// To `Release`: whether it was there.
    Released(bool),
    /// To `Versions`.
    Versions {
        /// A page, in order.
        versions: Vec<VersionState>,
        /// Whether there are more behind it.
        more: bool,
    },
    /// To `Variables`.
    Variables {
        /// A page, in order.
        names: Vec<Name>,
        /// Whether there are more behind it.
        more: bool,
    },
    /// To `Patterns`.
    Patterns(Vec<Habit>),
}
