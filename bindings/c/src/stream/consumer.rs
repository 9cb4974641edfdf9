//! Consumers: members of a named consumer, which share the partitions of a topic.

use super::driver::thalweg_stream_driver;
use super::events::thalweg_events;
use super::members;
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{name, patience, place};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, c_void};
use thalweg::stream::{Begin, Consumer, ConsumerOptions};
use thalweg::{Error, Kind, Name, Nanos};

/// A member of a named consumer of one topic; made by `thalweg_consumer_open`, ended by `thalweg_consumer_close`.
/// Threads may share it.
pub struct thalweg_consumer {
    _opaque: (),
}

handle!(thalweg_consumer, "consumer", Consumer);

/// A consumer begins with the first event that there is.
pub const THALWEG_BEGIN_FIRST: u32 = 0;
/// A consumer begins with the first event to come.
pub const THALWEG_BEGIN_NEXT: u32 = 1;

/// How a consumer is to be; begin with `THALWEG_CONSUMER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_consumer_options {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Members of one name share the partitions, and what they acknowledge is remembered under it; `NULL`: `default`.
    pub name: *const c_char,
    /// The partitions that this member may have, `partition_count` of them; `NULL`: all.
    pub partitions: *const u32,
    /// How many `partitions` has.
    pub partition_count: usize,
    /// Where it begins in a partition in which its name has acknowledged nothing: `THALWEG_BEGIN_FIRST` or
    /// `THALWEG_BEGIN_NEXT`.
    pub begin: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_consumer_options {
    const WHAT: &'static str = "consumer options";
    const INIT: &'static str = "THALWEG_CONSUMER_OPTIONS_INIT";
    const FIRST: usize = size_of::<thalweg_consumer_options>();
}

const DEFAULTS: thalweg_consumer_options = thalweg_consumer_options {
    size: size_of::<thalweg_consumer_options>(),
    name: std::ptr::null(),
    partitions: std::ptr::null(),
    partition_count: 0,
    begin: THALWEG_BEGIN_FIRST,
    reserved: 0,
};

/// Where a consumer is in a partition that it holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_position {
    /// The number behind the last event that was acknowledged.
    pub acknowledged: u64,
    /// The number of the event that is pulled next.
    pub next: u64,
    /// The number of the first event that there is.
    pub first: u64,
    /// The number of the next event to come.
    pub end: u64,
    /// The partition.
    pub partition: u32,
    /// 0.
    pub reserved: u32,
}

/// Joins a named consumer of a topic, over a connection of its own; it goes on behind what its name has acknowledged.
/// `options` may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND` for the topic, `THALWEG_INVALID` for options outside what is accepted. Blocks until the
/// server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_consumer_open(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    options: *const thalweg_consumer_options,
    timeout_s: f64,
    consumer: *mut *mut thalweg_consumer,
) -> thalweg_status {
    const OPERATION: &str = "stream.consumer";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let consumer = unsafe { place(OPERATION, "consumer", consumer) }?;
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        // SAFETY: the caller's promise.
        let given = unsafe { versioned::taken(OPERATION, options, DEFAULTS) }?;
        // SAFETY: the caller's promise.
        let only = unsafe { members(OPERATION, "partitions", given.partitions, given.partition_count) }?;
        let options = ConsumerOptions {
            name: match given.name.is_null() {
                true => Name::new(OPERATION, "default")?,
                // SAFETY: the caller's promise.
                false => unsafe { name(OPERATION, "name", given.name) }?,
            },
            only: (!given.partitions.is_null()).then(|| only.to_vec()),
            begin: match given.begin {
                THALWEG_BEGIN_FIRST => Begin::First,
                THALWEG_BEGIN_NEXT => Begin::Next,
                other => {
                    let detail =
                        format!("begin = {other}; accepted are THALWEG_BEGIN_FIRST and THALWEG_BEGIN_NEXT");
                    return Err(invalid(OPERATION, detail));
                }
            },
        };
        let opened = connection.driver.consumer(topic_name, options, patience(OPERATION, timeout_s)?)?;
        *consumer = hold(opened);
        Ok(())
    })
}

/// Pulls the next events of one partition: at least one, at most `most`. They are of one batch, in the order in which
/// they were appended; the partitions have their turns.
///
/// Errors: `THALWEG_TIMEOUT` when none came, and then nothing was taken; `THALWEG_INTERRUPTED` when the consumer was
/// closed meanwhile; `THALWEG_CORRUPT` when stored events are not what was written: the next call goes on behind
/// them; `THALWEG_NOT_FOUND`, `THALWEG_GONE`. Blocks until there is an event, or `timeout_s` has passed.
///
/// # Safety
/// `events` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_consumer_pull(
    consumer: *const thalweg_consumer,
    most: u32,
    timeout_s: f64,
    events: *mut *mut thalweg_events,
) -> thalweg_status {
    const OPERATION: &str = "stream.pull";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let events = unsafe { place(OPERATION, "events", events) }?;
        let open = held(OPERATION, consumer)?;
        if most == 0 {
            return Err(invalid(OPERATION, "most = 0; accepted are 1 or more events"));
        }
        match open.pull(most, patience(OPERATION, timeout_s)?)? {
            Some(found) => {
                *events = hold(found);
                Ok(())
            }
            None if held(OPERATION, consumer).is_err() => {
                Err(Error::new(Kind::Interrupted, OPERATION, "the consumer was closed"))
            }
            None => Err(Error::new(Kind::Timeout, OPERATION, format!("no event came within {timeout_s} s"))),
        }
    })
}

