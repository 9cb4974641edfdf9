//! Python's face of the façade: `thalweg._native`. Converts, never decides.
#![allow(missing_docs)] // documented in python/thalweg/staging, where users read
#![allow(clippy::too_many_arguments)] // Python's keyword arguments

mod arrays;
mod client;
mod failure;
mod generator;
mod redirect;
mod relayout;
mod server;
mod simulator;
mod stream;
mod variable;
mod waiting;
mod workload;

use pyo3::prelude::*;
use thalweg::{limits, Bytes};

#[pyfunction]
fn limit_memcpy(py: Python<'_>, size_bytes: u64, repeats: usize) -> Vec<f64> {
    let times = py.detach(|| limits::memcpy(Bytes(size_bytes), repeats));
    times.into_iter().map(|t| t.0 as f64 * 1e-9).collect()
}

#[pyfunction]
fn limit_unix_round_trip(py: Python<'_>, count: usize) -> PyResult<Vec<f64>> {
    let times = py.detach(|| limits::unix_round_trip(count)).map_err(failure::raised)?;
    Ok(times.into_iter().map(|t| t.0 as f64 * 1e-9).collect())
}

#[pyfunction]
fn available_memory() -> u64 {
    thalweg::available_memory().0
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<client::Client>()?;
    module.add_class::<client::Loan>()?;
    module.add_class::<server::Server>()?;
    module.add_class::<redirect::Redirect>()?;
    module.add_class::<stream::StreamDriver>()?;
    module.add_class::<stream::StreamProducer>()?;
    module.add_class::<stream::StreamConsumer>()?;
    module.add_class::<stream::StreamEvents>()?;
    module.add_class::<stream::Pushed>()?;
    module.add_class::<stream::PushedMany>()?;
    module.add_class::<variable::Variable>()?;
    module.add_class::<variable::RegionLoan>()?;
    module.add_class::<workload::WorkloadProgram>()?;
    module.add_class::<workload::BoundProgram>()?;
    module.add_class::<workload::WorkloadTask>()?;
    module.add_function(wrap_pyfunction!(limit_memcpy, module)?)?;
    module.add_function(wrap_pyfunction!(limit_unix_round_trip, module)?)?;
    module.add_function(wrap_pyfunction!(available_memory, module)?)?;
    module.add_function(wrap_pyfunction!(stream::check_streams, module)?)?;
    module.add_function(wrap_pyfunction!(stream::repair_streams, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::simulate_hold, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::simulate_synthetic, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::simulate_applications, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::parse_nodes, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::storage_table, module)?)?;
    module.add_function(wrap_pyfunction!(workload::check_program, module)?)?;
    module.add_function(wrap_pyfunction!(relayout::relayout, module)?)?;
    module.add_function(wrap_pyfunction!(relayout::memcpy, module)?)?;
    module.add_function(wrap_pyfunction!(relayout::element_by_element, module)?)?;
    Ok(())
}
