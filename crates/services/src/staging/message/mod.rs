//! The messages of the staging service and their encoding (docs/formats/staging-wire.md).

mod reply;
mod request;
mod stats;

pub use reply::{Entry, Grant, Habit, Lies, Part, Reduction, Reply, VersionState};
pub use request::{Bins, Publication, Purpose, Question, Request, Which, Wish};
pub use stats::Stats;

use serde::{Deserialize, Serialize};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Result};

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
