//! Errors as Python exceptions of `thalweg.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use thalweg::{Error, Kind};

/// The exception for `error`.
pub fn raised(error: Error) -> PyErr {
    Python::attach(|py| match class(py, error.kind) {
        Ok(class) => PyErr::from_type(class, error.message),
        Err(e) => e,
    })
}

fn class(py: Python<'_>, kind: Kind) -> PyResult<Bound<'_, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("thalweg.errors").map(Bound::unbind))?;
    let name = match kind {
        Kind::NotFound => "NotFoundError",
        Kind::Exists => "ExistsError",
        Kind::Invalid => "InvalidError",
        Kind::Shape => "ShapeError",
        Kind::DType => "DTypeError",
        Kind::Full => "FullError",
        Kind::Timeout => "WaitTimeoutError",
        Kind::Gone => "ServerGoneError",
        Kind::Access => "AccessError",
        Kind::Corrupt => "CorruptDataError",
        Kind::Protocol | Kind::Io | Kind::Interrupted => "ThalwegError",
    };
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}
