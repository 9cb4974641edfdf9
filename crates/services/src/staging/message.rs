//! The messages of the staging service and their encoding (docs/formats/staging-wire.md).

use super::definition::{Definition, Strategy};
use serde::{Deserialize, Serialize};
use thalweg_foundation::array::{Histogram, Layout, Region, Shape, Summary};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result, Version};

/// The version of this protocol; both sides must have the same.
pub const PROTOCOL: u32 = 2;
/// The longest encoded message in bytes.
pub const MESSAGE_MAX: usize = 256 << 10;
/// The most keys that one wait may name.
pub const WAIT_KEYS_MAX: usize = 512;

/// Who a client is; the first message on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The client's protocol version.
    pub protocol: u32,
    /// What the client calls itself; for messages to people.
    pub name: Name,
    /// Its process.
    pub pid: u32,
    /// The namespace that all its keys are in.
    pub namespace: Name,
    /// The shared secret; needed over TCP.
    pub token: String,
}

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
        /// Its extents and what a cell is.
        shape: Shape,
        /// Which cells it holds.
        region: Region,
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
            Publication::Piece { key, region, layout, .. } => {
                Request::PutPiece { grant, key, region, layout }
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
        /// Which cells it holds.
        region: Region,
        /// How they lie, packed.
        layout: Layout,
    },
    /// A piece that its writer keeps: readers fetch it from the service at `address`.
    Refer {
        /// Variable and version.
        key: Key,
        /// Which cells it holds.
        region: Region,
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

/// A region of a variable, and how it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The variable.
    pub name: Name,
    /// Which version.
    pub which: Which,
    /// Which cells.
    pub region: Region,
    /// In which layout; none: whatever is cheapest.
    pub layout: Option<Layout>,
    /// Where to reorganise; none: as the definition says.
    pub strategy: Option<Strategy>,
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

macro_rules! stats {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Counters of the service.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Stats { $($(#[$doc])* pub $field: u64),* }

        impl Stats {
            /// The sums over two services.
            pub fn plus(&self, other: &Stats) -> Stats {
                Stats { $($field: self.$field + other.$field),* }
            }

            /// Names and values, in a fixed order.
            pub fn fields(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field)),*]
            }
        }
    };
}

stats! {
    /// Clients connected now.
    clients,
    /// Versions held now.
    entries,
    /// Bytes of the versions held now.
    entry_bytes,
    /// Bytes granted to writers and not yet put.
    granted_bytes,
    /// Bytes withdrawn but still read by somebody.
    retired_bytes,
    /// Bytes of memory taken from the system.
    memory_bytes,
    /// The limit on `memory_bytes`.
    limit_bytes,
    /// Versions put since the start.
    puts,
    /// Bytes put since the start.
    put_bytes,
    /// Versions deleted since the start.
    deletes,
    /// Versions dropped since the start because memory was short.
    dropped,
    /// Reservations that had to wait for room since the start.
    blocked,
    /// Reservations waiting now.
    blocked_now,
    /// Waits for keys and regions pending now.
    waiting_now,
    /// Variables defined now.
    variables,
    /// Bytes of replicas in other layouts held now.
    replica_bytes,
    /// The limit on `replica_bytes`.
    replica_limit_bytes,
    /// Replicas made since the start.
    replicas_made,
    /// Replicas evicted since the start.
    replicas_evicted,
    /// Gets of regions answered since the start.
    gets,
    /// Gets that found a replica ready, or waited for one.
    replica_hits,
    /// Bytes that rest in the spill file now.
    spilled_bytes,
    /// The limit on `spilled_bytes`.
    spill_limit_bytes,
    /// Arrays and pieces spilled since the start.
    spilled,
    /// Reorganisations, reductions and moves under way now.
    tasks_now,
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

/// Encodes `id` and `body`.
///
/// # Errors
/// `Invalid` when the message is longer than `MESSAGE_MAX`.
pub fn encode<T: Serialize>(id: u64, body: &T, into: Vec<u8>) -> Result<Vec<u8>> {
    let mut into = into;
    into.clear();
    let bytes = postcard::to_extend(&(id, body), into)
        .map_err(|e| Error::new(Kind::Protocol, "stage.message", format!("cannot be encoded: {e}")))?;
    if bytes.len() > MESSAGE_MAX {
        let detail = format!(
            "a message of {} bytes; accepted are at most {MESSAGE_MAX}; name fewer keys",
            bytes.len()
        );
        return Err(Error::new(Kind::Invalid, "stage.message", detail));
    }
    Ok(bytes)
}

/// Decodes what `encode` made.
///
/// # Errors
/// `Protocol` when the bytes are no such message, or too long.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(u64, T)> {
    if bytes.len() > MESSAGE_MAX {
        let detail = format!("a message of {} bytes; accepted are at most {MESSAGE_MAX}", bytes.len());
        return Err(Error::new(Kind::Protocol, "stage.message", detail));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => {
            Err(Error::new(Kind::Protocol, "stage.message", format!("{} bytes behind its end", rest.len())))
        }
        Err(e) => Err(Error::new(
            Kind::Protocol,
            "stage.message",
            format!("{} bytes that are none: {e}", bytes.len()),
        )),
    }
}
