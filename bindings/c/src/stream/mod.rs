//! Streams of events: topics, producers, consumers.
//!
//! What each call means is the client's (`thalweg::stream`); here its words are C's.

// In the order in which the header tells of them.
mod driver;

mod partition;

mod topic;

mod producer;

mod pushed;

mod consumer;

mod events;

use crate::status::invalid;
use thalweg::Result;

/// The `count` members that `given`, which is called `what`, points to; none for a count of 0, whatever it points to.
///
/// # Safety
/// `given` is `NULL` or points to so many valid `T` that nobody changes during `'a`.
unsafe fn members<'a, T>(operation: &str, what: &str, given: *const T, count: usize) -> Result<&'a [T]> {
    match (count, given.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => {
            let bytes = count.saturating_mul(size_of::<T>());
            Err(invalid(operation, format!("{what} is NULL, and has {bytes} bytes")))
        }
        // SAFETY: the caller's promise.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(given, count) }),
    }
}
