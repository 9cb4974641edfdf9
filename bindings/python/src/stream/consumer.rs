//! `thalweg._native.StreamConsumer`, and the events that it pulled.

use crate::arrays::{is_writeable, over, seen, Address};
use crate::failure::raised;
use crate::waiting::{seconds, waiting};
use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use thalweg::stream::{Consumer, Events};
use thalweg::{DType, Error, Kind, Nanos, Shape};

#[pyclass(frozen)]
pub struct StreamConsumer(Consumer);

impl StreamConsumer {
    pub fn of(consumer: Consumer) -> StreamConsumer {
        StreamConsumer(consumer)
    }
}

/// A contiguous writable array, to be filled.
#[derive(Clone, Copy)]
struct Target {
    start: Address,
    bytes: usize,
}

impl Target {
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Target> {
        let place = seen("stream.data", array, false)?;
        if !array.is_c_contiguous() || !is_writeable(array) {
            let detail = "a buffer that is not contiguous, or not writable";
            return Err(raised(Error::new(Kind::Invalid, "stream.data", detail)));
        }
        Ok(Target { start: place.start, bytes: place.shape.size().0 as usize })
    }

    /// # Safety
    /// The array must live, and nobody else may touch it.
    unsafe fn bytes<'a>(self) -> &'a mut [u8] {
        match self.bytes {
            0 => &mut [],
            // SAFETY: the caller's promise; the array is contiguous, writable and of so many bytes.
            bytes => unsafe { std::slice::from_raw_parts_mut(self.start.0 as *mut u8, bytes) },
        }
    }
}

#[pymethods]
impl StreamConsumer {
    fn pull(&self, py: Python<'_>, most: u32, timeout_s: f64) -> PyResult<Option<StreamEvents>> {
        let within = seconds("stream.pull", timeout_s)?;
        Ok(waiting(py, within, |patience| self.0.pull(most, patience))?.map(StreamEvents))
    }

    /// Reads parts (begin, end) of the data of event `number` of `events`, one behind the other, into an array of bytes.
    fn read(
        &self,
        py: Python<'_>,
        events: &StreamEvents,
        number: u32,
        ranges: Vec<(u64, u64)>,
        into: &Bound<'_, PyUntypedArray>,
        timeout_s: f64,
    ) -> PyResult<()> {
        let target = Target::of(into)?;
        let size = |(begin, end): &(u64, u64)| end.saturating_sub(*begin);
        let wanted = ranges.iter().map(size).fold(0, u64::saturating_add);
        if wanted != target.bytes as u64 {
            let detail = format!("{wanted} bytes into a buffer of {}", target.bytes);
            return Err(raised(Error::new(Kind::Invalid, "stream.data", detail)));
        }
        waiting(py, seconds("stream.data", timeout_s)?, move |patience| {
            // SAFETY: the caller's reference keeps the array.
            let mut rest = unsafe { target.bytes() };
            for (begin, end) in ranges {
                let (here, behind) = rest.split_at_mut(end.saturating_sub(begin) as usize);
                self.0.read_data(&events.0, number, begin..end, here, patience)?;
                rest = behind;
            }
            Ok(())
        })
    }

    /// Reads the data of `events`, as `data_ends` says where they end, into an array of bytes; of how many events: those in front of
    /// the first whose data are damaged.
    fn read_all(
        &self,
        py: Python<'_>,
        events: &StreamEvents,
        into: &Bound<'_, PyUntypedArray>,
        timeout_s: f64,
    ) -> PyResult<u32> {
        let target = Target::of(into)?;
        waiting(py, seconds("stream.data", timeout_s)?, move |patience| {
            // SAFETY: the caller's reference keeps the array.
            self.0.read_all(&events.0, unsafe { target.bytes() }, patience)
        })
    }

    /// Gives events back from index `first` on, so that they are pulled again.
    fn give_back(&self, py: Python<'_>, events: &StreamEvents, first: u32) {
        py.detach(|| self.0.give_back(&events.0, first));
    }

