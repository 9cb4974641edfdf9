//! Events that were pulled: their metadata and data, as they lie in memory.

use super::producer::thalweg_column;
use crate::handle::{handle, held, taken, Handle};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::place;
use crate::versioned::{self, Versioned};
use std::ffi::c_void;
use std::sync::Arc;
use thalweg::stream::Events;
use thalweg::Result;

/// Events of one partition, one behind the other; made by `thalweg_consumer_pull`, ended by `thalweg_events_release`.
pub struct thalweg_events {
    _opaque: (),
}

handle!(thalweg_events, "events", Events);

/// What events there are; begin with `THALWEG_EVENTS_INFO_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_events_info {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// How many.
    pub count: usize,
    /// The number of the first in its partition; those of the others follow.
    pub first: u64,
    /// When they were appended, in seconds since 1970.
    pub time_s: f64,
    /// Their partition.
    pub partition: u32,
    /// Whether their data lie apart, so that `thalweg_consumer_read_data` must read them: 1 or 0.
    pub apart: i32,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_events_info {
    const WHAT: &'static str = "events info";
    const INIT: &'static str = "THALWEG_EVENTS_INFO_INIT";
    const FIRST: usize = size_of::<thalweg_events_info>();
}

/// The events behind `events`, of which `index` is one.
pub fn of(
    operation: &str,
    events: *const thalweg_events,
    index: u32,
) -> Result<Arc<<thalweg_events as Handle>::Object>> {
    let found = held(operation, events)?;
    match (index as usize) < found.len() {
        true => Ok(found),
        false => Err(invalid(operation, format!("index {index} of {} events", found.len()))),
    }
}

/// What events there are. Errors: `THALWEG_INVALID` when they were released. Does not block.
///
/// # Safety
/// `info` is `NULL` or was initialised with `THALWEG_EVENTS_INFO_INIT`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_events_describe(
    events: *const thalweg_events,
    info: *mut thalweg_events_info,
) -> thalweg_status {
    const OPERATION: &str = "events.describe";
    guarded(OPERATION, || {
        let found = held(OPERATION, events)?;
        let told = thalweg_events_info {
            size: size_of::<thalweg_events_info>(),
            count: found.len(),
            first: found.first(),
            time_s: found.time().0 as f64 / 1e9,
            partition: found.partition,
            apart: i32::from(found.apart()),
        };
        // SAFETY: the caller's promise.
        unsafe { versioned::given(OPERATION, info, told) }
    })
}

/// The metadata of event `index`, counted from 0; they stay until `thalweg_events_release`, and must not be written.
///
/// Errors: `THALWEG_INVALID` for an index outside. Does not block.
///
/// # Safety
/// `metadata` and `size_bytes` are `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_events_metadata(
    events: *const thalweg_events,
    index: u32,
    metadata: *mut *const c_void,
    size_bytes: *mut usize,
) -> thalweg_status {
    const OPERATION: &str = "events.metadata";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let metadata = unsafe { place(OPERATION, "metadata", metadata) }?;
        // SAFETY: the caller's promise.
        let size_bytes = unsafe { place(OPERATION, "size_bytes", size_bytes) }?;
        let found = of(OPERATION, events, index)?;
        let bytes = found.metadata(index);
        (*metadata, *size_bytes) = (bytes.as_ptr().cast(), bytes.len());
        Ok(())
    })
}

/// The metadata of all events, one behind the other. `ends`, which may be `NULL`, has room for as many members as there
/// are events, and `column->ends` becomes `ends`; the bytes stay until `thalweg_events_release`, and must not be
/// written. Does not block.
///
/// # Safety
/// `column` is `NULL` or writable; `ends` is `NULL` or has so much room.
#[no_mangle]
pub unsafe extern "C" fn thalweg_events_metadata_column(
    events: *const thalweg_events,
    ends: *mut u64,
    column: *mut thalweg_column,
) -> thalweg_status {
    const OPERATION: &str = "events.metadata";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let column = unsafe { place(OPERATION, "column", column) }?;
        let found = held(OPERATION, events)?;
        let (bytes, found) = found.metadata_column();
        if !ends.is_null() {
            // SAFETY: as many as there are events, by the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), ends, found.len()) };
        }
        *column = thalweg_column {
            bytes: bytes.as_ptr().cast(),
            size_bytes: bytes.len(),
            ends,
            count: found.len(),
        };
        Ok(())
    })
}

/// The data of event `index`, counted from 0, and their size; `*data` becomes `NULL` where they lie apart. They stay until
/// `thalweg_events_release`, and must not be written. `data` may be `NULL`.
///
/// Errors: `THALWEG_INVALID` for an index outside. Does not block.
///
/// # Safety
/// `data` and `size_bytes` are `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_events_data(
    events: *const thalweg_events,
    index: u32,
    data: *mut *const c_void,
    size_bytes: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "events.data";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let size_bytes = unsafe { place(OPERATION, "size_bytes", size_bytes) }?;
        let found = of(OPERATION, events, index)?;
        let range = found.data_range(index);
        *size_bytes = range.end - range.start;
        if !data.is_null() {
            let bytes = found.data(index).map_or(std::ptr::null(), <[u8]>::as_ptr);
            // SAFETY: the caller's promise.
            unsafe { data.write(bytes.cast()) };
        }
        Ok(())
    })
}

/// Ends the events: their metadata and data must not be read any more. Nothing for `NULL`; `THALWEG_INVALID` when they
/// were released before.
#[no_mangle]
pub extern "C" fn thalweg_events_release(events: *mut thalweg_events) -> thalweg_status {
    const OPERATION: &str = "events.release";
    guarded(OPERATION, || taken(OPERATION, events).map(drop))
}
