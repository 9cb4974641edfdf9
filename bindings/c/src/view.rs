//! Views: the service's memory, for reading.

use crate::dtype::{code, thalweg_dtype};
use crate::geometry::THALWEG_MAX_DIMS;
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, thalweg_status};
use crate::versioned::{self, Versioned};
use std::ffi::c_void;
use thalweg::{Extents, Layout, Region, RegionView, Shape, View};

/// Memory for reading, as long as the view is held; ended by `thalweg_view_release`.
pub struct thalweg_view {
    _opaque: (),
}

handle!(thalweg_view, "view", Held);

/// What a view shows, and what keeps it.
pub struct Held {
    info: thalweg_view_info,
    /// Keeps the memory.
    _kept: Box<dyn Send + Sync>,
}

// SAFETY: the address in `info` is that of memory that `_kept` keeps for reading, from any thread.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

/// What a view shows; begin with `THALWEG_VIEW_INFO_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_view_info {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The first cell of the region; must not be written.
    pub data: *const c_void,
    /// The version.
    pub version: u64,
    /// The type of one cell.
    pub dtype: thalweg_dtype,
    /// How many axes there are.
    pub dims: u32,
    /// The first cell of the region along each axis.
    pub lower: [u64; THALWEG_MAX_DIMS],
    /// The number of cells along each axis.
    pub extent: [u64; THALWEG_MAX_DIMS],
    /// Bytes from one cell to the next along each axis.
    pub strides_bytes: [i64; THALWEG_MAX_DIMS],
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_view_info {
    const WHAT: &'static str = "view info";
    const INIT: &'static str = "THALWEG_VIEW_INFO_INIT";
    const FIRST: usize = size_of::<thalweg_view_info>();
}

fn info(
    data: *const u8,
    version: u64,
    dtype: thalweg_dtype,
    region: &Region,
    strides: &[i64],
) -> thalweg_view_info {
    let dims = region.lower().len();
    let mut info = thalweg_view_info {
        size: size_of::<thalweg_view_info>(),
        data: data.cast(),
        version,
        dtype,
        dims: dims as u32,
        lower: [0; THALWEG_MAX_DIMS],
        extent: [0; THALWEG_MAX_DIMS],
        strides_bytes: [0; THALWEG_MAX_DIMS],
    };
    info.lower[..dims].copy_from_slice(region.lower());
    info.extent[..dims].copy_from_slice(region.extent());
    info.strides_bytes[..dims].copy_from_slice(strides);
    info
}

/// A view of a region of a variable.
pub fn of_region(view: RegionView) -> *mut thalweg_view {
    let dtype = code(view.cell().dtype());
    let (start, strides) = view.array();
    let info = info(start, view.version().0, dtype, view.region(), &strides);
    hold(Held { info, _kept: Box::new(view) })
}

/// All cells of a shape, which has at most as many axes as a region.
fn region_of(shape: &Shape) -> Region {
    let extents = Extents::new(shape.extents()).unwrap_or_default();
    Region::whole(&extents)
}

/// A view of a whole array.
pub fn of_array(view: View, version: u64) -> *mut thalweg_view {
    let shape = *view.shape();
    let whole = region_of(&shape);
    let strides = Layout::right(shape.extents().len()).strides(&shape);
    let info = info(view.start(), version, code(shape.dtype()), &whole, &strides);
    hold(Held { info, _kept: Box::new(view) })
}

/// What the view shows; its memory stays until `thalweg_view_release`. Errors: `THALWEG_INVALID` when it was
/// released.
///
/// # Safety
/// `info` is `NULL` or was initialised with `THALWEG_VIEW_INFO_INIT`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_view_describe(
    view: *const thalweg_view,
    info: *mut thalweg_view_info,
) -> thalweg_status {
    const OPERATION: &str = "view.describe";
    guarded(OPERATION, || {
        let held = held(OPERATION, view)?;
        // SAFETY: the caller's promise.
        unsafe { versioned::given(OPERATION, info, held.info) }
    })
}

/// Ends the view: its memory must not be read any more. Nothing for `NULL`; `THALWEG_INVALID` when it was released
/// before.
#[no_mangle]
pub extern "C" fn thalweg_view_release(view: *mut thalweg_view) -> thalweg_status {
    const OPERATION: &str = "view.release";
    guarded(OPERATION, || taken(OPERATION, view).map(drop))
}
