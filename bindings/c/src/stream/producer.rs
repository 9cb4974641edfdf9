//! Producers: events in, one by one or as columns.

use super::driver::thalweg_stream_driver;
use super::members;
use super::pushed::{thalweg_pushed, What};
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, thalweg_status};
use crate::text::{name, patience, place, read, within};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, c_void};
use thalweg::stream::{BatchSize, Column, Ordering, Producer, ProducerOptions};
use thalweg::{Bytes, Result};

/// A producer of one topic; made by `thalweg_producer_open`, ended by `thalweg_producer_close`. Threads may share it.
pub struct thalweg_producer {
    _opaque: (),
}

handle!(thalweg_producer, "producer", Producer);

/// How a producer is to be; begin with `THALWEG_PRODUCER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_producer_options {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Shared memory for batches under way; 0: 64 MiB. An event that does not fit goes alone, and is waited for.
    pub outbox_bytes: u64,
    /// How long it is tried to have a batch appended, in seconds: a server that is gone may come back.
    pub timeout_s: f64,
    /// Events that are sent together; 0: one at once when nothing is under way, else what has come meanwhile.
    pub batch_size: u32,
    /// The most batches under way, of one partition each.
    pub max_batches: u32,
    /// What becomes of events behind one that cannot be appended. 0: they fail too, as far as they were pushed before
    /// that is known; 1: they are appended.
    pub loose: i32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_producer_options {
    const WHAT: &'static str = "producer options";
    const INIT: &'static str = "THALWEG_PRODUCER_OPTIONS_INIT";
    const FIRST: usize = size_of::<thalweg_producer_options>();
}

const DEFAULTS: thalweg_producer_options = thalweg_producer_options {
    size: size_of::<thalweg_producer_options>(),
    outbox_bytes: 0,
    timeout_s: 30.0,
    batch_size: 0,
    max_batches: 8,
    loose: 0,
    reserved: 0,
};

/// Bytes of one part of an event's data.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_segment {
    /// The first byte; may be `NULL` where there are none.
    pub bytes: *const c_void,
    /// How many.
    pub size_bytes: usize,
}

/// Bytes of many events, one behind the other, and where each ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_column {
    /// The first byte; may be `NULL` where there are none.
    pub bytes: *const c_void,
    /// How many bytes of all events.
    pub size_bytes: usize,
    /// Where the bytes of each event end, ascending; `count` members.
    pub ends: *const u64,
    /// How many events.
    pub count: usize,
}

/// Opens a producer of a topic, over a connection of its own. `options` may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND`, `THALWEG_INVALID` for options outside what is accepted. Blocks until the server
/// answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_producer_open(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    options: *const thalweg_producer_options,
    timeout_s: f64,
    producer: *mut *mut thalweg_producer,
) -> thalweg_status {
    const OPERATION: &str = "stream.producer";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let producer = unsafe { place(OPERATION, "producer", producer) }?;
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        // SAFETY: the caller's promise.
        let given = unsafe { versioned::taken(OPERATION, options, DEFAULTS) }?;
        let usual = ProducerOptions::default();
        let options = ProducerOptions {
            batch: match given.batch_size {
                0 => BatchSize::Adaptive,
                events => BatchSize::Fixed(events),
            },
            batches: given.max_batches as usize,
            ordering: if given.loose == 0 { Ordering::Strict } else { Ordering::Loose },
            within: within(OPERATION, given.timeout_s)?,
            outbox: if given.outbox_bytes == 0 { usual.outbox } else { Bytes(given.outbox_bytes) },
        };
        let opened = connection.driver.producer(topic_name, options, patience(OPERATION, timeout_s)?)?;
        *producer = hold(opened);
        Ok(())
    })
}

