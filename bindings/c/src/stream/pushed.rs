//! What becomes of events that were pushed.

use crate::handle::{handle, held, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{patience, place};
use std::ops::Range;
use thalweg::stream::{Pushed, PushedMany};
use thalweg::{Patience, Result};

/// What becomes of one push; made by `thalweg_producer_push` and `thalweg_producer_push_many`, ended by
/// `thalweg_pushed_release`.
pub struct thalweg_pushed {
    _opaque: (),
}

handle!(thalweg_pushed, "pushed", What);

/// One event, or many.
pub enum What {
    One(Pushed),
    Many(PushedMany),
}

impl What {
    fn is_done(&self) -> bool {
        match self {
            What::One(one) => one.outcome().is_some(),
            What::Many(many) => many.is_done(),
        }
    }

    fn wait(&self, patience: Patience<'_>) -> Result<Vec<Range<u64>>> {
        match self {
            What::One(one) => one.wait(patience).map(|number| vec![number..number + 1]),
            What::Many(many) => many.wait(patience),
        }
    }
}

/// Says in `*done` whether it is known what became of all its events: 1 or 0; `thalweg_pushed_wait` then says what.
/// Does not block.
///
/// # Safety
/// `done` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_pushed_done(
    pushed: *const thalweg_pushed,
    done: *mut i32,
) -> thalweg_status {
    const OPERATION: &str = "pushed.done";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let done = unsafe { place(OPERATION, "done", done) }?;
        *done = i32::from(held(OPERATION, pushed)?.is_done());
        Ok(())
    })
}

/// Waits until its events are appended; `*offset`, which may be `NULL`, becomes the number in its partition of event
/// `index` of them, counted from 0.
///
/// Errors: `THALWEG_TIMEOUT` when they still may be appended, else why one was not; `THALWEG_INVALID` for an index
/// outside.
///
/// # Safety
/// `offset` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_pushed_wait(
    pushed: *const thalweg_pushed,
    index: u64,
    timeout_s: f64,
    offset: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "pushed.wait";
    guarded(OPERATION, || {
        let ranges = held(OPERATION, pushed)?.wait(patience(OPERATION, timeout_s)?)?;
        if offset.is_null() {
            return Ok(());
        }
        let mut before = 0;
        for Range { start, end } in ranges {
            if index - before < end - start {
                // SAFETY: the caller's promise.
                unsafe { offset.write(start + (index - before)) };
                return Ok(());
            }
            before += end - start;
        }
        Err(invalid(OPERATION, format!("index {index} of {before} events")))
    })
}

/// Forgets what becomes of the events, and changes nothing about it. Nothing for `NULL`; `THALWEG_INVALID` when it was
/// released before.
#[no_mangle]
pub extern "C" fn thalweg_pushed_release(pushed: *mut thalweg_pushed) -> thalweg_status {
    const OPERATION: &str = "pushed.release";
    guarded(OPERATION, || taken(OPERATION, pushed).map(drop))
}
