//! The messages of the staging service and their encoding (docs/formats/staging-wire.md).

use serde::{Deserialize, Serialize};
use thalweg_foundation::array::Shape;
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// The version of this protocol; both sides must have the same.
pub const PROTOCOL: u32 = 1;
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

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Memory to fill; blocks when full and the policy says so.
    Reserve {
        /// How much.
        bytes: Bytes,
        /// The version to be put.
        key: Key,
        /// Whether it may replace one; else, when it is there, this is refused at once.
        replace: bool,
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
    /// Waits for keys pending now.
    waiting_now,
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
