//! Reductions: what the service finds in a region, without the region travelling.

use crate::geometry::{region, thalweg_region};
use crate::handle::held;
use crate::status::{guarded, thalweg_status};
use crate::text::{patience, place};
use crate::variable::thalweg_variable;
use crate::which::{thalweg_which, which};
use thalweg::{Bins, Number};

/// What was found in the cells of a region.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_summary {
    /// The version.
    pub version: u64,
    /// How many cells.
    pub count: u64,
    /// The least value; not a number when a cell is none.
    pub min: f64,
    /// The greatest value; not a number when a cell is none.
    pub max: f64,
    /// The sum; divided by `count` it is the mean.
    pub sum: f64,
}

/// The bins of a histogram: `count` of equal width from `lower` to `upper`, the last one closed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_bins {
    /// Where the first bin begins.
    pub lower: f64,
    /// Where the last bin ends.
    pub upper: f64,
    /// How many.
    pub count: u32,
}

/// Count, least, greatest and sum of a region's cells, and their histogram when `bins` is not `NULL`, made in the
/// service. Blocks until the region is complete.
///
/// `histogram` has room for `bins->count` numbers of cells; `NULL` when `bins` is.
///
/// Errors: as `thalweg_get`; `THALWEG_DTYPE` for what is no number, `THALWEG_INVALID` for bins that are none.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_reduce(
    variable: *const thalweg_variable,
    which_: thalweg_which,
    region_: *const thalweg_region,
    bins: *const thalweg_bins,
    timeout_s: f64,
    summary: *mut thalweg_summary,
    histogram: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "stage.reduce";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let summary = unsafe { place(OPERATION, "summary", summary) }?;
        let opened = held(OPERATION, variable)?;
        // SAFETY: the caller's promise.
        let region = unsafe { region(OPERATION, region_) }?;
        // SAFETY: the caller's promise.
        let bins = unsafe { bins.as_ref() }.map(|b| Bins { lower: b.lower, upper: b.upper, count: b.count });
        if bins.is_some() {
            // SAFETY: the caller's promise.
            unsafe { place(OPERATION, "histogram", histogram) }?;
        }
        let patience = patience(OPERATION, timeout_s)?;
        let (version, found) = opened.variable.reduce(which(OPERATION, which_)?, &region, bins, patience)?;
        let counts = found.histogram.map(|h| h.counts).unwrap_or_default();
        let counted = counts.len().min(bins.map_or(0, |b| b.count as usize));
        // SAFETY: `bins.count` numbers fit, by the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(counts.as_ptr(), histogram, counted) };
        let found = found.summary;
        *summary = thalweg_summary {
            version: version.0,
            count: found.count,
            min: found.min.map_or(f64::NAN, Number::to_f64),
            max: found.max.map_or(f64::NAN, Number::to_f64),
            sum: found.sum.to_f64(),
        };
        Ok(())
    })
}
