//! Folders of streams that no server has open.

use crate::failure::raised;
use pyo3::prelude::*;
use std::path::PathBuf;
use thalweg::stream::Problem;

/// Where, what is wrong, what that costs, and how it is mended.
type Row = (PathBuf, String, String, Option<String>);

fn rows(problems: Vec<Problem>) -> Vec<Row> {
    let row = |Problem { path, what, cost, mending }| (path, what, cost, mending);
    problems.into_iter().map(row).collect()
}

/// What is damaged in a folder of streams.
#[pyfunction]
pub fn check_streams(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<Row>> {
    py.detach(|| thalweg::stream::check(&folder)).map(rows).map_err(raised)
}

/// Mends it: what was done, and what is damaged still.
#[pyfunction]
pub fn repair_streams(py: Python<'_>, folder: PathBuf) -> PyResult<(Vec<String>, Vec<Row>)> {
    let (done, left) = py.detach(|| thalweg::stream::repair(&folder)).map_err(raised)?;
    Ok((done, rows(left)))
}
