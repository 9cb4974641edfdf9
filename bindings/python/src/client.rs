//! `thalweg._native.Client` and its loans.

use crate::arrays::{array_over, cell_of, dtype_of, is_writeable, over, seen, shape_of, Address};
use crate::failure::raised;
use crate::server::stats_dict;
use crate::variable::{Slot, Variable};
use crate::waiting::{guarded, seconds, waiting};
use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};
use std::sync::{Arc, Mutex, Weak};
use thalweg::{
    Definition, Error, Extents, Identity, Key, Kind, Layout, Name, Nanos, Patience, Shape, Stage, Stats,
    Target, Version,
};

/// How long requests may take that the service answers at once.
pub const PROMPT: Nanos = Nanos(30_000_000_000);

#[pyclass(frozen)]
pub struct Client {
    stage: Mutex<Option<Stage>>,
    variables: Mutex<Vec<Weak<Slot>>>,
    #[pyo3(get)]
    address: String,
}

pub fn key_of(operation: &str, name: &str, version: i64) -> PyResult<Key> {
    let Ok(version) = u64::try_from(version) else {
        let detail = format!("version {version}; accepted are 0 and above");
        return Err(raised(Error::new(Kind::Invalid, operation, detail)));
    };
    Ok(Key { name: Name::new(operation, name).map_err(raised)?, version: Version(version) })
}

pub fn closed() -> PyErr {
    raised(Error::new(Kind::Invalid, "stage", "this client has been closed"))
}

impl Client {
    fn stage(&self) -> PyResult<Stage> {
        guarded(&self.stage, |stage| stage.clone()).ok_or_else(closed)
    }

    /// Remembers a variable, which ends with this client.
    fn opened(&self, variable: thalweg::Variable) -> Variable {
        let variable = Variable::of(variable);
        guarded(&self.variables, |all| {
            all.retain(|slot| slot.strong_count() > 0);
            all.push(Arc::downgrade(variable.slot()));
        });
        variable
    }

    /// The service that holds the array with `key`.
    fn home(&self, key: &Key) -> PyResult<Arc<thalweg::Client>> {
        Ok(self.stage()?.home(&key.name).clone())
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
        let (stage, address) = waiting(py, within, |patience| {
            let address = match address {
                Some(address) => address,
                None => thalweg::embedded()?.address().to_string(),
            };
            Ok((Stage::connect(&address, &identity, patience)?, address))
        })?;
        Ok(Client { stage: Mutex::new(Some(stage)), variables: Mutex::default(), address })
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
        let key = key_of("stage.put", name, version)?;
        let client = self.home(&key)?;
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
        let key = key_of("stage.put", name, version)?;
        let client = self.home(&key)?;
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
        let key = key_of("stage.get", name, version)?;
        let client = self.home(&key)?;
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
        let key = key_of("stage.get", name, version)?;
        let client = self.home(&key)?;
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
        let key = key_of("stage.exists", name, version)?;
        let client = self.home(&key)?;
        waiting(py, PROMPT, |patience| client.exists(key, patience))
    }

    fn wait(
        &self,
        py: Python<'_>,
        keys: Vec<(String, i64)>,
        all: bool,
        timeout_s: f64,
    ) -> PyResult<Vec<u32>> {
        let stage = self.stage()?;
        let keys = keys.iter().map(|(name, version)| key_of("stage.wait", name, *version));
        let keys: Vec<Key> = keys.collect::<PyResult<_>>()?;
        let within = seconds("stage.wait", timeout_s)?;
        waiting(py, within, |patience| stage.wait(&keys, all, patience))
    }

    fn delete(&self, py: Python<'_>, name: &str, version: i64) -> PyResult<bool> {
        let key = key_of("stage.delete", name, version)?;
        let client = self.home(&key)?;
        waiting(py, PROMPT, |patience| client.delete(key, patience))
    }

    /// Name, version, element kind and size, extents, bytes of each entry.
    #[allow(clippy::type_complexity)]
    fn list(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, String, Vec<u64>, u64)>> {
        let stage = self.stage()?;
        let entries = waiting(py, PROMPT, |patience| stage.list(patience))?;
        let row = |e: thalweg::Entry| {
            let shape: Shape = e.shape;
            let name = e.key.name.as_str().to_string();
            (name, e.key.version.0, shape.dtype().to_string(), shape.extents().to_vec(), shape.size().0)
        };
        Ok(entries.into_iter().map(row).collect())
    }

    fn drop_namespace(&self, py: Python<'_>) -> PyResult<u64> {
        let stage = self.stage()?;
        waiting(py, PROMPT, |patience| stage.drop_namespace(patience))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stage = self.stage()?;
        let stats = waiting(py, PROMPT, |patience| stage.stats(patience))?;
        stats_dict(py, &stats.iter().fold(Stats::default(), |sum, one| sum.plus(one)))
    }

    /// Defines a variable; `layouts` are orders of the axes.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (name, domain, dtype, strategy, layouts, keep_last, writers, timeout_s))]
    fn define(
        &self,
        py: Python<'_>,
        name: &str,
        domain: Vec<u64>,
        dtype: &Bound<'_, PyArrayDescr>,
        strategy: &str,
        layouts: Vec<Vec<u8>>,
        keep_last: Option<u32>,
        writers: u32,
        timeout_s: f64,
    ) -> PyResult<Variable> {
        let (stage, within) = (self.stage()?, seconds("stage.define", timeout_s)?);
        let name = Name::new("stage.define", name).map_err(raised)?;
        let layouts = layouts.iter().map(|axes| Layout::of(axes)).collect::<thalweg::Result<_>>();
        let definition = Definition {
            cell: cell_of("stage.define", dtype)?,
            domain: Extents::new(&domain).map_err(raised)?,
            strategy: strategy.parse().map_err(raised)?,
            layouts: layouts.map_err(raised)?,
            keep_last,
            writers,
        };
        waiting(py, within, |patience| stage.define(name, definition, patience)).map(|v| self.opened(v))
    }

    /// A variable, once somebody has defined it.
    fn open(&self, py: Python<'_>, name: &str, timeout_s: f64) -> PyResult<Variable> {
        let (stage, within) = (self.stage()?, seconds("stage.open", timeout_s)?);
        let name = Name::new("stage.open", name).map_err(raised)?;
        waiting(py, within, |patience| stage.open(name, patience)).map(|v| self.opened(v))
    }

    fn variables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let stage = self.stage()?;
        let names = waiting(py, PROMPT, |patience| stage.variables(patience))?;
        Ok(names.iter().map(|name| name.as_str().to_string()).collect())
    }

    fn close(&self, py: Python<'_>) {
        let stage = guarded(&self.stage, Option::take);
        let slots = guarded(&self.variables, std::mem::take);
        let end = |slot: Arc<Slot>| guarded(&slot, Option::take);
        let variables: Vec<_> = slots.iter().filter_map(Weak::upgrade).filter_map(end).collect();
        py.detach(|| drop((stage, variables)));
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
            guarded(&self.loan, |loan| loan.commit(patience)).map(drop)
        })
    }
}
