//! NumPy arrays into other layouts.

use crate::arrays::{is_writeable, Address};
use crate::failure::raised;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use thalweg::{limits, Bytes, Error, Kind, Plan};

const OPERATION: &str = "relayout";

/// Two arrays of one shape and type that share no memory.
struct Pair {
    element: u32,
    extents: Vec<u64>,
    from: Side,
    to: Side,
}

struct Side {
    start: Address,
    strides: Vec<i64>,
    /// The first byte and the one behind the last.
    span: (i128, i128),
}

fn refused<T>(kind: Kind, detail: String) -> PyResult<T> {
    Err(raised(Error::new(kind, OPERATION, detail)))
}

fn side(array: &Bound<'_, PyUntypedArray>) -> Side {
    let strides: Vec<i64> = array.strides().iter().map(|stride| *stride as i64).collect();
    // SAFETY: the array object is alive and its data pointer is a plain field.
    let start = unsafe { (*array.as_array_ptr()).fields.data as usize };
    let mut span = (start as i128, start as i128 + array.dtype().itemsize() as i128);
    for (count, stride) in array.shape().iter().zip(&strides) {
        let reach = (*count as i128 - 1).max(0) * i128::from(*stride);
        span = (span.0 + reach.min(0), span.1 + reach.max(0));
    }
    Side { start: Address(start), strides, span }
}

impl Pair {
    fn of(source: &Bound<'_, PyUntypedArray>, target: &Bound<'_, PyUntypedArray>) -> PyResult<Pair> {
        if source.shape() != target.shape() {
            let detail = format!(
                "source of shape {:?} and target of shape {:?}; they must agree",
                source.shape(),
                target.shape()
            );
            return refused(Kind::Shape, detail);
        }
        let (from_type, to_type) = (source.dtype(), target.dtype());
        if !from_type.is_equiv_to(&to_type) {
            let detail = format!("source of {from_type} and target of {to_type}; they must agree");
            return refused(Kind::DType, detail);
        }
        if from_type.has_object() {
            let detail = format!("elements of {from_type} are Python objects; accepted are all other types");
            return refused(Kind::DType, detail);
        }
        if !is_writeable(target) {
            return refused(Kind::Access, "the target is read-only; give one that may be written".into());
        }
        let element = from_type.itemsize();
        let Ok(element) = u32::try_from(element) else {
            return refused(Kind::DType, format!("elements of {element} bytes; accepted are less than 2^32"));
        };
        let pair = Pair {
            element,
            extents: source.shape().iter().map(|count| *count as u64).collect(),
            from: side(source),
            to: side(target),
        };
        let (from, to) = (pair.from.span, pair.to.span);
        if !pair.extents.contains(&0) && from.0 < to.1 && to.0 < from.1 {
            return refused(
                Kind::Invalid,
                "source and target overlap in memory; give a target of its own".into(),
            );
        }
        if pair.target_overlaps_itself() {
            let detail = format!("elements of the target, with strides {:?}, share memory", pair.to.strides);
            return refused(Kind::Invalid, detail);
        }
        Ok(pair)
    }

    /// Whether an axis of the target steps less far than those inside it reach.
    fn target_overlaps_itself(&self) -> bool {
        let mut axes: Vec<(u64, u64)> = self
            .to
            .strides
            .iter()
            .map(|stride| stride.unsigned_abs())
            .zip(self.extents.iter().copied())
            .collect();
        axes.retain(|(_, count)| *count > 1);
        axes.sort_unstable();
        let mut reach = u128::from(self.element);
        !self.extents.contains(&0)
            && axes.into_iter().any(|(stride, count)| {
                let meets = u128::from(stride) < reach;
                reach += u128::from(stride) * u128::from(count - 1);
                meets
            })
    }
}

/// Copies `source` into `target`, each in its own layout, without the GIL.
#[pyfunction]
pub fn relayout(
    py: Python<'_>,
    source: &Bound<'_, PyUntypedArray>,
    target: &Bound<'_, PyUntypedArray>,
    threads: usize,
) -> PyResult<()> {
    let pair = Pair::of(source, target)?;
    let plan = if pair.element == 0 {
        return Ok(());
    } else {
        Plan::new(pair.element, &pair.extents, &pair.from.strides, &pair.to.strides).map_err(raised)?
    };
    py.detach(|| {
        let (Address(from), Address(to)) = (pair.from.start, pair.to.start);
        // SAFETY: both arrays are alive, of the plan's shape, and share no memory; the target may be written.
        unsafe { thalweg::relayout(&plan, from as *const u8, to as *mut u8, threads) }
    })
    .map_err(raised)
}

/// Copies the bytes of `source` to `target` by the C library; both packed.
#[pyfunction]
pub fn memcpy(
    py: Python<'_>,
    source: &Bound<'_, PyUntypedArray>,
    target: &Bound<'_, PyUntypedArray>,
    threads: usize,
) -> PyResult<()> {
    let pair = Pair::of(source, target)?;
    let bytes = Bytes(pair.extents.iter().product::<u64>() * u64::from(pair.element));
    let packed = |side: &Side| side.span.1 - side.span.0 == i128::from(bytes.0);
    if threads == 0 || !packed(&pair.from) || !packed(&pair.to) {
        return refused(
            Kind::Invalid,
            format!("memcpy of gaps, or with {threads} threads; accepted are at least 1"),
        );
    }
    py.detach(|| {
        let (Address(from), Address(to)) = (pair.from.start, pair.to.start);
        // SAFETY: both arrays are alive, packed, of one size, and share no memory; the target may be written.
        unsafe { limits::memcpy_between(from as *const u8, to as *mut u8, bytes, threads) }
    });
    Ok(())
}

/// The same as `relayout`, one element at a time: the plain loop that others are compared with.
#[pyfunction]
pub fn element_by_element(
    py: Python<'_>,
    source: &Bound<'_, PyUntypedArray>,
    target: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let pair = Pair::of(source, target)?;
    let copy = match pair.element {
        1 => limits::element_by_element::<u8>,
        2 => limits::element_by_element::<u16>,
        4 => limits::element_by_element::<u32>,
        8 => limits::element_by_element::<u64>,
        16 => limits::element_by_element::<[u64; 2]>,
        size => {
            return refused(Kind::DType, format!("elements of {size} bytes; accepted are 1, 2, 4, 8 and 16"))
        }
    };
    py.detach(|| {
        let (Address(from), Address(to)) = (pair.from.start, pair.to.start);
        // SAFETY: both arrays are alive, of one shape, and share no memory; the target may be written.
        unsafe {
            copy(&pair.extents, (from as *const u8, &pair.from.strides), (to as *mut u8, &pair.to.strides))
        }
    });
    Ok(())
}
