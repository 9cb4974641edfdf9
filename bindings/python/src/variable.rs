//! `thalweg._native.Variable`: regions of variables as NumPy arrays.

use crate::arrays::{is_writeable, seen_cells, strided_over, Address, Seen};
use crate::client::{closed, PROMPT};
use crate::failure::raised;
use crate::waiting::{guarded, seconds, waiting, waiting_while};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};
use pyo3::IntoPyObjectExt;
use std::sync::{Arc, Mutex, OnceLock};
use thalweg::{
    Bins, Definition, Error, Extents, Kind, Layout, Lying, Nanos, Number, Patience, Records, Region, Shape,
    Strategy, Sum, Version, Which,
};

/// The variable behind one of Python's, until its client is closed.
pub type Slot = Mutex<Option<Arc<thalweg::Variable>>>;

#[pyclass(frozen)]
pub struct Variable {
    slot: Arc<Slot>,
    name: String,
    definition: Definition,
    /// The service of this process that keeps what is put locally.
    keeper: OnceLock<Arc<thalweg::Client>>,
}

/// Version, cells, complete, seals, pieces, replicas.
type State = (u64, u64, bool, u32, u32, u32);
/// Lower corner, extent, axes, whether fields lie apart, gets.
type Habit = (Vec<u64>, Vec<u64>, Vec<u8>, bool, u64);

/// The order of axes that Python gives, and whether the fields of records lie apart.
type Order = Option<(Vec<u8>, bool)>;

fn layout_of(order: Order) -> PyResult<Option<Layout>> {
    let Some((axes, apart)) = order else { return Ok(None) };
    let records = if apart { Records::Arrays } else { Records::Structs };
    Layout::of(&axes).map(|layout| Some(layout.with_records(records))).map_err(raised)
}

fn version_of(operation: &str, version: i64) -> PyResult<Version> {
    u64::try_from(version).map(Version).map_err(|_| {
        let detail = format!("version {version}; accepted are 0 and above");
        raised(Error::new(Kind::Invalid, operation, detail))
    })
}

fn which_of((how, version): (&str, i64)) -> PyResult<Which> {
    Ok(match how {
        "latest" => Which::LATEST,
        "from" => Which::From(version_of("stage.get", version)?),
        _ => Which::Exactly(version_of("stage.get", version)?),
    })
}

fn strategy_of(strategy: Option<&str>) -> PyResult<Option<Strategy>> {
    let said = |e: Error| raised(Error { message: e.message.replacen("stage.define", "stage.get", 1), ..e });
    strategy.map(|text| text.parse().map_err(said)).transpose()
}

/// Arrays over memory that lies at `start`: one, or one for each field.
fn arrays<'py>(
    owner: &Bound<'py, PyAny>,
    shape: &Shape,
    (start, strides): (*const u8, &[i64]),
    fields: Vec<(String, *const u8, thalweg::DType, Vec<i64>)>,
    writeable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    if fields.is_empty() {
        // SAFETY: `owner` keeps the memory, whose place and strides the façade vouches for.
        return unsafe { strided_over(shape, strides, start.cast_mut(), writeable, owner.clone()) };
    }
    let all = PyDict::new(py);
    for (name, start, dtype, strides) in fields {
        let extents = Extents::new(shape.extents()).map_err(raised)?;
        let shape = Shape::new(dtype, extents).map_err(raised)?;
        // SAFETY: as above.
        let array = unsafe { strided_over(&shape, &strides, start.cast_mut(), writeable, owner.clone())? };
        all.set_item(name, array)?;
    }
    Ok(all.into_any())
}

/// Keeps a view for the arrays over it.
#[pyclass(frozen)]
pub struct HeldRegion(thalweg::RegionView);

impl Variable {
    pub fn of(variable: thalweg::Variable) -> Variable {
        let (name, definition) = (variable.name().as_str().to_string(), variable.definition().clone());
        let slot = Arc::new(Mutex::new(Some(Arc::new(variable))));
        Variable { slot, name, definition, keeper: OnceLock::new() }
    }

