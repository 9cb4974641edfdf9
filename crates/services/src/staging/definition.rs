//! Definitions: how a variable is, and where its data are reorganised.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thalweg_foundation::array::{Cell, DType, Extents, Layout, Region, Shape};
use thalweg_foundation::{Error, Kind, Result};
use xxhash_rust::xxh3::xxh3_64;

/// The most layouts for which data are prepared in advance.
pub const LAYOUTS_MAX: usize = 8;

/// Where data are brought into the layout that a reader wants (paper: Zhang et al., section III).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Strategy {
    /// RAD: at the destination, in the reader's get.
    AtDestination,
    /// RASAR: in the service, when somebody first asks; the replica serves everybody after.
    AsRequested,
    /// RASIA: in the service, as soon as data arrive, into every registered layout.
    InAdvance,
    /// SAHR: in the service, as soon as data arrive that meet a pattern of earlier gets; until then, at the destination.
    #[default]
    Adaptive,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 4] =
        [Strategy::AtDestination, Strategy::AsRequested, Strategy::InAdvance, Strategy::Adaptive];

    /// The paper's abbreviation, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::AtDestination => "rad",
            Strategy::AsRequested => "rasar",
            Strategy::InAdvance => "rasia",
            Strategy::Adaptive => "sahr",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Strategy> {
        Strategy::ALL.into_iter().find(|s| s.name() == text).ok_or_else(|| {
            let detail =
                format!("strategy {text:?}; accepted are \"rad\", \"rasar\", \"rasia\" and \"sahr\"");
            Error::new(Kind::Invalid, "stage.define", detail)
        })
    }
}

/// Tells definitions apart whose cells or domains differ: what a client that knows one may ask of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Print(u64);

/// How a variable is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// What one cell is.
    pub cell: Cell,
    /// How many cells there are along each axis.
    pub domain: Extents,
    /// Where its data are reorganised unless a get says otherwise.
    pub strategy: Strategy,
    /// The layouts into which `InAdvance` brings it.
    pub layouts: Vec<Layout>,
    /// How many complete versions are kept; none: until they are released.
    pub keep_last: Option<u32>,
    /// How many writers must seal a version before it can be read; 0: a region can be read where it is complete.
    pub writers: u32,
}

impl Definition {
    /// A variable of plain elements: adaptive, kept until released, readable where complete.
    pub fn new(dtype: DType, domain: Extents) -> Definition {
        Definition {
            cell: Cell::plain(dtype),
            domain,
            strategy: Strategy::default(),
            layouts: Vec::new(),
            keep_last: None,
            writers: 0,
        }
    }

    /// What tells it from definitions with other cells or another domain.
    pub fn print(&self) -> Print {
        let words = postcard::to_stdvec(&(&self.cell, &self.domain)).unwrap_or_default();
        Print(xxh3_64(&words))
    }

    /// What a client is told that knows the variable otherwise.
    pub fn anew(&self, operation: &str, name: &str) -> Error {
        let detail = format!(
            "variable {name:?} was dropped and defined anew, with cells of {} in a domain of {:?}; open it again",
            self.cell.dtype(),
            self.domain
        );
        Error::new(Kind::NotFound, operation, detail)
    }

    /// All cells.
    pub fn whole(&self) -> Region {
        Region::whole(&self.domain)
    }

    /// Adds layouts, as far as there is room for them; whether one is new.
    pub fn register(&mut self, layouts: &[Layout]) -> bool {
        let before = self.layouts.len();
        for layout in layouts {
            if !self.layouts.contains(layout) && self.layouts.len() < LAYOUTS_MAX {
                self.layouts.push(*layout);
            }
        }
        self.layouts.len() > before
    }

    /// Checks it.
    ///
    /// # Errors
    /// `Shape` for a domain without cells or one whose bytes cannot be counted, `Invalid` for layouts of other dimensions,
    /// more than eight of them, or `keep_last` 0.
    pub fn check(&self) -> Result<()> {
        let shape = Shape::new(self.cell.dtype(), self.domain)?;
        if shape.size().0 == 0 {
            let detail = format!("domain {:?}; accepted are extents of at least 1", self.domain);
            return Err(Error::new(Kind::Shape, "stage.define", detail));
        }
        let refuse = |detail: String| Err(Error::new(Kind::Invalid, "stage.define", detail));
        let dims = self.domain.as_slice().len();
        if let Some(layout) = self.layouts.iter().find(|l| l.axes().len() != dims) {
            return refuse(format!("layout {layout} for a domain of {dims} dimensions"));
        }
        if self.layouts.len() > LAYOUTS_MAX {
            return refuse(format!("{} layouts; accepted are at most {LAYOUTS_MAX}", self.layouts.len()));
        }
        if self.keep_last == Some(0) {
            return refuse("keep_last = 0; accepted are 1 and more, or none to keep every version".into());
        }
        Ok(())
    }
}
