//! Partitions, as C gives them and gets them.

use crate::status::invalid;
use crate::text::optional;
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, CString};
use thalweg::stream::{Durability, Partition, Rest, Retention};
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
pub unsafe fn partition_in(operation: &str, given: *const thalweg_partition) -> Result<Partition> {
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

/// `partition` for C, with the folder that keeps its text.
pub fn partition_out(partition: &Partition, folder: Option<&CString>) -> thalweg_partition {
    let seconds = |nanos: Nanos| nanos.0 as f64 / 1e9;
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
            Rest::Memory | Rest::Anywhere => THALWEG_REST_MEMORY,
            Rest::Files => THALWEG_REST_FILES,
            Rest::Apart { .. } => THALWEG_REST_APART,
        },
        durability,
        drop_acknowledged: i32::from(acknowledged),
        ..PLAIN
    }
}