    pub fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    fn open(&self) -> PyResult<Arc<thalweg::Variable>> {
        guarded(&self.slot, |slot| slot.clone()).ok_or_else(closed)
    }

    fn region(&self, operation: &str, lower: &[u64], extent: &[u64]) -> PyResult<Region> {
        Region::new(lower, extent).map_err(|e| raised(Error { message: format!("{operation}: {e}"), ..e }))
    }

    fn to_put(
        &self,
        array: &Bound<'_, PyUntypedArray>,
        version: i64,
        lower: &[u64],
    ) -> PyResult<(Seen, Version, Region)> {
        let seen = seen_cells("stage.put", array, &self.definition.cell)?;
        let region = self.region("stage.put", lower, seen.shape.extents())?;
        Ok((seen, version_of("stage.put", version)?, region))
    }

    /// As `waiting`, until the client is closed.
    fn during<T: Send>(
        &self,
        py: Python<'_>,
        within: Nanos,
        work: impl FnOnce(Patience<'_>) -> thalweg::Result<T> + Send,
    ) -> PyResult<T> {
        waiting_while(py, within, &|| self.open().map(drop), work)
    }

    fn keeper(
        &self,
        of: &thalweg::Variable,
        patience: Patience<'_>,
    ) -> thalweg::Result<&Arc<thalweg::Client>> {
        if let Some(keeper) = self.keeper.get() {
            return Ok(keeper);
        }
        let made = thalweg::keeper(of.identity(), patience)?;
        Ok(self.keeper.get_or_init(|| made))
    }
}

#[pymethods]
impl Variable {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn domain(&self) -> Vec<u64> {
        self.definition.domain.as_slice().to_vec()
    }

    /// NumPy's kind letter and size of a cell, and name, kind letter, size and offset of each field.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn cell(&self) -> (char, u32, Vec<(String, char, u32, u32)>) {
        let cell = &self.definition.cell;
        let kind = |dtype: thalweg::DType| if dtype.kind() == b'B' { 'u' } else { dtype.kind() as char };
        let field =
            |f: &thalweg::Field| (f.name.as_str().to_string(), kind(f.dtype), f.dtype.size(), f.offset);
        (kind(cell.dtype()), cell.dtype().size(), cell.fields().iter().map(field).collect())
    }

