//! Lists of names.

use crate::client::thalweg_client;
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{patience, place};
use std::ffi::{c_char, CString};

/// A list of names; ended by `thalweg_names_release`.
pub struct thalweg_names {
    _opaque: (),
}

handle!(thalweg_names, "list of names", Vec<CString>);

/// A list of `names` for C.
pub fn names_out<'a>(names: impl Iterator<Item = &'a str>) -> *mut thalweg_names {
    hold(names.map(|n| CString::new(n).unwrap_or_default()).collect())
}

/// The names of the variables that are defined, in order. Blocks until the servers answer.
///
/// # Safety
/// `names` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_variables(
    client: *const thalweg_client,
    timeout_s: f64,
    names: *mut *mut thalweg_names,
) -> thalweg_status {
    const OPERATION: &str = "stage.variables";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let names = unsafe { place(OPERATION, "names", names) }?;
        let found = held(OPERATION, client)?.stage.variables(patience(OPERATION, timeout_s)?)?;
        *names = names_out(found.iter().map(|n| n.as_str()));
        Ok(())
    })
}

/// How many names there are; 0 for what is no list.
#[no_mangle]
pub extern "C" fn thalweg_names_count(names: *const thalweg_names) -> usize {
    let mut count = 0;
    guarded("names.count", || {
        count = held("names.count", names)?.len();
        Ok(())
    });
    count
}

/// The name at `index`, which lives as long as the list; `NULL` for an index outside, or what is no list.
#[no_mangle]
pub extern "C" fn thalweg_names_at(names: *const thalweg_names, index: usize) -> *const c_char {
    const OPERATION: &str = "names.at";
    let mut name = std::ptr::null();
    guarded(OPERATION, || {
        let list = held(OPERATION, names)?;
        let outside = || invalid(OPERATION, format!("index {index} of {} names", list.len()));
        name = list.get(index).ok_or_else(outside)?.as_ptr();
        Ok(())
    });
    name
}

/// Forgets the list. Nothing for `NULL`; `THALWEG_INVALID` when it was released before.
#[no_mangle]
pub extern "C" fn thalweg_names_release(names: *mut thalweg_names) -> thalweg_status {
    const OPERATION: &str = "names.release";
    guarded(OPERATION, || taken(OPERATION, names).map(drop))
}
