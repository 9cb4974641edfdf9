//! Put and get: regions between the caller's memory and the service.

use crate::definition::strategy;
use crate::dtype::{dtype, thalweg_dtype};
use crate::geometry::{packed, region, thalweg_layout, thalweg_region, way, Way};
use crate::handle::held;
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{patience, place};
use crate::variable::{thalweg_variable, Opened};
use crate::view::{self, thalweg_view};
use crate::which::{self, thalweg_which, which};
use std::ffi::c_void;
use std::sync::Arc;
use thalweg::{Error, Extents, Kind, Layout, Patience, Region, RegionView, Result, Shape, Strategy};
use thalweg::{Version, Which};

/// An array of the caller that is a region of a variable.
struct Mine {
    opened: Arc<Opened>,
    region: Region,
    way: Way,
}

impl Mine {
    /// Safety: as the functions of the header that call it.
    unsafe fn of(
        operation: &str,
        variable: *const thalweg_variable,
        region_: *const thalweg_region,
        given: thalweg_dtype,
        layout: *const thalweg_layout,
        data_is_null: bool,
    ) -> Result<Mine> {
        let opened = held(operation, variable)?;
        // SAFETY: the caller's promise.
        let region = unsafe { region(operation, region_) }?;
        let (have, given) = (opened.variable.definition().cell.dtype(), dtype(operation, given)?);
        if have != given {
            let name = opened.variable.name().as_str();
            let detail = format!("{name:?} holds {have}, the given array {given}; give one of the same type");
            return Err(Error::new(Kind::DType, operation, detail));
        }
        let shape = Shape::new(have, Extents::new(region.extent())?)
            .map_err(|e| Error::new(e.kind, operation, e.message))?;
        if data_is_null && shape.size().0 > 0 {
            return Err(invalid(operation, format!("data is NULL, the region has {}", shape.size())));
        }
        // SAFETY: the caller's promise.
        let way = unsafe { way(operation, layout, shape.extents().len()) }?;
        Ok(Mine { opened, region, way })
    }
}

/// A put that is to be done; its memory stays as it is until then, by the promise of whoever made it.
pub struct Outgoing {
    mine: Mine,
    version: Version,
    start: *const u8,
}

// SAFETY: the memory is readable from any thread.
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Safety: pointers are `NULL` or valid, and every element of the region can be read at `data` until the put is
    /// done.
    pub unsafe fn of(
        operation: &str,
        variable: *const thalweg_variable,
        version: u64,
        region: *const thalweg_region,
        data: *const c_void,
        dtype: thalweg_dtype,
        layout: *const thalweg_layout,
    ) -> Result<Outgoing> {
        // SAFETY: the caller's promise.
        let mine = unsafe { Mine::of(operation, variable, region, dtype, layout, data.is_null()) }?;
        Ok(Outgoing { mine, version: which::version(operation, version)?, start: data.cast() })
    }

    /// Copies it into the service.
    pub fn put(&self, patience: Patience<'_>) -> Result<()> {
        let Mine { opened, region, way } = &self.mine;
        // SAFETY: the promise that `of` was given.
        unsafe { opened.variable.put(self.version, region, self.start, &way.lying(), patience) }
    }

    /// Keeps it in this process.
    pub fn put_local(&self, patience: Patience<'_>) -> Result<()> {
        let Mine { opened, region, way } = &self.mine;
        let keeper = opened.keeper(patience)?;
        // SAFETY: the promise that `of` was given.
        unsafe { opened.variable.put_local(keeper, self.version, region, self.start, &way.lying(), patience) }
    }
}

/// A get into the caller's memory that is to be done; the memory is left to it until then.
pub struct Incoming {
    mine: Mine,
    which: Which,
    strategy: Option<Strategy>,
    start: *mut u8,
}

// SAFETY: the memory is writable from any thread, and left to this.
unsafe impl Send for Incoming {}

impl Incoming {
    /// Safety: pointers are `NULL` or valid, and every element of the region can be written at `data`, by nobody
    /// else, until the get is done.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn of(
        operation: &str,
        variable: *const thalweg_variable,
        given: thalweg_which,
        region: *const thalweg_region,
        data: *mut c_void,
        dtype: thalweg_dtype,
        layout: *const thalweg_layout,
        strategy_: u32,
    ) -> Result<Incoming> {
        // SAFETY: the caller's promise.
        let mine = unsafe { Mine::of(operation, variable, region, dtype, layout, data.is_null()) }?;
        let (which, strategy) = (which(operation, given)?, strategy(operation, strategy_)?);
        Ok(Incoming { mine, which, strategy, start: data.cast() })
    }

    /// Copies it out of the service; the version that it was.
    pub fn get(&self, patience: Patience<'_>) -> Result<Version> {
        let Mine { opened, region, way } = &self.mine;
        // SAFETY: the promise that `of` was given.
        unsafe {
            opened.variable.get_into(self.which, region, self.start, &way.lying(), self.strategy, patience)
        }
    }
}

