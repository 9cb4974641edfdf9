//! NumPy arrays as shapes, strides and addresses, and back.

use crate::failure::raised;
use numpy::npyffi::{self, flags, PyArrayObject, PyArray_Descr, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use thalweg::{Cell, DType, Error, Extents, Field, Kind, Name, Shape, View};

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

/// What a cell of an array of `descr` is: a plain element, or a record of plain fields.
pub fn cell_of(operation: &str, descr: &Bound<'_, PyArrayDescr>) -> PyResult<Cell> {
    if !descr.has_fields() {
        return dtype_of(operation, descr).map(Cell::plain);
    }
    let mut fields = Vec::new();
    for name in descr.names().unwrap_or_default() {
        let (dtype, offset) = descr.get_field(&name)?;
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let field = Name::new(operation, &name).map_err(raised)?;
        fields.push(Field { name: field, dtype: dtype_of(operation, &dtype)?, offset });
    }
    let size = u32::try_from(descr.itemsize()).unwrap_or(u32::MAX);
    Cell::record(size, fields).map_err(raised)
}

/// Looks at an array of a variable's cells.
pub fn seen_cells(operation: &str, array: &Bound<'_, PyUntypedArray>, cell: &Cell) -> PyResult<Seen> {
    let met = cell_of(operation, &array.dtype())?;
    if met != *cell {
        let detail = format!("elements of {}; the variable's are {}", array.dtype(), cell.dtype());
        return Err(raised(Error::new(Kind::DType, operation, detail)));
    }
    seen_as(array, cell.dtype())
}

fn seen_as(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> PyResult<Seen> {
    let extents: Vec<u64> = array.shape().iter().map(|n| *n as u64).collect();
    let shape = shape_of(&extents, dtype)?;
    let strides = array.strides().iter().map(|s| *s as i64).collect();
    // SAFETY: the array object is alive and its data pointer is a plain field.
    let start = unsafe { (*array.as_array_ptr()).fields.data as usize };
    Ok(Seen { shape, strides, start: Address(start) })
}

/// Looks at `array`; `plain` makes it bytes without a shape of their own.
pub fn seen(operation: &str, array: &Bound<'_, PyUntypedArray>, plain: bool) -> PyResult<Seen> {
    let dtype = if plain { DType::BYTES } else { dtype_of(operation, &array.dtype())? };
    seen_as(array, dtype)
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

/// A packed row-major array over memory that `owner` keeps.
///
/// # Safety
/// `start` must point to the packed array of `shape` for as long as `owner` lives; it must be writable if `writeable`.
pub unsafe fn over<'py>(
    shape: &Shape,
    start: *mut u8,
    writeable: bool,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's promise.
    unsafe { made(shape, None, start, writeable, owner) }
}

/// An array with strides in bytes over memory that `owner` keeps.
///
/// # Safety
/// As `over`, for the array with these strides, one for each axis.
pub unsafe fn strided_over<'py>(
    shape: &Shape,
    strides: &[i64],
    start: *mut u8,
    writeable: bool,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's promise.
    unsafe { made(shape, Some(strides), start, writeable, owner) }
}

unsafe fn made<'py>(
    shape: &Shape,
    strides: Option<&[i64]>,
    start: *mut u8,
    writeable: bool,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let mut dims: Vec<npyffi::npy_intp> = shape.extents().iter().map(|n| *n as npyffi::npy_intp).collect();
    let mut steps: Option<Vec<npyffi::npy_intp>> =
        strides.map(|all| all.iter().map(|s| *s as npyffi::npy_intp).collect());
    let descr = descr_of(py, shape.dtype())?.into_ptr().cast::<PyArray_Descr>();
    let writing = if writeable { flags::NPY_ARRAY_WRITEABLE } else { 0 };
    let flags = match strides {
        None => flags::NPY_ARRAY_CARRAY_RO | writing,
        // NumPy finds out by itself whether it is contiguous.
        Some(_) => flags::NPY_ARRAY_ALIGNED | writing,
    };
    // SAFETY: the arguments describe memory that the caller vouches for; the call takes over `descr`.
    let array = unsafe {
        PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            descr,
            dims.len() as i32,
            dims.as_mut_ptr(),
            steps.as_mut().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()),
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
