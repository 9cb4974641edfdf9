//! What was noted about a variable, such as its units.

use crate::handle::held;
use crate::listing::{names_out, thalweg_names};
use crate::status::{guarded, thalweg_status};
use crate::text::{copy_out, name, optional, patience, place};
use crate::variable::thalweg_variable;
use std::ffi::c_char;
use thalweg::{Error, Kind};

/// Notes `value` under `key` for those who read the variable; an empty value, or `NULL`, removes it. Blocks until the
/// servers answer. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_set_attribute(
    variable: *const thalweg_variable,
    key: *const c_char,
    value: *const c_char,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.set_attribute";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let key = unsafe { name(OPERATION, "key", key) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { optional(OPERATION, "value", value) }?.unwrap_or("");
        held(OPERATION, variable)?.variable.annotate(key.as_str(), value, patience(OPERATION, timeout_s)?)
    })
}

/// Copies what was noted under `key` into `buffer`, with a final NUL and as much as fits, and its length in bytes
/// into `*length`, as `snprintf` would. `buffer` may be `NULL` with `capacity_bytes` 0; `length` may be `NULL`.
/// Blocks until the servers answer.
///
/// Errors: `THALWEG_NOT_FOUND` when nothing was noted under it, with what there is.
///
/// # Safety
/// Pointers are `NULL` or valid; `buffer` has `capacity_bytes` bytes.
#[no_mangle]
pub unsafe extern "C" fn thalweg_attribute(
    variable: *const thalweg_variable,
    key: *const c_char,
    timeout_s: f64,
    buffer: *mut c_char,
    capacity_bytes: usize,
    length: *mut usize,
) -> thalweg_status {
    const OPERATION: &str = "stage.attribute";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let key = unsafe { name(OPERATION, "key", key) }?;
        let opened = held(OPERATION, variable)?;
        let all = opened.variable.attributes(patience(OPERATION, timeout_s)?)?;
        let found = all.iter().find(|(k, _)| k == key.as_str());
        let (_, value) = found.ok_or_else(|| {
            let there: Vec<&String> = all.iter().map(|(k, _)| k).collect();
            let (name, key) = (opened.variable.name().as_str(), key.as_str());
            let detail = format!("{name:?} has no attribute {key:?}; there are {there:?}");
            Error::new(Kind::NotFound, OPERATION, detail)
        })?;
        // SAFETY: the caller's promise.
        unsafe { copy_out(value, buffer, capacity_bytes, length) };
        Ok(())
    })
}

/// The keys under which something was noted, in order. Blocks until the servers answer.
///
/// # Safety
/// `keys` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_attributes(
    variable: *const thalweg_variable,
    timeout_s: f64,
    keys: *mut *mut thalweg_names,
) -> thalweg_status {
    const OPERATION: &str = "stage.attributes";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let keys = unsafe { place(OPERATION, "keys", keys) }?;
        let all = held(OPERATION, variable)?.variable.attributes(patience(OPERATION, timeout_s)?)?;
        *keys = names_out(all.iter().map(|(k, _)| k.as_str()));
        Ok(())
    })
}
