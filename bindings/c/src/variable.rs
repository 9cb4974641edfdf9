//! Variables: defined, opened, sealed, released.

use crate::client::thalweg_client;
use crate::definition::{definition, thalweg_definition, Described};
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, thalweg_status};
use crate::text::{name, patience, place};
use crate::versioned;
use crate::which;
use std::ffi::c_char;
use std::sync::{Arc, OnceLock};
use thalweg::{Client, Patience, Result, Variable, VersionState};

/// A variable: a named n-d array that has many versions; made by `thalweg_define` or `thalweg_open`, ended by
/// `thalweg_close`. Threads may share it.
pub struct thalweg_variable {
    _opaque: (),
}

handle!(thalweg_variable, "variable", Opened);

/// A variable, and its definition for C.
pub struct Opened {
    pub variable: Variable,
    described: Described,
    /// The service of this process that keeps what is put locally.
    keeper: OnceLock<Arc<Client>>,
}

impl Opened {
    /// The service of this process that keeps what is put locally; started when first asked for.
    pub fn keeper(&self, patience: Patience<'_>) -> Result<&Arc<Client>> {
        if let Some(keeper) = self.keeper.get() {
            return Ok(keeper);
        }
        let made = thalweg::keeper(self.variable.identity(), patience)?;
        Ok(self.keeper.get_or_init(|| made))
    }
}

fn opened(variable: Variable) -> *mut thalweg_variable {
    let described = Described::of(variable.definition());
    hold(Opened { variable, described, keeper: OnceLock::new() })
}

/// Defines the variable `variable_name`, or agrees with the definition that is there already.
///
/// Errors: `THALWEG_EXISTS` when it is defined otherwise, with both definitions; `THALWEG_SHAPE` for a domain without
/// cells or with more than 2^63 - 1 bytes; `THALWEG_DTYPE`, `THALWEG_INVALID`. Blocks until the servers answer.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_define(
    client: *const thalweg_client,
    variable_name: *const c_char,
    definition_: *const thalweg_definition,
    timeout_s: f64,
    variable: *mut *mut thalweg_variable,
) -> thalweg_status {
    const OPERATION: &str = "stage.define";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let variable = unsafe { place(OPERATION, "variable", variable) }?;
        // SAFETY: the caller's promise.
        let name = unsafe { name(OPERATION, "variable_name", variable_name) }?;
        // SAFETY: the caller's promise.
        let definition = unsafe { definition(OPERATION, definition_) }?;
        let client = held(OPERATION, client)?;
        *variable = opened(client.stage.define(name, definition, patience(OPERATION, timeout_s)?)?);
        Ok(())
    })
}

/// Opens the variable `variable_name`. Blocks until somebody has defined it.
///
/// Errors: `THALWEG_TIMEOUT` when nobody has in time, with who is connected.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_open(
    client: *const thalweg_client,
    variable_name: *const c_char,
    timeout_s: f64,
    variable: *mut *mut thalweg_variable,
) -> thalweg_status {
    const OPERATION: &str = "stage.open";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let variable = unsafe { place(OPERATION, "variable", variable) }?;
        // SAFETY: the caller's promise.
        let name = unsafe { name(OPERATION, "variable_name", variable_name) }?;
        let client = held(OPERATION, client)?;
        *variable = opened(client.stage.open(name, patience(OPERATION, timeout_s)?)?);
        Ok(())
    })
}

/// How the variable is. The lists in `*definition` live until `thalweg_close`. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `definition` is `NULL` or a definition that was initialised with `THALWEG_DEFINITION_INIT`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_describe(
    variable: *const thalweg_variable,
    definition: *mut thalweg_definition,
) -> thalweg_status {
    const OPERATION: &str = "stage.describe";
    guarded(OPERATION, || {
        let opened = held(OPERATION, variable)?;
        // SAFETY: the caller's promise.
        unsafe { versioned::given(OPERATION, definition, opened.described.plain()) }
    })
}

/// Forgets the handle; the variable stays in the service. Nothing for `NULL`; `THALWEG_INVALID` when it was closed
/// before.
#[no_mangle]
pub extern "C" fn thalweg_close(variable: *mut thalweg_variable) -> thalweg_status {
    const OPERATION: &str = "stage.close";
    guarded(OPERATION, || taken(OPERATION, variable).map(drop))
}

/// Says that `writer`, one of the variable's writers and counted from 0, has put all that it will of `version`. Once
/// every writer has, it is complete; a variable with `writers` 0 needs no seals.
///
/// Errors: `THALWEG_INVALID` for a writer that the variable does not have. Blocks until the servers answer.
#[no_mangle]
pub extern "C" fn thalweg_seal(
    variable: *const thalweg_variable,
    version: u64,
    writer: u32,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.seal";
    guarded(OPERATION, || {
        let opened = held(OPERATION, variable)?;
        opened.variable.seal(which::version(OPERATION, version)?, writer, patience(OPERATION, timeout_s)?)
    })
}

/// Says that nobody needs `version` any more; views of it stay valid. Blocks until the servers answer.
///
/// `existed` may be `NULL`; it becomes 1 when the version was there, else 0.
///
/// # Safety
/// `existed` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_release(
    variable: *const thalweg_variable,
    version: u64,
    timeout_s: f64,
    existed: *mut i32,
) -> thalweg_status {
    const OPERATION: &str = "stage.release";
    guarded(OPERATION, || {
        let opened = held(OPERATION, variable)?;
        let was =
            opened.variable.release(which::version(OPERATION, version)?, patience(OPERATION, timeout_s)?)?;
        if !existed.is_null() {
            // SAFETY: the caller's promise.
            unsafe { existed.write(i32::from(was)) };
        }
        Ok(())
    })
}

/// One version of a variable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_version_state {
    /// Which.
    pub version: u64,
    /// How many cells have been put.
    pub cells: u64,
    /// How many writers have sealed it.
    pub seals: u32,
    /// 1 when all that will be put has been, else 0.
    pub complete: i32,
}

/// Lists the versions that are there, in order: up to `capacity` of them into `states`, and how many there are into
/// `*count`.
///
/// `states` may be `NULL` with `capacity` 0. Blocks until the servers answer.
///
/// # Safety
/// `states` has room for `capacity` members, `count` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_versions(
    variable: *const thalweg_variable,
    timeout_s: f64,
    states: *mut thalweg_version_state,
    capacity: usize,
    count: *mut usize,
) -> thalweg_status {
    const OPERATION: &str = "stage.versions";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let count = unsafe { place(OPERATION, "count", count) }?;
        if capacity > 0 {
            // SAFETY: the caller's promise.
            unsafe { place(OPERATION, "states", states) }?;
        }
        let opened = held(OPERATION, variable)?;
        let found = opened.variable.versions(patience(OPERATION, timeout_s)?)?;
        for (i, state) in found.iter().take(capacity).enumerate() {
            // SAFETY: `capacity` members fit.
            unsafe { states.add(i).write(out(state)) };
        }
        *count = found.len();
        Ok(())
    })
}

fn out(state: &VersionState) -> thalweg_version_state {
    thalweg_version_state {
        version: state.version.0,
        cells: state.cells,
        seals: state.seals,
        complete: i32::from(state.complete),
    }
}
