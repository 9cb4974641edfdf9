//! Topics: made, listed, described, removed.

use super::driver::thalweg_stream_driver;
use crate::handle::{handle, held, hold, taken};
use crate::listing::{names_out, thalweg_names};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{name, optional, patience, place};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, CString};
use std::ops::Range;
use thalweg::stream::{Durability, Partition, Rest, Retention, Topic, PARTITIONS_MAX};
use thalweg::{Bytes, Nanos, Result};

/// A partition in the server's memory: its events are gone with the server.
pub const THALWEG_REST_MEMORY: u32 = 0;
/// A partition in files, in the server's folder of topics.
pub const THALWEG_REST_FILES: u32 = 1;
/// As `THALWEG_REST_FILES`, the data apart from their metadata in `thalweg_partition.data_folder`.
pub const THALWEG_REST_APART: u32 = 2;
/// An event counts as appended when the operating system has it: it survives the end of the server, not of the machine.
pub const THALWEG_DURABILITY_NONE: u32 = 0;
/// As `THALWEG_DURABILITY_NONE`; after `thalweg_partition.interval_s` at the latest it survives the machine too.
pub const THALWEG_DURABILITY_INTERVAL: u32 = 1;
/// An event counts as appended when it survives the end of the machine.
pub const THALWEG_DURABILITY_ALWAYS: u32 = 2;

/// How a partition is to be, or is; begin with `THALWEG_PARTITION_INIT`. Events go when any of the three limits says
/// so, whole files at a time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_partition {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// For `THALWEG_REST_APART`: an absolute path on the server's node; else `NULL`.
    pub data_folder: *const c_char,
    /// For `THALWEG_DURABILITY_INTERVAL`: 0.001 to 3600 seconds.
    pub interval_s: f64,
    /// Events that are older go; 0: none goes for its age.
    pub max_age_s: f64,
    /// The oldest events go while there are more bytes; 0: none goes for its size.
    pub max_size_bytes: u64,
    /// `THALWEG_REST_MEMORY`, `THALWEG_REST_FILES` or `THALWEG_REST_APART`.
    pub rest: u32,
    /// `THALWEG_DURABILITY_NONE`, `THALWEG_DURABILITY_INTERVAL` or `THALWEG_DURABILITY_ALWAYS`.
    pub durability: u32,
    /// Whether events go that every named consumer has acknowledged: 1 or 0.
    pub drop_acknowledged: i32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_partition {
    const WHAT: &'static str = "partition";
    const INIT: &'static str = "THALWEG_PARTITION_INIT";
    const FIRST: usize = size_of::<thalweg_partition>();
}

const PLAIN: thalweg_partition = thalweg_partition {
    size: size_of::<thalweg_partition>(),
    data_folder: std::ptr::null(),
    interval_s: 0.0,
    max_age_s: 0.0,
    max_size_bytes: 0,
    rest: THALWEG_REST_MEMORY,
    durability: THALWEG_DURABILITY_NONE,
    drop_acknowledged: 0,
    reserved: 0,
};

/// The rules of a topic, for clients that obey them, as JSON; begin with `THALWEG_RULES_INIT`. This face stores and
/// tells them and pushes what it is given; Python obeys them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_rules {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Which metadata are accepted; `NULL`: `null`, all.
    pub validator: *const c_char,
    /// Which partition an event goes to; `NULL`: `"round_robin"`.
    pub selector: *const c_char,
    /// How metadata are written; `NULL`: `"json"`.
    pub serializer: *const c_char,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_rules {
    const WHAT: &'static str = "rules";
    const INIT: &'static str = "THALWEG_RULES_INIT";
    const FIRST: usize = size_of::<thalweg_rules>();
}

const USUAL: thalweg_rules = thalweg_rules {
    size: size_of::<thalweg_rules>(),
    validator: std::ptr::null(),
    selector: std::ptr::null(),
    serializer: std::ptr::null(),
};

/// What a topic is; made by `thalweg_topic_describe`, ended by `thalweg_topic_release`.
pub struct thalweg_topic {
    _opaque: (),
}

handle!(thalweg_topic, "topic", Described);

/// A topic as it was when it was asked for, its texts as C has them.
pub struct Described {
    partitions: Vec<(Partition, Option<CString>, Range<u64>)>,
    rules: [CString; 3],
}

fn seconds(operation: &str, what: &str, given: f64) -> Result<Nanos> {
    match given.is_finite() && (0.0..=1e9).contains(&given) {
        true => Ok(Nanos((given * 1e9) as u64)),
        false => {
            let detail = format!("partition.{what} = {given}; accepted are 0 to 1e9 seconds");
            Err(invalid(operation, detail))
        }
    }
}

