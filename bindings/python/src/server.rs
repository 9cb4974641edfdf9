//! `thalweg._native.Server`.

use crate::failure::raised;
use crate::waiting::guarded;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;
use thalweg::{Bytes, Error, Kind, Settings, Spill, Stats, WhenFull};

#[pyclass(frozen)]
pub struct Server {
    server: Mutex<Option<thalweg::Server>>,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    tcp_address: Option<String>,
}

pub fn stats_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in stats.fields() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pymethods]
impl Server {
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (*, memory_limit_bytes=None, when_full="block", socket=None, listen=None, token=None,
        replica_limit_bytes=None, spill=None, workers=None, stream_folder=None, stream_memory_bytes=None, file_memory_bytes=None))]
    fn new(
        py: Python<'_>,
        memory_limit_bytes: Option<u64>,
        when_full: &str,
        socket: Option<String>,
        listen: Option<String>,
        token: Option<String>,
        replica_limit_bytes: Option<u64>,
        spill: Option<(PathBuf, u64)>,
        workers: Option<usize>,
        stream_folder: Option<PathBuf>,
        stream_memory_bytes: Option<u64>,
        file_memory_bytes: Option<u64>,
    ) -> PyResult<Server> {
        let when_full = match when_full {
            "block" => WhenFull::Block,
            "fail" => WhenFull::Fail,
            "drop_oldest" => WhenFull::DropOldest,
            other => {
                let detail =
                    format!("when_full = {other:?}; accepted are \"block\", \"fail\" and \"drop_oldest\"");
                return Err(raised(Error::new(Kind::Invalid, "server", detail)));
            }
        };
        let settings = Settings {
            private: false,
            limit: memory_limit_bytes.map(Bytes),
            when_full,
            socket,
            listen,
            token,
            replicas: replica_limit_bytes.map(Bytes),
            spill: spill.map(|(folder, bytes)| Spill { folder, limit: Bytes(bytes) }),
            workers,
            streams: stream_folder,
            stream_memory: stream_memory_bytes.map(Bytes),
            file_memory: file_memory_bytes.map(Bytes),
        };
        let server = py.detach(|| thalweg::Server::start(settings)).map_err(raised)?;
        let (address, tcp_address) = (server.address().to_string(), server.tcp_address().map(str::to_string));
        Ok(Server { server: Mutex::new(Some(server)), address, tcp_address })
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = guarded(&self.server, |server| server.as_ref().map(|server| server.stats()));
        let closed = || raised(Error::new(Kind::Gone, "server", "it has been closed"));
        stats_dict(py, &stats.ok_or_else(closed)?)
    }

    /// What was found damaged, put aside or made again when the folder for streams was opened.
    fn stream_notes(&self) -> Vec<String> {
        guarded(&self.server, |server| {
            server.as_ref().map_or_else(Vec::new, |server| server.stream_notes().to_vec())
        })
    }

    /// Redirected files that could not be written behind memory.
    fn close(&self, py: Python<'_>) -> Vec<String> {
        let server = guarded(&self.server, Option::take);
        py.detach(|| {
            server.map_or_else(Vec::new, |mut server| {
                server.close();
                server.unsaved()
            })
        })
    }
}
