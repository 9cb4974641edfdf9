//! Topics: made, listed, described, removed.

use super::driver::thalweg_stream_driver;
use super::partition::{partition_in, partition_out, thalweg_partition};
use crate::handle::{handle, held, hold, taken};
use crate::listing::{names_out, thalweg_names};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{name, optional, patience, place};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, CString};
use std::ops::Range;
use thalweg::stream::{Partition, Rest, Topic, PARTITIONS_MAX};

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
                Rest::Memory | Rest::Files | Rest::Anywhere => None,
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
