//! Texts, pointers and time-outs as C gives them.

use crate::status::invalid;
use std::ffi::{c_char, CStr};
use thalweg::{Name, Nanos, Patience, Result};

/// The text at `given`, which is called `what`; none for `NULL`.
///
/// # Safety
/// `given` is `NULL` or a C string that outlives `'a`.
pub unsafe fn optional<'a>(operation: &str, what: &str, given: *const c_char) -> Result<Option<&'a str>> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: a C string, by the caller's promise.
    let text = unsafe { CStr::from_ptr(given) };
    match text.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(invalid(operation, format!("{what} {text:?} is not UTF-8"))),
    }
}

/// The name at `given`.
///
/// # Safety
/// As `optional`.
pub unsafe fn name(operation: &str, what: &str, given: *const c_char) -> Result<Name> {
    // SAFETY: the caller's promise.
    match unsafe { optional(operation, what, given) }? {
        Some(text) => Name::new(operation, text),
        None => Err(invalid(operation, format!("{what} is NULL"))),
    }
}

/// What `given`, which is called `what`, points to.
///
/// # Safety
/// `given` is `NULL` or points to a valid `T` that nobody changes during `'a`.
pub unsafe fn read<'a, T>(operation: &str, what: &str, given: *const T) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { given.as_ref() }.ok_or_else(|| invalid(operation, format!("{what} is NULL")))
}

/// Where a result is to go.
///
/// # Safety
/// `given` is `NULL` or points to memory for a `T` that nobody else uses during `'a`.
pub unsafe fn place<'a, T>(operation: &str, what: &str, given: *mut T) -> Result<&'a mut T> {
    // SAFETY: the caller's promise; every `T` of this face is plain data, which any bytes are.
    unsafe { given.as_mut() }.ok_or_else(|| invalid(operation, format!("{what} is NULL")))
}

/// A time-out in seconds as patience.
pub fn patience(operation: &str, timeout_s: f64) -> Result<Patience<'static>> {
    within(operation, timeout_s).map(Patience::of)
}

/// A time-out in seconds.
pub fn within(operation: &str, timeout_s: f64) -> Result<Nanos> {
    if timeout_s.is_finite() && (0.0..=1e9).contains(&timeout_s) {
        return Ok(Nanos((timeout_s * 1e9) as u64));
    }
    Err(invalid(operation, format!("timeout_s = {timeout_s}; accepted are 0 to 1e9 seconds")))
}

/// Copies `text` with a final NUL into `capacity_bytes` at `buffer`, as much as fits, and says its length at
/// `length`.
///
/// # Safety
/// `buffer` is `NULL` or has `capacity_bytes` writable bytes; `length` is `NULL` or writable.
pub unsafe fn copy_out(text: &str, buffer: *mut c_char, capacity_bytes: usize, length: *mut usize) {
    if !buffer.is_null() && capacity_bytes > 0 {
        let count = text.len().min(capacity_bytes - 1);
        // SAFETY: `count` + 1 bytes fit, by the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), count);
            buffer.add(count).write(0);
        }
    }
    if !length.is_null() {
        // SAFETY: the caller's promise.
        unsafe { length.write(text.len()) };
    }
}
