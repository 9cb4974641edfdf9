//! NumPy arrays as shapes, strides and addresses, and back.

use crate::failure::raised;
use numpy::npyffi::{self, flags, PyArrayObject, PyArray_Descr, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use thalweg::{DType, Error, Extents, Kind, Shape, View};

/// The address of an array's first element, as a number that may cross threads.
#[derive(Clone, Copy)]
pub struct Address(pub usize);

/// What an array looks like.
pub struct Seen {
    pub shape: Shape,
    pub strides: Vec<i64>,
    pub start: Address,
}

/// The element type of `descr`.
pub fn dtype_of(operation: &str, descr: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let refuse = |why: &str| {
        let detail = format!("elements of type {descr} {why}");
        raised(Error::new(Kind::DType, operation, detail))
    };
    if descr.has_fields() || descr.has_subarray() {
        return Err(refuse("have fields; put each field as an array of its own"));
    }
    if descr.is_native_byteorder() == Some(false) {
        return Err(refuse("are byte-swapped; convert them with astype(dtype.newbyteorder('='))"));
    }
    let size = u32::try_from(descr.itemsize()).unwrap_or(u32::MAX);
    DType::new(descr.kind(), size)
        .ok()
        .filter(|_| descr.kind() != b'B')
        .ok_or_else(|| refuse("cannot be staged; accepted are bool, int, uint, float, complex and void"))
}

/// Looks at `array`; `plain` makes it bytes without a shape of their own.
pub fn seen(operation: &str, array: &Bound<'_, PyUntypedArray>, plain: bool) -> PyResult<Seen> {
    let dtype = if plain { DType::BYTES } else { dtype_of(operation, &array.dtype())? };
    let extents: Vec<u64> = array.shape().iter().map(|n| *n as u64).collect();
    let shape = shape_of(&extents, dtype)?;
    let strides = array.strides().iter().map(|s| *s as i64).collect();
    // SAFETY: the array object is alive and its data pointer is a plain field.
    let start = unsafe { (*array.as_array_ptr()).fields.data as usize };
    Ok(Seen { shape, strides, start: Address(start) })
}

/// The shape with `extents` and `dtype`.
pub fn shape_of(extents: &[u64], dtype: DType) -> PyResult<Shape> {
    Extents::new(extents).and_then(|e| Shape::new(dtype, e)).map_err(raised)
}

/// Whether NumPy lets anybody write into `array`.
pub fn is_writeable(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the array object is alive and its flags are a plain field.
    unsafe { (*array.as_array_ptr()).fields.flags & flags::NPY_ARRAY_WRITEABLE != 0 }
}

fn descr_of<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyArrayDescr>> {
    match (dtype.kind(), dtype.size()) {
        (b'f', 4) => Ok(numpy::dtype::<f32>(py)),
        (b'f', 8) => Ok(numpy::dtype::<f64>(py)),
        (b'B', _) | (b'u', 1) => Ok(numpy::dtype::<u8>(py)),
        (b'i', 4) => Ok(numpy::dtype::<i32>(py)),
        (b'i', 8) => Ok(numpy::dtype::<i64>(py)),
        (kind, size) => PyArrayDescr::new(py, format!("{}{size}", kind as char)),
    }
}

/// An array over memory that `owner` keeps.
///
/// # Safety
/// `start` must point to the packed array of `shape` for as long as `owner` lives; it must be writable if `writeable`.
pub unsafe fn over<'py>(
    shape: &Shape,
    start: *mut u8,
    writeable: bool,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let mut dims: Vec<npyffi::npy_intp> = shape.extents().iter().map(|n| *n as npyffi::npy_intp).collect();
    let descr = descr_of(py, shape.dtype())?.into_ptr().cast::<PyArray_Descr>();
    let flags = flags::NPY_ARRAY_CARRAY_RO | if writeable { flags::NPY_ARRAY_WRITEABLE } else { 0 };
    // SAFETY: the arguments describe packed memory that the caller vouches for; the call takes over `descr`.
    let array = unsafe {
        PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            descr,
            dims.len() as i32,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            start.cast(),
            flags,
            std::ptr::null_mut(),
        )
    };
    // SAFETY: a new reference, or null with an exception set.
    let array = unsafe { Bound::from_owned_ptr_or_err(py, array) }?;
    // SAFETY: `array` is an array without a base; the call takes over the reference to `owner`.
    let based = unsafe {
        PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast::<PyArrayObject>(), owner.into_ptr())
    };
    if based < 0 {
        return Err(PyErr::fetch(py));
    }
    Ok(array)
}

/// Keeps a view for the array over it.
#[pyclass(frozen)]
pub struct Held(#[allow(dead_code)] pub View);

/// The read-only array over `view`, without a copy; a memoryview for plain bytes.
pub fn array_over(py: Python<'_>, view: View) -> PyResult<Bound<'_, PyAny>> {
    let (shape, start) = (*view.shape(), view.start().cast_mut());
    let owner = Bound::new(py, Held(view))?.into_any();
    // SAFETY: the view, kept by `owner`, keeps the packed bytes of its shape.
    let array = unsafe { over(&shape, start, false, owner)? };
    if shape.dtype() == DType::BYTES {
        return Ok(pyo3::types::PyMemoryView::from(&array)?.into_any());
    }
    Ok(array)
}
