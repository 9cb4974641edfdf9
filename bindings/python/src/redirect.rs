//! `thalweg._native.Redirect`.

use crate::failure::raised;
use pyo3::prelude::*;
use thalweg::redirect::Client;
use thalweg::{Name, Nanos};

/// A connection to the redirect service, of who starts the components.
#[pyclass(frozen)]
pub struct Redirect {
    client: Client,
}

#[pymethods]
impl Redirect {
    #[new]
    fn new(py: Python<'_>, address: &str, coupling: &str, name: &str) -> PyResult<Redirect> {
        let connect = || {
            let coupling = Name::new("redirect.connect", coupling)?;
            Client::connect(address, coupling, Name::new("redirect.connect", name)?, Nanos(10_000_000_000))
        };
        Ok(Redirect { client: py.detach(connect).map_err(raised)? })
    }

    fn ended(
        &self,
        py: Python<'_>,
        component: &str,
        running: Vec<String>,
        failure: Option<String>,
    ) -> PyResult<()> {
        let ended = || {
            let running = running.iter().map(|name| Name::new("redirect", name)).collect::<Result<_, _>>()?;
            self.client.ended(Name::new("redirect", component)?, running, failure)
        };
        py.detach(ended).map_err(raised)
    }
}
