//! Regions and layouts as C gives them.

use crate::status::invalid;
use crate::text::read;
use thalweg::{Error, Kind, Layout, Lying, Records, Region, Result};

/// The most axes that an array may have.
pub const THALWEG_MAX_DIMS: usize = 8;

/// The cells `lower[i] <= index[i] < lower[i] + extent[i]`, counted from 0; the upper end is never inclusive.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct thalweg_region {
    /// How many axes there are, at most `THALWEG_MAX_DIMS`.
    pub dims: u32,
    /// The first cell along each axis.
    pub lower: [u64; THALWEG_MAX_DIMS],
    /// The number of cells along each axis.
    pub extent: [u64; THALWEG_MAX_DIMS],
}

/// Packed, the last axis fastest: C's order, Kokkos' `LayoutRight`.
pub const THALWEG_ROW_MAJOR: u32 = 0;
/// Packed, the first axis fastest: Fortran's order, Kokkos' `LayoutLeft`.
pub const THALWEG_COLUMN_MAJOR: u32 = 1;
/// Packed, in the order of `thalweg_layout.axes`.
pub const THALWEG_AXES: u32 = 2;
/// As `thalweg_layout.strides_bytes` says; for arrays of the caller only.
pub const THALWEG_STRIDES: u32 = 3;

/// Records as an array of structs: the fields of a cell lie beside each other.
pub const THALWEG_STRUCTS: u32 = 0;
/// Records as a struct of arrays: each field is a packed array, in the order of the fields.
pub const THALWEG_ARRAYS: u32 = 1;

/// How an array lies in memory. All zero is packed and row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct thalweg_layout {
    /// `THALWEG_ROW_MAJOR`, `THALWEG_COLUMN_MAJOR`, `THALWEG_AXES` or `THALWEG_STRIDES`.
    pub order: u32,
    /// `THALWEG_STRUCTS` or `THALWEG_ARRAYS`; only for variables with fields.
    pub records: u32,
    /// With `THALWEG_AXES`: the axes from the slowest to the fastest.
    pub axes: [u8; THALWEG_MAX_DIMS],
    /// With `THALWEG_STRIDES`: bytes from one cell to the next along each axis.
    pub strides_bytes: [i64; THALWEG_MAX_DIMS],
}

/// The region at `given`.
///
/// # Safety
/// `given` is `NULL` or points to a region.
pub unsafe fn region(operation: &str, given: *const thalweg_region) -> Result<Region> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(operation, "region", given) }?;
    let dims = axes_of(operation, "region.dims", given.dims)?;
    Region::new(&given.lower[..dims], &given.extent[..dims])
        .map_err(|error| Error::new(error.kind, operation, error.message))
}

/// `dims` as a number of axes.
pub fn axes_of(operation: &str, what: &str, dims: u32) -> Result<usize> {
    match dims as usize {
        dims @ 0..=THALWEG_MAX_DIMS => Ok(dims),
        dims => {
            let detail = format!("{what} = {dims}; accepted are at most {THALWEG_MAX_DIMS}");
            Err(Error::new(Kind::Shape, operation, detail))
        }
    }
}

fn records(operation: &str, given: u32) -> Result<Records> {
    match given {
        THALWEG_STRUCTS => Ok(Records::Structs),
        THALWEG_ARRAYS => Ok(Records::Arrays),
        other => {
            let detail = format!("layout.records = {other}; accepted are THALWEG_STRUCTS and THALWEG_ARRAYS");
            Err(invalid(operation, detail))
        }
    }
}

/// The packed layout of `dims` axes at `given`; none for `NULL`.
///
/// # Safety
/// `given` is `NULL` or points to a layout.
pub unsafe fn packed(operation: &str, given: *const thalweg_layout, dims: usize) -> Result<Option<Layout>> {
    // SAFETY: the caller's promise.
    let Some(given) = (unsafe { given.as_ref() }) else {
        return Ok(None);
    };
    let layout = match given.order {
        THALWEG_ROW_MAJOR => Layout::right(dims),
        THALWEG_COLUMN_MAJOR => Layout::left(dims),
        THALWEG_AXES => {
            Layout::of(&given.axes[..dims]).map_err(|e| Error::new(e.kind, operation, e.message))?
        }
        other => {
            let detail = format!(
                "layout.order = {other}; accepted are THALWEG_ROW_MAJOR, THALWEG_COLUMN_MAJOR and THALWEG_AXES"
            );
            return Err(invalid(operation, detail));
        }
    };
    Ok(Some(layout.with_records(records(operation, given.records)?)))
}