/// Copies bytes `begin` to `end`, which is excluded, of the data of event `index` of `events`, counted from its first,
/// to `into`; what is not asked for is not read. `events` were pulled by this consumer.
///
/// Errors: `THALWEG_INVALID` for a range outside of the data, `THALWEG_CORRUPT`, `THALWEG_NOT_FOUND` when retention has
/// let go of them. Blocks until they are read, from the file where the server is on this node.
///
/// # Safety
/// `into` has `end - begin` writable bytes.
#[no_mangle]
pub unsafe extern "C" fn thalweg_consumer_read_data(
    consumer: *const thalweg_consumer,
    events: *const thalweg_events,
    index: u32,
    begin: u64,
    end: u64,
    into: *mut c_void,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.data";
    guarded(OPERATION, || {
        let open = held(OPERATION, consumer)?;
        let found = super::events::of(OPERATION, events, index)?;
        let range = found.data_range(index);
        let size = range.end - range.start;
        if begin > end || end > size {
            return Err(invalid(OPERATION, format!("bytes {begin} to {end} of {size}")));
        }
        if begin == end {
            return Ok(());
        }
        if into.is_null() {
            return Err(invalid(OPERATION, format!("into is NULL, and gets {} bytes", end - begin)));
        }
        // SAFETY: the caller's promise; bytes are valid whatever they are.
        let bytes = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), (end - begin) as usize) };
        open.read_data(&found, index, begin..end, bytes, patience(OPERATION, timeout_s)?)
    })
}

/// Says that the events of `partition` before number `next` need not be given to this name again; a lower number than
/// before changes nothing. It is remembered soon, and when `thalweg_consumer_close` returns. Errors: `THALWEG_GONE`.
/// Does not block.
#[no_mangle]
pub extern "C" fn thalweg_consumer_acknowledge(
    consumer: *const thalweg_consumer,
    partition: u32,
    next: u64,
) -> thalweg_status {
    const OPERATION: &str = "stream.acknowledge";
    guarded(OPERATION, || held(OPERATION, consumer)?.acknowledge(partition, next))
}

/// Pulls `partition` from event `next` on; what was acknowledged stays so.
///
/// Errors: `THALWEG_INVALID` for a partition that it does not hold, or an event that is not there and not the next to
/// come. Blocks until the server answers.
#[no_mangle]
pub extern "C" fn thalweg_consumer_seek(
    consumer: *const thalweg_consumer,
    partition: u32,
    next: u64,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.seek";
    guarded(OPERATION, || held(OPERATION, consumer)?.seek(partition, next, patience(OPERATION, timeout_s)?))
}

/// Pulls `partition` from the first event on that was appended at `time_s`, in seconds since 1970, or later.
///
/// Errors: as `thalweg_consumer_seek`. Blocks until the server answers.
#[no_mangle]
pub extern "C" fn thalweg_consumer_seek_time(
    consumer: *const thalweg_consumer,
    partition: u32,
    time_s: f64,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.seek";
    guarded(OPERATION, || {
        let open = held(OPERATION, consumer)?;
        if !(0.0..=1e10).contains(&time_s) {
            let detail = format!("time_s = {time_s}; accepted are 0 to 1e10 seconds since 1970");
            return Err(invalid(OPERATION, detail));
        }
        let time = Nanos((time_s * 1e9) as u64);
        open.seek_time(partition, time, patience(OPERATION, timeout_s)?)
    })
}

/// Where it is in the partitions that it holds: up to `capacity` of them at `positions`, and how many there are at
/// `count`. Blocks until the server answers.
///
/// # Safety
/// `positions` is `NULL` or has room for `capacity` members; `count` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_consumer_positions(
    consumer: *const thalweg_consumer,
    timeout_s: f64,
    positions: *mut thalweg_position,
    capacity: usize,
    count: *mut usize,
) -> thalweg_status {
    const OPERATION: &str = "stream.positions";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let count = unsafe { place(OPERATION, "count", count) }?;
        if positions.is_null() && capacity > 0 {
            return Err(invalid(OPERATION, format!("positions is NULL, and gets {capacity}")));
        }
        let found = held(OPERATION, consumer)?.positions(patience(OPERATION, timeout_s)?)?;
        *count = found.len();
        for (n, at) in found.iter().take(capacity).enumerate() {
            let position = thalweg_position {
                acknowledged: at.acknowledged,
                next: at.next,
                first: at.first,
                end: at.end,
                partition: at.partition,
                reserved: 0,
            };
            // SAFETY: member `n` of `capacity`, by the caller's promise.
            unsafe { positions.add(n).write(position) };
        }
        Ok(())
    })
}

/// Leaves: its partitions go to the other members of its name, who pulls is woken, and what was acknowledged is
/// remembered. Events that were pulled stay until they are released; data of theirs that lie apart cannot be read any
/// more.
///
/// Nothing for `NULL`; `THALWEG_INVALID` when it was closed before; it is closed also when the server cannot be told.
/// Blocks until the server answers.
#[no_mangle]
pub extern "C" fn thalweg_consumer_close(consumer: *mut thalweg_consumer, timeout_s: f64) -> thalweg_status {
    const OPERATION: &str = "stream.close";
    guarded(OPERATION, || {
        let patience = patience(OPERATION, timeout_s)?;
        match taken(OPERATION, consumer)? {
            Some(open) => open.close(patience),
            None => Ok(()),
        }
    })
}
