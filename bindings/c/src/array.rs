//! Whole arrays under a name and a version, without regions.

use crate::client::thalweg_client;
use crate::dtype::{dtype, thalweg_dtype};
use crate::geometry::{region, thalweg_layout, thalweg_region, way, Way};
use crate::handle::held;
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{name, patience, place};
use crate::view::{self, thalweg_view};
use crate::which;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use thalweg::{Client, Error, Extents, Key, Kind, Patience, Result, Shape, Target};

/// Which array is meant, and the server that has it.
struct Meant {
    client: Arc<Client>,
    key: Key,
    patience: Patience<'static>,
}

impl Meant {
    /// Safety: `array_name` is `NULL` or a C string.
    unsafe fn of(
        operation: &str,
        client: *const thalweg_client,
        array_name: *const c_char,
        version: u64,
        timeout_s: f64,
    ) -> Result<Meant> {
        let connection = held(operation, client)?;
        // SAFETY: the caller's promise.
        let name = unsafe { name(operation, "array_name", array_name) }?;
        let version = which::version(operation, version)?;
        let patience = patience(operation, timeout_s)?;
        let client = connection.stage.home(&name).clone();
        Ok(Meant { client, key: Key { name, version }, patience })
    }
}

/// The shape of a whole array. Safety: `extent` is `NULL` or points to a region.
unsafe fn shape(operation: &str, extent: *const thalweg_region, code: thalweg_dtype) -> Result<Shape> {
    // SAFETY: the caller's promise.
    let whole = unsafe { region(operation, extent) }?;
    if whole.lower().iter().any(|l| *l != 0) {
        let detail = "region.lower is not zero; a whole array has no parts";
        return Err(Error::new(Kind::Shape, operation, detail));
    }
    Shape::new(dtype(operation, code)?, Extents::new(whole.extent())?)
        .map_err(|e| Error::new(e.kind, operation, e.message))
}

/// The strides of an array of `shape`. Safety: `layout` is `NULL` or points to one.
unsafe fn strides(operation: &str, layout: *const thalweg_layout, shape: &Shape) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    Ok(match unsafe { way(operation, layout, shape.extents().len()) }? {
        Way::Strides(strides) => strides,
        Way::Packed(layout) => layout.strides(shape),
    })
}

fn there(operation: &str, data_is_null: bool, shape: &Shape) -> Result<()> {
    if data_is_null && shape.size().0 > 0 {
        return Err(invalid(operation, format!("data is NULL, the array has {}", shape.size())));
    }
    Ok(())
}

/// Copies a whole array into the service: one copy, whatever its layout. `extent->lower` is zero; `replace` (0 or 1):
/// whether a version that is there may be replaced.
///
/// Errors: `THALWEG_EXISTS`, `THALWEG_FULL`, `THALWEG_TIMEOUT`, `THALWEG_GONE`, `THALWEG_SHAPE`, `THALWEG_DTYPE`.
/// Blocks when memory is full and the server's policy is to wait.
///
/// # Safety
/// Pointers are `NULL` or valid; every element can be read at `data`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_array_put(
    client: *const thalweg_client,
    array_name: *const c_char,
    version: u64,
    extent: *const thalweg_region,
    data: *const c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    replace: i32,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.put";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let meant = unsafe { Meant::of(OPERATION, client, array_name, version, timeout_s) }?;
        // SAFETY: the caller's promise.
        let shape = unsafe { shape(OPERATION, extent, dtype) }?;
        there(OPERATION, data.is_null(), &shape)?;
        // SAFETY: the caller's promise.
        let strides = unsafe { strides(OPERATION, layout, &shape) }?;
        // SAFETY: the caller's promise.
        unsafe { meant.client.put(meant.key, shape, data.cast(), &strides, replace != 0, meant.patience) }
    })
}

/// A read-only view of a whole array, row-major, without a copy where memory is shared. Blocks until it is put.
///
/// Errors: `THALWEG_TIMEOUT`, with who is connected; `THALWEG_GONE`, `THALWEG_FULL`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_array_get(
    client: *const thalweg_client,
    array_name: *const c_char,
    version: u64,
    timeout_s: f64,
    view: *mut *mut thalweg_view,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let view = unsafe { place(OPERATION, "view", view) }?;
        // SAFETY: the caller's promise.
        let meant = unsafe { Meant::of(OPERATION, client, array_name, version, timeout_s) }?;
        *view = view::of_array(meant.client.get(meant.key, meant.patience)?, version);
        Ok(())
    })
}

/// Copies a whole array into the caller's, which has the same extents and type and any layout. Blocks until it is
/// put.
///
/// Errors: as `thalweg_array_get`; `THALWEG_SHAPE` or `THALWEG_DTYPE` when the two differ.
///
/// # Safety
/// Pointers are `NULL` or valid; every element can be written at `data`, and no two share memory.
#[no_mangle]
pub unsafe extern "C" fn thalweg_array_get_into(
    client: *const thalweg_client,
    array_name: *const c_char,
    version: u64,
    extent: *const thalweg_region,
    data: *mut c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let meant = unsafe { Meant::of(OPERATION, client, array_name, version, timeout_s) }?;
        // SAFETY: the caller's promise.
        let shape = unsafe { shape(OPERATION, extent, dtype) }?;
        there(OPERATION, data.is_null(), &shape)?;
        // SAFETY: the caller's promise.
        let strides = unsafe { strides(OPERATION, layout, &shape) }?;
        let target = Target { shape, start: data.cast(), strides: &strides };
        // SAFETY: the caller's promise.
        unsafe { meant.client.get_into(meant.key, target, meant.patience) }
    })
}

/// Says in `*there` whether a whole array is there now: 1 or 0. On one node it takes no message.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_array_exists(
    client: *const thalweg_client,
    array_name: *const c_char,
    version: u64,
    timeout_s: f64,
    there: *mut i32,
) -> thalweg_status {
    const OPERATION: &str = "stage.exists";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let there = unsafe { place(OPERATION, "there", there) }?;
        // SAFETY: the caller's promise.
        let meant = unsafe { Meant::of(OPERATION, client, array_name, version, timeout_s) }?;
        *there = i32::from(meant.client.exists(meant.key, meant.patience)?);
        Ok(())
    })
}

/// Removes a whole array; views of it stay valid. `*existed`, which may be `NULL`, becomes 1 when it was there, else
/// 0.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_array_delete(
    client: *const thalweg_client,
    array_name: *const c_char,
    version: u64,
    timeout_s: f64,
    existed: *mut i32,
) -> thalweg_status {
    const OPERATION: &str = "stage.delete";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let meant = unsafe { Meant::of(OPERATION, client, array_name, version, timeout_s) }?;
        let was = meant.client.delete(meant.key, meant.patience)?;
        if !existed.is_null() {
            // SAFETY: the caller's promise.
            unsafe { existed.write(i32::from(was)) };
        }
        Ok(())
    })
}