/// A get of a view that is to be done.
pub struct Looking {
    opened: Arc<Opened>,
    region: Region,
    which: Which,
    layout: Option<Layout>,
    strategy: Option<Strategy>,
}

impl Looking {
    /// Safety: pointers are `NULL` or valid.
    pub unsafe fn of(
        operation: &str,
        variable: *const thalweg_variable,
        given: thalweg_which,
        region_: *const thalweg_region,
        layout: *const thalweg_layout,
        strategy_: u32,
    ) -> Result<Looking> {
        let opened = held(operation, variable)?;
        // SAFETY: the caller's promise.
        let region = unsafe { region(operation, region_) }?;
        // SAFETY: the caller's promise.
        let layout = unsafe { packed(operation, layout, region.lower().len()) }?;
        let (which, strategy) = (which(operation, given)?, strategy(operation, strategy_)?);
        Ok(Looking { opened, region, which, layout, strategy })
    }

    /// The view.
    pub fn get(&self, patience: Patience<'_>) -> Result<RegionView> {
        self.opened.variable.get(self.which, &self.region, self.layout, self.strategy, patience)
    }
}

/// Copies a region into the service: one copy, whatever its layout. The caller may change its array afterwards.
///
/// `region` lies in the variable's domain; `data` is its first cell, of `dtype`, lying as `layout` says (`NULL`:
/// packed and row-major). The cells of a version are written once: where two puts of one version overlap, the first
/// one stays.
///
/// Errors: `THALWEG_SHAPE` when the region lies outside, has other dimensions or no cells; `THALWEG_DTYPE`;
/// `THALWEG_EXISTS` when the version is sealed, `THALWEG_NOT_FOUND` when it was released or dropped; `THALWEG_FULL`,
/// `THALWEG_TIMEOUT`, `THALWEG_GONE`. Blocks when memory is full and the server's policy is to wait.
///
/// # Safety
/// Pointers are `NULL` or valid; every cell of the region can be read at `data`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_put(
    variable: *const thalweg_variable,
    version: u64,
    region: *const thalweg_region,
    data: *const c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.put";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        unsafe { Outgoing::of(OPERATION, variable, version, region, data, dtype, layout) }?
            .put(patience(OPERATION, timeout_s)?)
    })
}

/// As `thalweg_put`, but this process keeps the copy and readers fetch it here: until the process ends, the version
/// is released, or retention drops it.
///
/// # Safety
/// As `thalweg_put`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_put_local(
    variable: *const thalweg_variable,
    version: u64,
    region: *const thalweg_region,
    data: *const c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    timeout_s: f64,
) -> thalweg_status {
    const OPERATION: &str = "stage.put_local";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        unsafe { Outgoing::of(OPERATION, variable, version, region, data, dtype, layout) }?
            .put_local(patience(OPERATION, timeout_s)?)
    })
}

/// A read-only view of a region. Blocks until the region is complete.
///
/// `layout` may be `NULL` for whatever is cheapest; `thalweg_view_describe` says what it came to. There is no copy
/// when one piece, or one replica, holds the region in that layout. End the view with `thalweg_view_release`.
///
/// Errors: `THALWEG_TIMEOUT`, with what is still missing; `THALWEG_NOT_FOUND` when the version was released or
/// dropped; `THALWEG_SHAPE` when the region lies outside; `THALWEG_GONE`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_get(
    variable: *const thalweg_variable,
    which: thalweg_which,
    region: *const thalweg_region,
    layout: *const thalweg_layout,
    strategy: u32,
    timeout_s: f64,
    view: *mut *mut thalweg_view,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let view = unsafe { place(OPERATION, "view", view) }?;
        // SAFETY: the caller's promise.
        let looking = unsafe { Looking::of(OPERATION, variable, which, region, layout, strategy) }?;
        *view = view::of_region(looking.get(patience(OPERATION, timeout_s)?)?);
        Ok(())
    })
}

/// Copies a region into the caller's array, brought into its layout on the way. Blocks until the region is complete.
///
/// `data` is the first cell, of `dtype`, lying as `layout` says (`NULL`: packed and row-major); `*version` becomes
/// the version that it was, and may be `NULL`. Nothing is written unless the call succeeds, or fails with
/// `THALWEG_GONE` on the way.
///
/// Errors: as `thalweg_get`, and `THALWEG_DTYPE`.
///
/// # Safety
/// Pointers are `NULL` or valid; every cell of the region can be written at `data`, and no two share memory.
#[no_mangle]
pub unsafe extern "C" fn thalweg_get_into(
    variable: *const thalweg_variable,
    which: thalweg_which,
    region: *const thalweg_region,
    data: *mut c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    strategy: u32,
    timeout_s: f64,
    version: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let incoming =
            unsafe { Incoming::of(OPERATION, variable, which, region, data, dtype, layout, strategy) }?;
        let found = incoming.get(patience(OPERATION, timeout_s)?)?;
        if !version.is_null() {
            // SAFETY: the caller's promise.
            unsafe { version.write(found.0) };
        }
        Ok(())
    })
}
