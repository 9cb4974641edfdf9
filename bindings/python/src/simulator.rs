//! Simulated machines: a scenario in, numbers out.

use crate::failure::raised;
use crate::generator::Generated;
use crate::workload::BoundProgram;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use thalweg::simulator::{
    description, parse_nodes as parse, run, table1, Algorithm, Application, ApplicationResult, Collective,
    Exchange, Fidelity, Gaps, Histogram, LinkKind, Model, Nodes, Outcome, Pattern, Picos, Policy, Protocol,
    Routing, Scenario, Synthetic, Task, Work,
};
use thalweg::{Error, Kind};

const OPERATION: &str = "scenario";

/// What an application does, as Python says it.
#[derive(FromPyObject)]
pub enum Doing {
    /// A program that knows its tasks.
    #[pyo3(transparent)]
    Program(Py<BoundProgram>),
    /// The name of a ready-made one, and its options, none where they are its own.
    Ready(String, Option<u32>, Option<bool>),
    /// A name, the number of ranks, and a function that gives the operations of each.
    Generated(String, u32, Py<PyAny>),
}

/// A machine as Python describes it: names, and numbers by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Machine {
    model: String,
    fidelity: String,
    routing: String,
    topology: String,
    shape: Vec<(String, Vec<u32>)>,
    changes: Vec<(String, f64)>,
    /// Collectives and the names of their algorithms.
    collectives: Vec<(String, String)>,
    rendezvous_bytes: Option<u64>,
    /// The names of an arrangement and of a device, where they are not the model's, and numbers of devices by name.
    storage: (Option<String>, Option<String>, Vec<(String, f64)>),
    seed: u64,
    threads: usize,
}

impl Machine {
    fn protocol(&self, model: Model) -> thalweg::Result<Protocol> {
        let mut protocol = model.protocol();
        for (kind, name) in &self.collectives {
            let kind = Collective::named(kind)?;
            protocol.algorithms = protocol.algorithms.with(kind, Algorithm::named(kind, name)?)?;
        }
        if let Some(bytes) = self.rendezvous_bytes {
            let exchange = Exchange::AtOnce;
            protocol = Protocol { rendezvous_bytes: bytes, exchange, ..protocol };
        }
        Ok(protocol)
    }

    fn scenario(&self, work: Work) -> thalweg::Result<Scenario> {
        let model = Model::named(&self.model)?;
        let topology = description::topology(&self.topology, &self.shape)?;
        let routing = Routing::named(&self.routing)?;
        let storage = model.storage().with(self.storage.0.as_deref(), self.storage.1.as_deref())?;
        Ok(Scenario {
            fidelity: Fidelity::named(&self.fidelity)?,
            parameters: description::parameters(&topology, model, routing, &self.changes)?,
            topology,
            protocol: self.protocol(model)?,
            storage: storage.with_numbers(&self.storage.2)?,
            seed: self.seed,
            threads: self.threads,
            work,
        })
    }
}

/// The nodes of an application's ranks: a list, or the name of a policy.
#[derive(FromPyObject)]
pub enum Place {
    Policy(String),
    Listed(Vec<u32>),
}

/// So many events through the queue of events alone, with `pending` of them waiting; the simulated time in seconds.
#[pyfunction]
pub fn simulate_hold(py: Python<'_>, events: u64, pending: u32) -> f64 {
    py.detach(|| thalweg::simulator::hold(events, pending)).nanos() * 1e-9
}

/// The node lists of a file's text: one application a line.
#[pyfunction]
pub fn parse_nodes(text: &str) -> PyResult<Vec<Vec<u32>>> {
    parse(text).map_err(raised)
}

/// `gaps` is "even" or "exponential"; `tell` is called with the simulated time in seconds and the packets that have arrived.
#[pyfunction]
pub fn simulate_synthetic<'py>(
    py: Python<'py>,
    machine: Machine,
    pattern: &str,
    message_bytes: u64,
    mean_gap_ns: f64,
    gaps: &str,
    messages: u64,
    tell: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    if !(0.0..=1e15).contains(&mean_gap_ns) {
        let detail = format!("mean_gap_ns = {mean_gap_ns}; accepted are 0 to 1e15");
        return Err(raised(Error::new(Kind::Invalid, OPERATION, detail)));
    }
    let gaps = match gaps {
        "even" => Gaps::Even,
        "exponential" => Gaps::Exponential,
        _ => {
            let detail = format!("there are no gaps {gaps:?}; accepted are even, exponential");
            return Err(raised(Error::new(Kind::Invalid, OPERATION, detail)));
        }
    };
    let traffic = Synthetic {
        pattern: Pattern::named(pattern).map_err(raised)?,
        bytes: message_bytes,
        mean_gap: Picos::from_nanos(mean_gap_ns),
        gaps,
        messages,
    };
    simulate(py, machine.scenario(Work::Synthetic(traffic)).map_err(raised)?, tell)
}

