//! `thalweg._native.Client` and its loans.

use crate::arrays::{array_over, dtype_of, is_writeable, over, seen, shape_of, Address};
use crate::failure::raised;
use crate::server::stats_dict;
use crate::waiting::{seconds, waiting};
use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg::{Error, Identity, Key, Kind, Name, Nanos, Patience, Shape, Target, Version};

/// How long requests may take that the service answers at once.
const PROMPT: Nanos = Nanos(30_000_000_000);

#[pyclass(frozen)]
pub struct Client {
    client: Mutex<Option<Arc<thalweg::Client>>>,
    #[pyo3(get)]
    address: String,
}

fn key_of(operation: &str, name: &str, version: i64) -> PyResult<Key> {
    let Ok(version) = u64::try_from(version) else {
        let detail = format!("version {version}; accepted are 0 and above");
        return Err(raised(Error::new(Kind::Invalid, operation, detail)));
    };
    Ok(Key { name: Name::new(operation, name).map_err(raised)?, version: Version(version) })
}

impl Client {
    fn open(&self) -> PyResult<Arc<thalweg::Client>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client
            .clone()
            .ok_or_else(|| raised(Error::new(Kind::Invalid, "stage", "this client has been closed")))
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (address, *, namespace, name, token, timeout_s))]
    fn new(
        py: Python<'_>,
        address: Option<String>,
        namespace: &str,
        name: &str,
        token: String,
        timeout_s: f64,
    ) -> PyResult<Client> {
        let within = seconds("stage.connect", timeout_s)?;
        let identity = Identity {
            name: Name::new("stage.connect: client", name).map_err(raised)?,
            namespace: Name::new("stage.connect: namespace", namespace).map_err(raised)?,
            token,
        };
        let (client, address) = waiting(py, within, |patience| {
            let address = match address {
                Some(address) => address,
                None => thalweg::embedded()?.address().to_string(),
            };
            Ok((thalweg::Client::connect(&address, identity, patience)?, address))
        })?;
        Ok(Client { client: Mutex::new(Some(Arc::new(client))), address })
    }

    #[pyo3(signature = (name, array, version, replace, plain, timeout_s))]
    fn put(
        &self,
        py: Python<'_>,
        name: &str,
        array: &Bound<'_, PyUntypedArray>,
        version: i64,
        replace: bool,
        plain: bool,
        timeout_s: f64,
    ) -> PyResult<()> {
        let (client, key) = (self.open()?, key_of("stage.put", name, version)?);
        let seen = seen("stage.put", array, plain)?;
        let within = seconds("stage.put", timeout_s)?;
        waiting(py, within, move |patience| {
            let Address(start) = seen.start;
            // SAFETY: the caller's reference keeps the array, whose shape and strides NumPy vouches for.
            unsafe { client.put(key, seen.shape, start as *const u8, &seen.strides, replace, patience) }
        })
    }

    #[pyo3(signature = (name, extents, dtype, version, replace, timeout_s))]
    fn loan(
        &self,
        py: Python<'_>,
        name: &str,
        extents: Vec<u64>,
        dtype: &Bound<'_, PyArrayDescr>,
        version: i64,
        replace: bool,
        timeout_s: f64,
    ) -> PyResult<Loan> {
        let (client, key) = (self.open()?, key_of("stage.put", name, version)?);
        let shape = shape_of(&extents, dtype_of("stage.put", dtype)?)?;
        let within = seconds("stage.put", timeout_s)?;
        let mut loan = waiting(py, within, |patience| client.loan(key, shape, replace, patience))?;
        let start = Address(loan.start() as usize);
        Ok(Loan { loan: Mutex::new(loan), _client: client, shape, start })
    }

    #[pyo3(signature = (name, version, timeout_s))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        version: i64,
        timeout_s: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (client, key) = (self.open()?, key_of("stage.get", name, version)?);
        let within = seconds("stage.get", timeout_s)?;
        let view = waiting(py, within, |patience| client.get(key, patience))?;
        array_over(py, view)
    }

    #[pyo3(signature = (name, into, version, timeout_s, plain))]
    fn get_into(
        &self,
        py: Python<'_>,
        name: &str,
        into: &Bound<'_, PyUntypedArray>,
        version: i64,
        timeout_s: f64,
        plain: bool,
    ) -> PyResult<()> {
        let (client, key) = (self.open()?, key_of("stage.get", name, version)?);
        let seen = seen("stage.get", into, plain)?;
        let within = seconds("stage.get", timeout_s)?;
        if !is_writeable(into) {
            return Err(raised(Error::new(
                Kind::Invalid,
                "stage.get",
                "the given array is read-only; give one that is not",
            )));
        }
        waiting(py, within, move |patience| {
            let Address(start) = seen.start;
            let target = Target { shape: seen.shape, start: start as *mut u8, strides: &seen.strides };
            // SAFETY: the caller's reference keeps the array, which NumPy says is writable.
            unsafe { client.get_into(key, target, patience) }
        })
    }

    fn exists(&self, py: Python<'_>, name: &str, version: i64) -> PyResult<bool> {
        let (client, key) = (self.open()?, key_of("stage.exists", name, version)?);
        waiting(py, PROMPT, |patience| client.exists(key, patience))
    }

    fn wait(
        &self,
        py: Python<'_>,
        keys: Vec<(String, i64)>,
        all: bool,
        timeout_s: f64,
    ) -> PyResult<Vec<u32>> {
        let client = self.open()?;
        let keys = keys.iter().map(|(name, version)| key_of("stage.wait", name, *version));
        let keys: Vec<Key> = keys.collect::<PyResult<_>>()?;
        let within = seconds("stage.wait", timeout_s)?;
        waiting(py, within, |patience| client.wait(&keys, all, patience))
    }

    fn delete(&self, py: Python<'_>, name: &str, version: i64) -> PyResult<bool> {
        let (client, key) = (self.open()?, key_of("stage.delete", name, version)?);
        waiting(py, PROMPT, |patience| client.delete(key, patience))
    }

    /// Name, version, element kind and size, extents, bytes of each entry.
    #[allow(clippy::type_complexity)]
    fn list(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, String, Vec<u64>, u64)>> {
        let client = self.open()?;
        let entries = waiting(py, PROMPT, |patience| client.list(patience))?;
        let row = |e: thalweg::Entry| {
            let shape: Shape = e.shape;
            let name = e.key.name.as_str().to_string();
            (name, e.key.version.0, shape.dtype().to_string(), shape.extents().to_vec(), shape.size().0)
        };
        Ok(entries.into_iter().map(row).collect())
    }

    fn drop_namespace(&self, py: Python<'_>) -> PyResult<u64> {
        let client = self.open()?;
        waiting(py, PROMPT, |patience| client.drop_namespace(patience))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let client = self.open()?;
        let stats = waiting(py, PROMPT, |patience| client.stats(patience))?;
        stats_dict(py, &stats)
    }

    fn close(&self, py: Python<'_>) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(client));
    }
}

/// Memory that Python fills. It stays mapped until the loan and every array over it are gone, so that a forgotten array is
/// never a dangling one.
#[pyclass(frozen)]
pub struct Loan {
    loan: Mutex<thalweg::Loan>,
    _client: Arc<thalweg::Client>,
    shape: Shape,
    start: Address,
}

#[pymethods]
impl Loan {
    fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let loan = slf.get();
        let Address(start) = loan.start;
        // SAFETY: the loan, which the array owns, keeps the memory mapped.
        unsafe { over(&loan.shape, start as *mut u8, true, slf.clone().into_any()) }
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        waiting(py, PROMPT, |patience: Patience<'_>| {
            self.loan.lock().unwrap_or_else(PoisonError::into_inner).commit(patience)
        })
    }
}
