//! What clients ask of the staging service.

use super::super::definition::{Definition, Print, Strategy};
use serde::{Deserialize, Serialize};
use thalweg_foundation::array::{Layout, Region, Shape};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Bytes, Nanos, Version};

/// What memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// A whole array of its own.
    Array {
        /// Whether it may replace one; else, when it is there, the request is refused at once.
        replace: bool,
    },
    /// A piece of a variable.
    Piece,
}

/// As what filled memory is to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Publication {
    /// As an array of its own, packed row-major.
    Array {
        /// Under which key.
        key: Key,
        /// What it is.
        shape: Shape,
        /// Whether an existing version may be replaced.
        replace: bool,
    },
    /// As a piece of a variable.
    Piece {
        /// Variable and version.
        key: Key,
        /// As what the client knows the variable.
        of: Print,
        /// Its extents and what a cell is.
        shape: Shape,
        /// Which cells it holds.
        region: Region,
        /// The region that was put, of which these may be the cells of one service only.
        put: Box<Region>,
        /// How they lie, packed.
        layout: Layout,
    },
}

impl Publication {
    /// Name and version.
    pub fn key(&self) -> &Key {
        match self {
            Publication::Array { key, .. } | Publication::Piece { key, .. } => key,
        }
    }

    /// Extents and element type.
    pub fn shape(&self) -> &Shape {
        match self {
            Publication::Array { shape, .. } | Publication::Piece { shape, .. } => shape,
        }
    }

    /// For what memory is asked.
    pub fn purpose(&self) -> Purpose {
        match self {
            Publication::Array { replace, .. } => Purpose::Array { replace: *replace },
            Publication::Piece { .. } => Purpose::Piece,
        }
    }

    /// The request that publishes `grant` so.
    pub fn request(&self, grant: u64) -> Request {
        match self.clone() {
            Publication::Array { key, shape, replace } => Request::Put { grant, key, shape, replace },
            Publication::Piece { key, of, region, put, layout, .. } => {
                Request::PutPiece { grant, key, of, region, put, layout }
            }
        }
    }
}

/// Which version of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Which {
    /// This one.
    Exactly(Version),
    /// The newest one up to this in which the region is complete.
    UpTo(Version),
    /// The oldest one from this on in which the region is complete.
    From(Version),
}

impl Which {
    /// The newest one in which the region is complete.
    pub const LATEST: Which = Which::UpTo(Version(u64::MAX));
}

/// The bins of a histogram: `count` of equal width from `lower` to `upper`, the last one closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Where the first bin begins.
    pub lower: f64,
    /// Where the last bin ends.
    pub upper: f64,
    /// How many.
    pub count: u32,
}

// Not a number is refused where bins come in.
impl Eq for Bins {}

/// What is to be made of a region once it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wish {
    /// Where its bytes are.
    Parts {
        /// The layout that is wanted; none: whatever is cheapest.
        layout: Option<Layout>,
        /// Where to reorganise; none: as the variable's definition says.
        strategy: Option<Strategy>,
    },
    /// Nothing but which version it is.
    Version,
    /// Count, least, greatest, sum and perhaps a histogram of its cells.
    Summary {
        /// The histogram's bins.
        bins: Option<Bins>,
    },
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Memory to fill; blocks when full and the policy says so.
    Reserve {
        /// How much.
        bytes: Bytes,
        /// The version to be put.
        key: Key,
        /// What for.
        purpose: Purpose,
        /// How long to wait for room.
        within: Nanos,
    },
    /// The granted memory is filled: publish it.
    Put {
        /// The grant.
        grant: u64,
        /// Under which key.
        key: Key,
        /// What it holds.
        shape: Shape,
        /// Whether an existing version may be replaced.
        replace: bool,
    },
    /// The granted memory is not needed.
    Abandon {
        /// The grant.
        grant: u64,
    },
    /// Tell when all, or any, of the keys are there.
    Wait {
        /// The keys.
        keys: Vec<Key>,
        /// All of them, or any.
        all: bool,
        /// How long to wait.
        within: Nanos,
    },
    /// Forget the request with this number.
    Cancel {
        /// The request's number.
        request: u64,
    },
    /// Remove a version.
    Delete {
        /// Which.
        key: Key,
    },
    /// What is in the namespace, from `after` on.
    List {
        /// The last key of the page before.
        after: Option<Key>,
    },
    /// Remove everything in the namespace.
    DropNamespace,
    /// Counters of the service.
    Stats,
    /// A lease that the service waits for has ended; no reply.
    Released,
    /// Make a variable, or agree with the one that is there.
    Define {
        /// What it is called.
        name: Name,
        /// How it is.
        definition: Definition,
        /// The part of its domain that this service is to hold.
        part: Region,
    },
    /// Tell how a variable is, once somebody has defined it.
    Describe {
        /// Which.
        name: Name,
        /// How long to wait for its definition.
        within: Nanos,
    },
    /// The names of the variables, from `after` on.
    Variables {
        /// The last name of the page before.
        after: Option<Name>,
    },
    /// Note something about a variable for those who read it; an empty value removes it.
    Annotate {
        /// Which variable.
        name: Name,
        /// What it is about, such as `units`.
        attribute: String,
        /// The text.
        value: String,
    },
    /// The granted memory is filled: publish it as a piece of a variable.
    PutPiece {
        /// The grant.
        grant: u64,
        /// Variable and version.
        key: Key,
        /// As what the client knows the variable.
        of: Print,
        /// Which cells it holds.
        region: Region,
        /// The region that was put, of which these may be the cells of one service only.
        put: Box<Region>,
        /// How they lie, packed.
        layout: Layout,
    },
    /// A piece that its writer keeps: readers fetch it from the service at `address`.
    Refer {
        /// Variable and version.
        key: Key,
        /// As what the client knows the variable.
        of: Print,
        /// Which cells it holds.
        region: Region,
        /// The region that was put, of which these may be the cells of one service only.
        put: Box<Region>,
        /// How they lie, packed.
        layout: Layout,
        /// The service in the writer's hands.
        address: String,
        /// The array that it has there.
        source: Key,
    },
    /// Give, once it is complete, a region of a version.
    Get {
        /// The variable.
        name: Name,
        /// As what the client knows the variable.
        of: Print,
        /// Which version.
        which: Which,
        /// Which cells.
        region: Region,
        /// What to make of them.
        wish: Wish,
        /// How long to wait until they are complete.
        within: Nanos,
    },
    /// A writer has put all that it will of a version.
    Seal {
        /// Variable and version.
        key: Key,
        /// Which of the variable's writers.
        writer: u32,
    },
    /// Nobody needs a version any more.
    Release {
        /// Variable and version.
        key: Key,
    },
    /// The versions of a variable that are there, from `after` on.
    Versions {
        /// Which variable.
        name: Name,
        /// The last version of the page before.
        after: Option<Version>,
    },
    /// The regions and layouts in which a variable is read again and again.
    Patterns {
        /// Which variable.
        name: Name,
    },
}

/// A region of a variable, and how it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The variable.
    pub name: Name,
    /// As what the client knows it.
    pub of: Print,
    /// Which version.
    pub which: Which,
    /// Which cells.
    pub region: Region,
    /// In which layout; none: whatever is cheapest.
    pub layout: Option<Layout>,
    /// Where to reorganise; none: as the definition says.
    pub strategy: Option<Strategy>,
}