/// Applications, each with the nodes of its ranks: programs, or names with their iterations and whether they read.
#[pyfunction]
pub fn simulate_applications<'py>(
    py: Python<'py>,
    machine: Machine,
    applications: Vec<(Doing, Place)>,
    tell: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut placed = Vec::new();
    for (doing, nodes) in applications {
        let task = match doing {
            Doing::Program(program) => Task::Program(Arc::clone(&program.get().0)),
            Doing::Ready(name, iterations, reads) => Task::Ready(
                Application::named(&name).and_then(|known| known.with(iterations, reads)).map_err(raised)?,
            ),
            Doing::Generated(name, ranks, generate) => {
                Task::Generated(Arc::new(Generated { name, ranks, generate }))
            }
        };
        let nodes = match nodes {
            Place::Listed(nodes) => Nodes::Listed(nodes),
            Place::Policy(name) => Nodes::Chosen(Policy::named(&name).map_err(raised)?),
        };
        placed.push((task, nodes));
    }
    simulate(py, machine.scenario(Work::Applications(placed)).map_err(raised)?, tell)
}

/// Table 1 of the MFNetSim paper: quantity, what our devices come to, and what the paper prints.
#[pyfunction]
pub fn storage_table() -> Vec<(&'static str, f64, f64)> {
    table1().into_iter().map(|row| (row.quantity, row.model, row.reference)).collect()
}

/// Runs without the GIL; now and then Python hears how far it is, and may raise to stop it.
fn simulate<'py>(
    py: Python<'py>,
    scenario: Scenario,
    tell: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut stopped = None;
    let done = py.detach(|| {
        run(&scenario, |now, packets| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                tell.as_ref().map_or(Ok(()), |tell| tell.call1(py, (now.nanos() * 1e-9, packets)).map(drop))
            });
            stopped = told.err();
            stopped.is_none()
        })
    });
    let outcome = done.map_err(|error| stopped.take().unwrap_or_else(|| raised(error)))?;
    converted(py, &outcome)
}

fn converted<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let found = &outcome.network;
    let counters = &found.counters;
    let network = PyDict::new(py);
    network.set_item("end_s", found.end.nanos() * 1e-9)?;
    network.set_item("events", counters.events)?;
    network.set_item("packets", counters.delivered)?;
    let followed = found.followed();
    network.set_item("hops_mean", followed.map(|all| all.mean_hops()))?;
    network.set_item("non_minimal_packets", followed.map(|all| all.non_minimal))?;
    let latency = followed.map(|all| distribution(py, &all.packet_latency)).transpose()?;
    network.set_item("packet_latency", latency)?;
    // Applications have theirs each.
    let of_all = counters.message_latency.first().filter(|_| outcome.applications.is_empty());
    network.set_item("message_latency", of_all.map(|all| distribution(py, all)).transpose()?)?;
    network.set_item("threads", found.threads)?;
    network.set_item("interval_s", found.timeline.interval().nanos() * 1e-9)?;
    for (class, name) in ["terminal_bytes", "local_bytes", "global_bytes"].iter().enumerate() {
        let column: Vec<u64> = found.timeline.bytes().iter().map(|bytes| bytes[class]).collect();
        network.set_item(name, column)?;
    }
    let links = PyList::empty(py);
    for link in &found.links {
        let kind = match link.kind {
            LinkKind::Terminal => "terminal",
            LinkKind::Local => "local",
            LinkKind::Global => "global",
        };
        links.append((link.from, link.to, kind, link.bytes.clone(), link.saturated.nanos() * 1e-9))?;
    }
    let applications = PyList::empty(py);
    for application in &outcome.applications {
        applications.append(of_application(py, application)?)?;
    }
    let all = PyDict::new(py);
    all.set_item("network", network)?;
    all.set_item("links", links)?;
    all.set_item("applications", applications)?;
    Ok(all)
}

fn of_application<'py>(py: Python<'py>, application: &ApplicationResult) -> PyResult<Bound<'py, PyDict>> {
    let column = |index: usize| -> Vec<f64> {
        application.ranks.iter().map(|rank| rank[index].nanos() * 1e-9).collect()
    };
    let all = PyDict::new(py);
    all.set_item("elapsed_s", application.elapsed.nanos() * 1e-9)?;
    all.set_item("communication_s", column(0))?;
    all.set_item("io_s", column(1))?;
    all.set_item("compute_s", column(2))?;
    all.set_item("messages_sent", application.sent.0)?;
    all.set_item("bytes_sent", application.sent.1)?;
    all.set_item("unreceived", application.unreceived)?;
    all.set_item("bytes_read", application.stored.read)?;
    all.set_item("bytes_written", application.stored.written)?;
    all.set_item("message_latency", distribution(py, &application.message_latency)?)?;
    Ok(all)
}

fn distribution<'py>(py: Python<'py>, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("count", histogram.count())?;
    all.set_item("mean_s", histogram.mean_nanos() * 1e-9)?;
    for (name, share) in [("p25_s", 0.25), ("median_s", 0.5), ("p75_s", 0.75), ("p99_s", 0.99)] {
        all.set_item(name, histogram.quantile(share).nanos() * 1e-9)?;
    }
    all.set_item("max_s", histogram.max().nanos() * 1e-9)?;
    let buckets = histogram.buckets().map(|(longest, count)| (longest.nanos() * 1e-9, count));
    all.set_item("buckets", buckets.collect::<Vec<_>>())?;
    Ok(all)
}