/// The partition at `given`; for `NULL` one in memory.
///
/// # Safety
/// As `versioned::taken`, and its text is `NULL` or a C string.
unsafe fn partition_in(operation: &str, given: *const thalweg_partition) -> Result<Partition> {
    // SAFETY: the caller's promise.
    let given = unsafe { versioned::taken(operation, given, PLAIN) }?;
    // SAFETY: the caller's promise.
    let folder = unsafe { optional(operation, "data_folder", given.data_folder) }?;
    let rest = match (given.rest, folder) {
        (THALWEG_REST_APART, Some(data)) => Rest::Apart { data: data.into() },
        (THALWEG_REST_APART, None) => {
            return Err(invalid(operation, "partition.data_folder is NULL; THALWEG_REST_APART needs it"))
        }
        (_, Some(data)) => {
            let detail =
                format!("partition.data_folder {data:?} without THALWEG_REST_APART; accepted is NULL");
            return Err(invalid(operation, detail));
        }
        (THALWEG_REST_MEMORY, None) => Rest::Memory,
        (THALWEG_REST_FILES, None) => Rest::Files,
        (other, None) => {
            let detail = format!(
                "partition.rest = {other}; accepted are THALWEG_REST_MEMORY, THALWEG_REST_FILES and THALWEG_REST_APART"
            );
            return Err(invalid(operation, detail));
        }
    };
    let durability = match given.durability {
        THALWEG_DURABILITY_NONE => Durability::None,
        THALWEG_DURABILITY_INTERVAL => {
            Durability::Interval(seconds(operation, "interval_s", given.interval_s)?)
        }
        THALWEG_DURABILITY_ALWAYS => Durability::Always,
        other => {
            let detail = format!(
                "partition.durability = {other}; accepted are THALWEG_DURABILITY_NONE, THALWEG_DURABILITY_INTERVAL and \
                 THALWEG_DURABILITY_ALWAYS"
            );
            return Err(invalid(operation, detail));
        }
    };
    let age = seconds(operation, "max_age_s", given.max_age_s)?;
    let retention = Retention {
        age: (age > Nanos(0)).then_some(age),
        bytes: (given.max_size_bytes > 0).then_some(Bytes(given.max_size_bytes)),
        acknowledged: given.drop_acknowledged != 0,
    };
    Ok(Partition { rest, durability, retention })
}

fn partition_out(partition: &Partition, folder: Option<&CString>) -> thalweg_partition {
    let seconds = |nanos: Nanos| nanos.0 as f64 * 1e-9;
    let Retention { age, bytes, acknowledged } = partition.retention;
    let (durability, interval_s) = match partition.durability {
        Durability::None => (THALWEG_DURABILITY_NONE, 0.0),
        Durability::Interval(interval) => (THALWEG_DURABILITY_INTERVAL, seconds(interval)),
        Durability::Always => (THALWEG_DURABILITY_ALWAYS, 0.0),
    };
    thalweg_partition {
        data_folder: folder.map_or(std::ptr::null(), |folder| folder.as_ptr()),
        interval_s,
        max_age_s: age.map_or(0.0, seconds),
        max_size_bytes: bytes.map_or(0, |bytes| bytes.0),
        rest: match partition.rest {
            Rest::Memory => THALWEG_REST_MEMORY,
            Rest::Files => THALWEG_REST_FILES,
            Rest::Apart { .. } => THALWEG_REST_APART,
        },
        durability,
        drop_acknowledged: i32::from(acknowledged),
        ..PLAIN
    }
}

/// Makes a topic of `partitions` partitions that are all as `partition` says; `NULL`: in memory, without durability
/// and limits. `rules` may be `NULL`.
///
/// Errors: `THALWEG_EXISTS`, `THALWEG_INVALID` for what cannot be: 0 partitions, files where the server has no folder
/// of topics. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_create(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    partitions: u32,
    partition: *const thalweg_partition,
    rules: *const thalweg_rules,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.create";
    guarded(OPERATION, || {
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        // SAFETY: the caller's promise.
        let partition = unsafe { partition_in(OPERATION, partition) }?;
        // SAFETY: the caller's promise.
        let rules = unsafe { versioned::taken(OPERATION, rules, USUAL) }?;
        let text = |what, given, usual: &str| {
            // SAFETY: the rules are `NULL` or C strings, by the caller's promise.
            unsafe { optional(OPERATION, what, given) }.map(|text| text.unwrap_or(usual).to_owned())
        };
        if partitions as usize > PARTITIONS_MAX {
            let detail = format!("{partitions} partitions; accepted are 1 to {PARTITIONS_MAX}");
            return Err(invalid(OPERATION, detail));
        }
        let topic = Topic {
            partitions: vec![partition; partitions as usize],
            validator: text("validator", rules.validator, "null")?,
            selector: text("selector", rules.selector, "\"round_robin\"")?,
            serializer: text("serializer", rules.serializer, "\"json\"")?,
        };
        connection.driver.create(topic_name, topic, patience(OPERATION, timeout_s)?)
    })
}

/// Removes a topic with its events. Errors: `THALWEG_NOT_FOUND`. Blocks until the server answers.
///
/// # Safety
/// `topic_name` is `NULL` or a C string.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_delete(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.delete";
    guarded(OPERATION, || {
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        connection.driver.delete(topic_name, patience(OPERATION, timeout_s)?)
    })
}

