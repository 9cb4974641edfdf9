//! `thalweg._native.StreamProducer`, and what becomes of what was pushed.

use super::Lent;
use crate::failure::raised;
use crate::waiting::{seconds, waiting};
use pyo3::prelude::*;
use thalweg::stream::{Column, Producer};

#[pyclass(frozen)]
pub struct StreamProducer(Producer);

impl StreamProducer {
    pub fn of(producer: Producer) -> StreamProducer {
        StreamProducer(producer)
    }
}

/// Calls `call` from whatever thread, as long as the interpreter runs.
fn calling(call: Py<PyAny>) -> Box<dyn FnOnce() + Send> {
    Box::new(move || {
        let _ = Python::try_attach(|py| {
            if let Err(e) = call.call0(py) {
                e.write_unraisable(py, None);
            }
        });
    })
}

#[pymethods]
impl StreamProducer {
    fn push(
        &self,
        py: Python<'_>,
        partition: u32,
        metadata: &Bound<'_, PyAny>,
        data: Vec<Bound<'_, PyAny>>,
        timeout_s: f64,
    ) -> PyResult<Pushed> {
        let metadata = Lent::of("stream.push", metadata)?;
        let data: Vec<Lent<'_>> =
            data.iter().map(|part| Lent::of("stream.push", part)).collect::<PyResult<_>>()?;
        let (metadata, parts) = (metadata.bytes(), data.iter().map(Lent::bytes).collect::<Vec<_>>());
        let within = seconds("stream.push", timeout_s)?;
        waiting(py, within, |patience| self.0.push(partition, metadata, &parts, patience)).map(Pushed)
    }

    #[pyo3(signature = (partition, metadata, metadata_ends, data, data_ends, timeout_s))]
    fn push_many(
        &self,
        py: Python<'_>,
        partition: u32,
        metadata: &Bound<'_, PyAny>,
        metadata_ends: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        data_ends: Option<&Bound<'_, PyAny>>,
        timeout_s: f64,
    ) -> PyResult<PushedMany> {
        const OPERATION: &str = "stream.push_many";
        let (text, ends) = (Lent::of(OPERATION, metadata)?, Lent::of(OPERATION, metadata_ends)?);
        let metadata = Column { bytes: text.bytes(), ends: ends.numbers(OPERATION)? };
        let data = data.map(|data| Lent::of(OPERATION, data)).transpose()?;
        let data_ends = data_ends.map(|ends| Lent::of(OPERATION, ends)).transpose()?;
        let data = match (&data, &data_ends) {
            (Some(data), Some(ends)) => Some(Column { bytes: data.bytes(), ends: ends.numbers(OPERATION)? }),
            _ => None,
        };
        let within = seconds(OPERATION, timeout_s)?;
        waiting(py, within, |patience| self.0.push_many(partition, metadata, data, patience)).map(PushedMany)
    }

    fn flush(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        waiting(py, seconds("stream.flush", timeout_s)?, |patience| self.0.flush(patience))
    }

    fn close(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        waiting(py, seconds("stream.close", timeout_s)?, |patience| self.0.close(patience))
    }
}

#[pyclass(frozen)]
pub struct Pushed(thalweg::stream::Pushed);

#[pymethods]
impl Pushed {
    fn done(&self) -> bool {
        self.0.outcome().is_some()
    }

    /// The number of the event.
    fn result(&self, py: Python<'_>, timeout_s: f64) -> PyResult<u64> {
        if let Some(outcome) = self.0.outcome() {
            return outcome.map_err(raised);
        }
        waiting(py, seconds("stream.push", timeout_s)?, |patience| self.0.wait(patience))
    }

    fn when_done(&self, py: Python<'_>, call: Py<PyAny>) {
        py.detach(|| self.0.when_done(calling(call)));
    }
}

#[pyclass(frozen)]
pub struct PushedMany(thalweg::stream::PushedMany);

#[pymethods]
impl PushedMany {
    fn done(&self) -> bool {
        self.0.is_done()
    }

    /// The numbers of the events, as (begin, end) of each run.
    fn result(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<(u64, u64)>> {
        let ranges = waiting(py, seconds("stream.push_many", timeout_s)?, |patience| self.0.wait(patience))?;
        Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
    }

    fn when_done(&self, py: Python<'_>, call: Py<PyAny>) {
        py.detach(|| self.0.when_done(calling(call)));
    }
}
