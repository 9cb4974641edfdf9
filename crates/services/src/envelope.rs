//! The envelope of messages: a request number and a body, in postcard encoding.

use serde::{Deserialize, Serialize};
use thalweg_foundation::{Error, Kind, Result};

/// The longest encoded message in bytes.
pub const MESSAGE_MAX: usize = 256 << 10;

/// Encodes `id` and `body`.
///
/// # Errors
/// `Invalid` when the message is longer than `MESSAGE_MAX`.
pub fn encode<T: Serialize>(id: u64, body: &T, into: Vec<u8>) -> Result<Vec<u8>> {
    let mut into = into;
    into.clear();
    let bytes = postcard::to_extend(&(id, body), into)
        .map_err(|e| Error::new(Kind::Protocol, "message", format!("cannot be encoded: {e}")))?;
    if bytes.len() > MESSAGE_MAX {
        let detail = format!("a message of {} bytes; accepted are at most {MESSAGE_MAX}", bytes.len());
        return Err(Error::new(Kind::Invalid, "message", detail));
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
        return Err(Error::new(Kind::Protocol, "message", detail));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => {
            Err(Error::new(Kind::Protocol, "message", format!("{} bytes behind its end", rest.len())))
        }
        Err(e) => {
            Err(Error::new(Kind::Protocol, "message", format!("{} bytes that are none: {e}", bytes.len())))
        }
    }
}