    #[getter]
    fn strategy(&self) -> &'static str {
        self.definition.strategy.name()
    }

    #[getter]
    fn keep_last(&self) -> Option<u32> {
        self.definition.keep_last
    }

    #[getter]
    fn writers(&self) -> u32 {
        self.definition.writers
    }

    fn put(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyUntypedArray>,
        version: i64,
        lower: Vec<u64>,
        local: bool,
        timeout_s: f64,
    ) -> PyResult<()> {
        let variable = self.open()?;
        let (seen, version, region) = self.to_put(array, version, &lower)?;
        let within = seconds("stage.put", timeout_s)?;
        self.during(py, within, |patience| {
            let Address(start) = seen.start;
            let (start, lying) = (start as *const u8, Lying::Strides(&seen.strides));
            if local {
                let keeper = self.keeper(&variable, patience)?;
                // SAFETY: the caller's reference keeps the array, whose shape and strides NumPy vouches for.
                return unsafe { variable.put_local(keeper, version, &region, start, &lying, patience) };
            }
            // SAFETY: as above.
            unsafe { variable.put(version, &region, start, &lying, patience) }
        })
    }

    fn loan(
        &self,
        py: Python<'_>,
        version: i64,
        lower: Vec<u64>,
        extent: Vec<u64>,
        order: (Vec<u8>, bool),
        timeout_s: f64,
    ) -> PyResult<RegionLoan> {
        let variable = self.open()?;
        let region = self.region("stage.put", &lower, &extent)?;
        let version = version_of("stage.put", version)?;
        let within = seconds("stage.put", timeout_s)?;
        let layout = layout_of(Some(order))?.unwrap_or_else(|| Layout::right(extent.len()));
        let loan = self.during(py, within, |patience| variable.loan(version, &region, layout, patience))?;
        Ok(RegionLoan { loan: Mutex::new(loan), variable })
    }

    #[allow(clippy::too_many_arguments)]
    fn get<'py>(
        &self,
        py: Python<'py>,
        which: (String, i64),
        lower: Vec<u64>,
        extent: Vec<u64>,
        order: Order,
        strategy: Option<&str>,
        timeout_s: f64,
    ) -> PyResult<(u64, Bound<'py, PyAny>)> {
        let variable = self.open()?;
        let region = self.region("stage.get", &lower, &extent)?;
        let (which, layout) = (which_of((&which.0, which.1))?, layout_of(order)?);
        let (strategy, within) = (strategy_of(strategy)?, seconds("stage.get", timeout_s)?);
        let view =
            self.during(py, within, |patience| variable.get(which, &region, layout, strategy, patience))?;
        let held = Bound::new(py, HeldRegion(view))?;
        let HeldRegion(view) = held.get();
        let cell = view.cell();
        let apart = view.layout().records() == Records::Arrays && layout.is_some();
        let field = |n: usize| {
            let (start, dtype, strides) = view.field(n)?;
            Some((cell.fields()[n].name.as_str().to_string(), start, dtype, strides))
        };
        let fields = if apart { (0..cell.fields().len()).filter_map(field).collect() } else { Vec::new() };
        let (start, strides) = view.array();
        let array = arrays(held.as_any(), &view.shape(), (start, &strides), fields, false)?;
        Ok((view.version().0, array))
    }

    #[allow(clippy::too_many_arguments)]
    fn get_into(
        &self,
        py: Python<'_>,
        which: (String, i64),
        lower: Vec<u64>,
        into: &Bound<'_, PyUntypedArray>,
        strategy: Option<&str>,
        timeout_s: f64,
    ) -> PyResult<u64> {
        let variable = self.open()?;
        let seen = seen_cells("stage.get", into, &self.definition.cell)?;
        let region = self.region("stage.get", &lower, seen.shape.extents())?;
        let which = which_of((&which.0, which.1))?;
        let (strategy, within) = (strategy_of(strategy)?, seconds("stage.get", timeout_s)?);
        if !is_writeable(into) {
            let detail = "the given array is read-only; give one that is not";
            return Err(raised(Error::new(Kind::Invalid, "stage.get", detail)));
        }
        self.during(py, within, |patience| {
            let Address(start) = seen.start;
            let (start, lying) = (start as *mut u8, Lying::Strides(&seen.strides));
            // SAFETY: the caller's reference keeps the array, which NumPy says is writable.
            let version = unsafe { variable.get_into(which, &region, start, &lying, strategy, patience) };
            version.map(|version| version.0)
        })
    }

    /// Ends it: its calls that wait in other threads, and all that come, are told that the client has been closed.
    fn end(&self, py: Python<'_>) {
        let variable = guarded(&self.slot, Option::take);
        py.detach(|| drop(variable));
    }

    fn seal(&self, py: Python<'_>, version: i64, writer: u32) -> PyResult<()> {
        let variable = self.open()?;
        let version = version_of("stage.seal", version)?;
        self.during(py, PROMPT, |patience| variable.seal(version, writer, patience))
    }

    fn release(&self, py: Python<'_>, version: i64) -> PyResult<bool> {
        let variable = self.open()?;
        let version = version_of("stage.release", version)?;
        self.during(py, PROMPT, |patience| variable.release(version, patience))
    }

    fn versions(&self, py: Python<'_>) -> PyResult<Vec<State>> {
        let variable = self.open()?;
        let all = self.during(py, PROMPT, |patience| variable.versions(patience))?;
        Ok(all
            .into_iter()
            .map(|s| (s.version.0, s.cells, s.complete, s.seals, s.pieces, s.replicas))
            .collect())
    }

    /// Version, count, least, greatest, sum and histogram.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        which: (String, i64),
        lower: Vec<u64>,
        extent: Vec<u64>,
        bins: Option<(f64, f64, u32)>,
        timeout_s: f64,
    ) -> PyResult<(u64, u64, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Vec<u64>>)> {
        let variable = self.open()?;
        let region = self.region("stage.reduce", &lower, &extent)?;
        let (which, within) = (which_of((&which.0, which.1))?, seconds("stage.reduce", timeout_s)?);
        let bins = bins.map(|(lower, upper, count)| Bins { lower, upper, count });
        let (version, found) =
            self.during(py, within, |patience| variable.reduce(which, &region, bins, patience))?;
        let number = |n: Option<Number>| match n {
            Some(Number::Whole(value)) => value.into_bound_py_any(py),
            Some(Number::Real(value)) => value.into_bound_py_any(py),
            None => Ok(py.None().into_bound(py)),
        };
        let sum = match found.summary.sum {
            Sum::Whole(sum) => Number::Whole(sum),
            sum => Number::Real(sum.to_f64()),
        };
        let (min, max, sum) = (number(found.summary.min)?, number(found.summary.max)?, number(Some(sum))?);
        let counts = found.histogram.map(|h| h.counts);
        Ok((version.0, found.summary.count, min, max, sum, counts))
    }

    fn annotate(&self, py: Python<'_>, attribute: &str, value: &str) -> PyResult<()> {
        let variable = self.open()?;
        self.during(py, PROMPT, |patience| variable.annotate(attribute, value, patience))
    }

    fn attributes(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let variable = self.open()?;
        self.during(py, PROMPT, |patience| variable.attributes(patience))
    }

    fn patterns(&self, py: Python<'_>) -> PyResult<Vec<Habit>> {
        let variable = self.open()?;
        let all = self.during(py, PROMPT, |patience| variable.patterns(patience))?;
        let habit = |h: thalweg::Habit| {
            let (lower, extent) = (h.region.lower().to_vec(), h.region.extent().to_vec());
            let apart = h.layout.records() == Records::Arrays;
            (lower, extent, h.layout.axes().to_vec(), apart, h.gets)
        };
        Ok(all.into_iter().map(habit).collect())
    }
}