/// A packed layout for C.
pub fn layout_out(layout: &Layout) -> thalweg_layout {
    let mut out = thalweg_layout { order: THALWEG_AXES, ..thalweg_layout::default() };
    out.axes[..layout.axes().len()].copy_from_slice(layout.axes());
    out.records = match layout.records() {
        Records::Structs => THALWEG_STRUCTS,
        Records::Arrays => THALWEG_ARRAYS,
    };
    out
}

/// How an array of the caller lies.
#[derive(Clone, Debug)]
pub enum Way {
    Strides(Vec<i64>),
    Packed(Layout),
}

impl Way {
    /// The same for the façade.
    pub fn lying(&self) -> Lying<'_> {
        match self {
            Way::Strides(strides) => Lying::Strides(strides),
            Way::Packed(layout) => Lying::Packed(*layout),
        }
    }
}

/// How an array of `dims` axes lies that lies as `given` says; row-major for `NULL`.
///
/// # Safety
/// `given` is `NULL` or points to a layout.
pub unsafe fn way(operation: &str, given: *const thalweg_layout, dims: usize) -> Result<Way> {
    // SAFETY: the caller's promise.
    if let Some(given) = unsafe { given.as_ref() }.filter(|g| g.order == THALWEG_STRIDES) {
        if given.records != THALWEG_STRUCTS {
            let detail =
                "layout.records with THALWEG_STRIDES; a struct of arrays is packed: give the order of its axes";
            return Err(invalid(operation, detail));
        }
        return Ok(Way::Strides(given.strides_bytes[..dims].to_vec()));
    }
    // SAFETY: the caller's promise.
    let layout = unsafe { packed(operation, given, dims) }?;
    Ok(Way::Packed(layout.unwrap_or(Layout::right(dims))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_becomes_axes_or_strides() {
        let way = |layout: &thalweg_layout| {
            // SAFETY: a layout.
            unsafe { way("test", layout, 3) }
        };
        let axes = |layout: &thalweg_layout| match way(layout).unwrap() {
            Way::Packed(layout) => layout.axes().to_vec(),
            Way::Strides(strides) => panic!("{strides:?}"),
        };
        let mut layout = thalweg_layout::default();
        assert_eq!(axes(&layout), [0, 1, 2]);
        layout.order = THALWEG_COLUMN_MAJOR;
        assert_eq!(axes(&layout), [2, 1, 0]);
        layout.order = THALWEG_AXES;
        layout.axes[..3].copy_from_slice(&[1, 0, 2]);
        assert_eq!(axes(&layout), [1, 0, 2]);
        layout.order = THALWEG_STRIDES;
        layout.strides_bytes[..3].copy_from_slice(&[-96, 32, 8]);
        assert!(matches!(way(&layout), Ok(Way::Strides(strides)) if strides == [-96, 32, 8]));
        layout.records = THALWEG_ARRAYS;
        assert!(way(&layout).is_err());
    }

    #[test]
    fn what_is_no_region_or_layout_is_refused_with_its_value() {
        let refused = |given: &thalweg_region| {
            // SAFETY: a region.
            unsafe { region("stage.get", given) }.unwrap_err().to_string()
        };
        let nine = thalweg_region { dims: 9, ..thalweg_region::default() };
        assert_eq!(refused(&nine), "stage.get: region.dims = 9; accepted are at most 8");
        let mut far = thalweg_region { dims: 1, ..thalweg_region::default() };
        (far.lower[0], far.extent[0]) = (u64::MAX, 1);
        assert!(
            refused(&far).starts_with("stage.get: region: lower (18446744073709551615,) plus extent (1,)")
        );
        let layout = thalweg_layout { order: 7, ..thalweg_layout::default() };
        // SAFETY: a layout.
        let error = unsafe { packed("stage.get", &layout, 2) }.unwrap_err().to_string();
        assert!(error.starts_with("stage.get: layout.order = 7; accepted are THALWEG_ROW_MAJOR"), "{error}");
    }
}
