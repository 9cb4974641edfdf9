//! Streams in Python, at the level of bytes: `thalweg.stream` gives them their meaning.

mod consumer;
mod driver;
mod producer;
mod repair;

pub use consumer::{StreamConsumer, StreamEvents};
pub use driver::StreamDriver;
pub use producer::{Pushed, PushedMany, StreamProducer};
pub use repair::{check_streams, repair_streams};

use crate::arrays::seen;
use crate::failure::raised;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use thalweg::{Error, Kind};

/// Bytes that Python keeps: an object `bytes`, or a contiguous array.
pub enum Lent<'py> {
    /// An immutable object.
    Bytes(Bound<'py, pyo3::types::PyBytes>),
    /// An array of bytes.
    Array(#[allow(dead_code)] Bound<'py, PyUntypedArray>, usize, usize),
}

impl<'py> Lent<'py> {
    /// Looks at `object`.
    pub fn of(operation: &str, object: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
        if let Ok(bytes) = object.cast::<pyo3::types::PyBytes>() {
            return Ok(Lent::Bytes(bytes.clone()));
        }
        let wrong = || {
            let detail = "bytes that are neither an object bytes nor a contiguous array";
            raised(Error::new(Kind::Invalid, operation, detail))
        };
        let array = object.cast::<PyUntypedArray>().map_err(|_| wrong())?;
        if !array.is_c_contiguous() {
            return Err(wrong());
        }
        let seen = seen(operation, array, false)?;
        let bytes = seen.shape.size().0 as usize;
        Ok(Lent::Array(array.clone(), seen.start.0, bytes))
    }

    /// The bytes; the caller holds the object for as long as it uses them.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Lent::Bytes(bytes) => bytes.as_bytes(),
            Lent::Array(_, _, 0) => &[],
            // SAFETY: the array, which this keeps, has so many contiguous bytes there.
            Lent::Array(_, start, bytes) => unsafe {
                std::slice::from_raw_parts(*start as *const u8, *bytes)
            },
        }
    }

    /// The bytes as numbers.
    pub fn numbers(&self, operation: &str) -> PyResult<&[u64]> {
        let bytes = self.bytes();
        // SAFETY: any bits are a number.
        match unsafe { bytes.align_to::<u64>() } {
            ([], numbers, []) => Ok(numbers),
            _ => {
                let detail = format!("{} bytes that are no aligned numbers of 8 bytes", bytes.len());
                Err(raised(Error::new(Kind::Invalid, operation, detail)))
            }
        }
    }
}