/// Adds a partition, behind those that are there, to a topic; producers that are open go on without it. `partition`
/// may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND`, `THALWEG_INVALID`, `THALWEG_FULL`. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_add_partition(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    partition: *const thalweg_partition,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stream.partition";
    guarded(OPERATION, || {
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        // SAFETY: the caller's promise.
        let partition = unsafe { partition_in(OPERATION, partition) }?;
        connection.driver.add_partition(topic_name, partition, patience(OPERATION, timeout_s)?)
    })
}

/// The names of all topics, in order. Blocks until the server answers.
///
/// # Safety
/// `names` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topics(
    driver: *const thalweg_stream_driver,
    timeout_s: f64,
    names: *mut *mut thalweg_names,
) -> thalweg_status {
    const OPERATION: &str = "stream.list";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let names = unsafe { place(OPERATION, "names", names) }?;
        let found = held(OPERATION, driver)?.driver.topics(patience(OPERATION, timeout_s)?)?;
        *names = names_out(found.iter().map(|n| n.as_str()));
        Ok(())
    })
}

/// What a topic is at this moment. Errors: `THALWEG_NOT_FOUND`. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_describe(
    driver: *const thalweg_stream_driver,
    topic_name: *const c_char,
    timeout_s: f64,
    topic: *mut *mut thalweg_topic,
) -> thalweg_status {
    const OPERATION: &str = "stream.describe";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let topic = unsafe { place(OPERATION, "topic", topic) }?;
        let connection = held(OPERATION, driver)?;
        // SAFETY: the caller's promise.
        let topic_name = unsafe { name(OPERATION, "topic_name", topic_name) }?;
        let (found, events) = connection.driver.describe(topic_name, patience(OPERATION, timeout_s)?)?;
        let Topic { partitions, validator, selector, serializer } = found;
        let text = |text: String| CString::new(text).unwrap_or_default();
        let described = partitions.into_iter().zip(events).map(|(partition, events)| {
            let folder = match &partition.rest {
                Rest::Apart { data } => Some(text(data.clone())),
                Rest::Memory | Rest::Files => None,
            };
            (partition, folder, events)
        });
        *topic = hold(Described {
            partitions: described.collect(),
            rules: [validator, selector, serializer].map(text),
        });
        Ok(())
    })
}

/// How many partitions the topic has; 0 for what is no topic.
#[no_mangle]
pub extern "C" fn thalweg_topic_partition_count(topic: *const thalweg_topic) -> u32 {
    const OPERATION: &str = "topic.partition_count";
    let mut count = 0;
    guarded(OPERATION, || {
        count = held(OPERATION, topic)?.partitions.len() as u32;
        Ok(())
    });
    count
}

/// How partition `number` is, the number of its first event and of the next to come; each may be `NULL`. The text of
/// `*partition` lives as long as the topic.
///
/// Errors: `THALWEG_INVALID` for a number outside. Does not block.
///
/// # Safety
/// `partition` is `NULL` or was initialised with `THALWEG_PARTITION_INIT`; the others are `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_partition(
    topic: *const thalweg_topic,
    number: u32,
    partition: *mut thalweg_partition,
    first: *mut u64,
    next: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "topic.partition";
    guarded(OPERATION, || {
        let described = held(OPERATION, topic)?;
        let count = described.partitions.len();
        let outside = || invalid(OPERATION, format!("partition {number} of {count}"));
        let (found, folder, events) = described.partitions.get(number as usize).ok_or_else(outside)?;
        if !partition.is_null() {
            // SAFETY: the caller's promise.
            unsafe { versioned::given(OPERATION, partition, partition_out(found, folder.as_ref())) }?;
        }
        for (into, value) in [(first, events.start), (next, events.end)] {
            if !into.is_null() {
                // SAFETY: the caller's promise.
                unsafe { into.write(value) };
            }
        }
        Ok(())
    })
}

/// The rules of the topic; their texts live as long as the topic. Does not block.
///
/// # Safety
/// `rules` is `NULL` or was initialised with `THALWEG_RULES_INIT`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_topic_rules(
    topic: *const thalweg_topic,
    rules: *mut thalweg_rules,
) -> thalweg_status {
    const OPERATION: &str = "topic.rules";
    guarded(OPERATION, || {
        let described = held(OPERATION, topic)?;
        let [validator, selector, serializer] = described.rules.each_ref().map(|rule| rule.as_ptr());
        // SAFETY: the caller's promise.
        unsafe {
            versioned::given(OPERATION, rules, thalweg_rules { validator, selector, serializer, ..USUAL })
        }
    })
}

/// Forgets what the topic is. Nothing for `NULL`; `THALWEG_INVALID` when it was released before.
#[no_mangle]
pub extern "C" fn thalweg_topic_release(topic: *mut thalweg_topic) -> thalweg_status {
    const OPERATION: &str = "topic.release";
    guarded(OPERATION, || taken(OPERATION, topic).map(drop))
}