    fn holds(&self, py: Python<'_>, partition: u32, timeout_s: f64) -> PyResult<bool> {
        waiting(py, seconds("stream.pull", timeout_s)?, |patience| self.0.holds(partition, patience))
    }

    /// With a timeout it returns when the server remembers it over its end.
    fn acknowledge(&self, py: Python<'_>, partition: u32, next: u64, timeout_s: Option<f64>) -> PyResult<()> {
        match timeout_s {
            None => py.detach(|| self.0.acknowledge(partition, next)).map_err(raised),
            Some(timeout_s) => waiting(py, seconds("stream.acknowledge", timeout_s)?, |patience| {
                self.0.acknowledge_durably(partition, next, patience)
            }),
        }
    }

    fn seek(&self, py: Python<'_>, partition: u32, next: u64, timeout_s: f64) -> PyResult<()> {
        waiting(py, seconds("stream.seek", timeout_s)?, |patience| self.0.seek(partition, next, patience))
    }

    fn seek_time(&self, py: Python<'_>, partition: u32, time_s: f64, timeout_s: f64) -> PyResult<()> {
        let time = Nanos((time_s.max(0.0) * 1e9) as u64);
        waiting(py, seconds("stream.seek", timeout_s)?, |patience| {
            self.0.seek_time(partition, time, patience)
        })
    }

    #[allow(clippy::type_complexity)] // as Python sees it
    /// Partition, number behind the last acknowledged event, next that is read, first that is there, number of the next to come.
    fn positions(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<(u32, u64, u64, u64, u64)>> {
        let within = seconds("stream.held", timeout_s)?;
        let positions = waiting(py, within, |patience| self.0.positions(patience))?;
        let tuple = |p: &thalweg::stream::Position| (p.partition, p.acknowledged, p.next, p.first, p.end);
        Ok(positions.iter().map(tuple).collect())
    }

    fn close(&self, py: Python<'_>, forget: bool, timeout_s: f64) -> PyResult<()> {
        waiting(py, seconds("stream.close", timeout_s)?, |patience| self.0.close(forget, patience))
    }
}

/// Some events of one batch; the arrays over them keep them.
#[pyclass(frozen)]
pub struct StreamEvents(Events);

type Column<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<u64>>);

/// The bytes `all` that `owner` keeps, and where in them the parts end that follow each other.
fn column<'py>(owner: &Bound<'py, StreamEvents>, all: &[u8], ends: Vec<u64>) -> PyResult<Column<'py>> {
    let py = owner.py();
    let shape = Shape::new(DType::BYTES, thalweg::Extents::new(&[all.len() as u64]).map_err(raised)?);
    let start = all.as_ptr().cast_mut();
    // SAFETY: the bytes are of a chunk that the owner keeps and nobody changes.
    let array = unsafe { over(&shape.map_err(raised)?, start, false, owner.clone().into_any())? };
    Ok((array, PyArray1::from_vec(py, ends)))
}

#[pymethods]
impl StreamEvents {
    #[getter]
    fn partition(&self) -> u32 {
        self.0.partition
    }

    #[getter]
    fn first(&self) -> u64 {
        self.0.first()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// When they were appended, in seconds since 1970.
    #[getter]
    fn time_s(&self) -> f64 {
        self.0.time().0 as f64 * 1e-9
    }

    /// Whether the data must be read.
    #[getter]
    fn apart(&self) -> bool {
        self.0.apart()
    }

    /// All metadata, and where each ends.
    fn metadata<'py>(slf: &Bound<'py, StreamEvents>) -> PyResult<Column<'py>> {
        let (all, ends) = slf.get().0.metadata_column();
        column(slf, all, ends)
    }

    /// Where each one's data end, counted from the first byte of the first; each begins at the next multiple of 8.
    fn data_ends<'py>(slf: &Bound<'py, StreamEvents>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_vec(slf.py(), slf.get().0.data_ends())
    }

    /// All data, where they lie with their metadata.
    fn data<'py>(slf: &Bound<'py, StreamEvents>) -> PyResult<Column<'py>> {
        let events = &slf.get().0;
        column(slf, events.data_column().unwrap_or_default(), events.data_ends())
    }
}
