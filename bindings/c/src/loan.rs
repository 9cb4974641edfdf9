//! Loans: the service's memory, filled in place.

use crate::geometry::{packed, region, thalweg_layout, thalweg_region, THALWEG_MAX_DIMS};
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{patience, place};
use crate::variable::thalweg_variable;
use crate::which;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use thalweg::{Extents, Layout, RegionLoan, Shape};

/// Memory of the service that is to be filled in place, without any copy; made by `thalweg_loan_take`, ended by
/// `thalweg_loan_commit` or `thalweg_loan_discard`.
pub struct thalweg_loan {
    _opaque: (),
}

handle!(thalweg_loan, "loan", Mutex<Option<RegionLoan>>);

/// Memory of the service for a region, packed in `layout` (`NULL`: row-major), to be filled and then committed.
///
/// `*data` becomes its first cell; the memory is not initialised. `strides_bytes` may be `NULL`, or have room for
/// `THALWEG_MAX_DIMS` members: bytes from one cell to the next along each axis.
///
/// Errors: as `thalweg_put`, and `THALWEG_INVALID` for a region that several servers hold. Blocks as `thalweg_put`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_loan_take(
    variable: *const thalweg_variable,
    version: u64,
    region_: *const thalweg_region,
    layout: *const thalweg_layout,
    timeout_s: f64,
    loan: *mut *mut thalweg_loan,
    data: *mut *mut c_void,
    strides_bytes: *mut i64,
) -> thalweg_status {
    const OPERATION: &str = "stage.loan";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let (loan, data) = unsafe { (place(OPERATION, "loan", loan)?, place(OPERATION, "data", data)?) };
        let opened = held(OPERATION, variable)?;
        // SAFETY: the caller's promise.
        let region = unsafe { region(OPERATION, region_) }?;
        let dims = region.lower().len();
        // SAFETY: the caller's promise.
        let layout = unsafe { packed(OPERATION, layout, dims) }?.unwrap_or(Layout::right(dims));
        let shape = Shape::new(opened.variable.definition().cell.dtype(), Extents::new(region.extent())?)?;
        let patience = patience(OPERATION, timeout_s)?;
        let mut taken =
            opened.variable.loan(which::version(OPERATION, version)?, &region, layout, patience)?;
        *data = taken.start().cast();
        if !strides_bytes.is_null() {
            let mut strides = layout.strides(&shape);
            strides.resize(THALWEG_MAX_DIMS, 0);
            // SAFETY: eight members fit, by the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(strides.as_ptr(), strides_bytes, THALWEG_MAX_DIMS) };
        }
        *loan = hold(Mutex::new(Some(taken)));
        Ok(())
    })
}

/// Publishes what was filled, and ends the loan: its memory must not be used any more, also when this fails.
///
/// Errors: `THALWEG_INVALID` when the loan has ended, `THALWEG_EXISTS` when the version was sealed meanwhile,
/// `THALWEG_NOT_FOUND` when it is past, `THALWEG_GONE`. Blocks until the server answers.
#[no_mangle]
pub extern "C" fn thalweg_loan_commit(loan: *mut thalweg_loan, timeout_s: f64) -> thalweg_status {
    const OPERATION: &str = "loan.commit";
    guarded(OPERATION, || {
        let patience = patience(OPERATION, timeout_s)?;
        let held = taken(OPERATION, loan)?.ok_or_else(|| invalid(OPERATION, "loan is NULL"))?;
        let lent = held.lock().unwrap_or_else(PoisonError::into_inner).take();
        match lent {
            Some(mut lent) => lent.commit(patience),
            None => Err(invalid(OPERATION, "this loan has ended already; take a new one")),
        }
    })
}

/// Gives the memory back and publishes nothing. Nothing for `NULL`; `THALWEG_INVALID` when the loan has ended.
#[no_mangle]
pub extern "C" fn thalweg_loan_discard(loan: *mut thalweg_loan) -> thalweg_status {
    const OPERATION: &str = "loan.discard";
    guarded(OPERATION, || taken(OPERATION, loan).map(drop))
}