/// Memory of the stage that Python fills. It stays mapped until the loan and every array over it are gone.
#[pyclass(frozen)]
pub struct RegionLoan {
    loan: Mutex<thalweg::RegionLoan>,
    variable: Arc<thalweg::Variable>,
}

#[pymethods]
impl RegionLoan {
    fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        // Without the GIL: a commit in another thread holds the lock while it waits, and takes the GIL now and then.
        let lies = |loan: &mut thalweg::RegionLoan| {
            (*loan.shape(), *loan.layout(), *loan.region(), Address(loan.start() as usize))
        };
        let (shape, layout, region, Address(start)) = slf.py().detach(|| guarded(&this.loan, lies));
        let start = start as *mut u8;
        let cell = &this.variable.definition().cell;
        let mut fields = Vec::new();
        if layout.records() == Records::Arrays {
            let parts = cell.components(&shape, &layout, &region.seen_from(region.lower()), true);
            for (field, part) in cell.fields().iter().zip(parts) {
                // SAFETY: the loan holds the packed fields behind each other.
                let at = unsafe { start.offset(part.offset as isize) }.cast_const();
                fields.push((field.name.as_str().to_string(), at, field.dtype, part.strides));
            }
        }
        let strides = layout.strides(&shape);
        arrays(slf.as_any(), &shape, (start, &strides), fields, true)
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        waiting(py, PROMPT, |patience| guarded(&self.loan, |loan| loan.commit(patience)))
    }
}