/// Hands over an event of `partition`: its metadata, and data of `segment_count` parts that are laid one behind the
/// other. All is copied before this returns. Where `pushed` is not `NULL`, `*pushed` says what becomes of the event;
/// else the next `thalweg_producer_flush` does.
///
/// Errors: `THALWEG_INVALID` for a partition that is not there; `THALWEG_FULL` for more than 8 MiB of metadata, or
/// an event that is too large; `THALWEG_GONE` when the server has been for the producer's time-out; `THALWEG_TIMEOUT`.
/// Blocks only when as many batches are under way as may be and the next one is full, or for an event that is larger
/// than the producer's memory.
///
/// # Safety
/// Pointers are `NULL` or valid, and parts have as many readable bytes as they say.
#[no_mangle]
pub unsafe extern "C" fn thalweg_producer_push(
    producer: *const thalweg_producer,
    partition: u32,
    metadata: *const c_void,
    metadata_bytes: usize,
    segments: *const thalweg_segment,
    segment_count: usize,
    timeout_s: f64,
    pushed: *mut *mut thalweg_pushed,
) -> thalweg_status {
    const OPERATION: &str = "stream.push";
    guarded(OPERATION, || {
        let open = held(OPERATION, producer)?;
        // SAFETY: the caller's promise.
        let metadata = unsafe { members(OPERATION, "metadata", metadata.cast::<u8>(), metadata_bytes) }?;
        // SAFETY: the caller's promise.
        let segments = unsafe { members(OPERATION, "segments", segments, segment_count) }?;
        let patience = patience(OPERATION, timeout_s)?;
        let part = |segment: &thalweg_segment| {
            // SAFETY: the caller's promise.
            unsafe { members(OPERATION, "segment", segment.bytes.cast::<u8>(), segment.size_bytes) }
        };
        let outcome = match segments {
            [] => open.push(partition, metadata, &[], patience)?,
            [one] => open.push(partition, metadata, &[part(one)?], patience)?,
            many => {
                let parts = many.iter().map(part).collect::<Result<Vec<&[u8]>>>()?;
                open.push(partition, metadata, &parts, patience)?
            }
        };
        if !pushed.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pushed.write(hold(What::One(outcome))) };
        }
        Ok(())
    })
}

/// Hands over as many events of `partition` as `metadata->count` says; without data when `data` is `NULL`. All is
/// copied before this returns; `pushed` as in `thalweg_producer_push`.
///
/// Errors: as `thalweg_producer_push`, and then the first of the events may have been taken; `THALWEG_INVALID` when the
/// columns differ in their count, or ends do not ascend within the bytes. Blocks as `thalweg_producer_push`.
///
/// # Safety
/// Pointers are `NULL` or valid, and columns have as many readable bytes and ends as they say.
#[no_mangle]
pub unsafe extern "C" fn thalweg_producer_push_many(
    producer: *const thalweg_producer,
    partition: u32,
    metadata: *const thalweg_column,
    data: *const thalweg_column,
    timeout_s: f64,
    pushed: *mut *mut thalweg_pushed,
) -> thalweg_status {
    const OPERATION: &str = "stream.push_many";
    guarded(OPERATION, || {
        let open = held(OPERATION, producer)?;
        let column = |what: &str, given: *const thalweg_column| {
            // SAFETY: the caller's promise.
            let given = unsafe { read(OPERATION, what, given) }?;
            // SAFETY: the caller's promise.
            let bytes = unsafe { members(OPERATION, what, given.bytes.cast::<u8>(), given.size_bytes) }?;
            // SAFETY: the caller's promise.
            let ends = unsafe { members(OPERATION, &format!("{what}.ends"), given.ends, given.count) }?;
            Ok(Column { bytes, ends })
        };
        let metadata = column("metadata", metadata)?;
        let data = (!data.is_null()).then(|| column("data", data)).transpose()?;
        let outcome = open.push_many(partition, metadata, data, patience(OPERATION, timeout_s)?)?;
        if !pushed.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pushed.write(hold(What::Many(outcome))) };
        }
        Ok(())
    })
}

/// Waits until all that was pushed before has come to its end.
///
/// Errors: what the first event that failed since the last flush failed with; `THALWEG_TIMEOUT`.
#[no_mangle]
pub extern "C" fn thalweg_producer_flush(
    producer: *const thalweg_producer,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.flush";
    guarded(OPERATION, || held(OPERATION, producer)?.flush(patience(OPERATION, timeout_s)?))
}

/// Flushes and ends the producer; it is no more also when flushing fails. Nothing for `NULL`; `THALWEG_INVALID` when it
/// was closed before, else errors as `thalweg_producer_flush`. Blocks as that one.
#[no_mangle]
pub extern "C" fn thalweg_producer_close(producer: *mut thalweg_producer, timeout_s: f64) -> thalweg_status {
    const OPERATION: &str = "stream.close";
    guarded(OPERATION, || {
        let patience = patience(OPERATION, timeout_s)?;
        match taken(OPERATION, producer)? {
            Some(open) => open.close(patience),
            None => Ok(()),
        }
    })
}
