//! Programs of the workload language: read, counted, and performed an operation at a time.

use crate::failure::raised;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg::simulator::{
    schedule, tally, Algorithms, Behaviour, Bound as Prepared, Collective, Diagnostic, Exchange, Group,
    Operation, Part, Performer, Picos, Program, Seen, Source, Text,
};

/// A program that is well formed.
#[pyclass(frozen, module = "thalweg._native")]
pub struct WorkloadProgram(Arc<Program>);

/// A program with its number of tasks and its parameters' values.
#[pyclass(frozen, module = "thalweg._native")]
pub struct BoundProgram(pub Arc<Prepared>);

/// One task of a program.
#[pyclass(frozen, module = "thalweg._native")]
pub struct WorkloadTask(Mutex<Performer>);

/// What is wrong with a program, or strange: severity, message, line, column, word, label, help, and all of it as people read it.
#[pyfunction]
pub fn check_program<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyList>> {
    let source = Text { name: name.into(), text: text.into() };
    let (severity, findings) = match Program::read(source.clone()) {
        Ok(program) => ("warning", program.warnings().to_vec()),
        Err(findings) => ("error", findings),
    };
    let all = PyList::empty(py);
    for finding in findings {
        all.append(described(py, &source, severity, &finding)?)?;
    }
    Ok(all)
}

fn described<'py>(
    py: Python<'py>,
    source: &Text,
    severity: &str,
    finding: &Diagnostic,
) -> PyResult<Bound<'py, PyDict>> {
    let (line, column) = source.place(finding.span.start);
    let found = PyDict::new(py);
    found.set_item("severity", severity)?;
    found.set_item("line", line)?;
    found.set_item("column", column)?;
    found.set_item("word", source.words(finding.span))?;
    found.set_item("message", &finding.message)?;
    found.set_item("label", &finding.label)?;
    found.set_item("help", finding.help.as_deref())?;
    found.set_item("shown", finding.shown(source, severity))?;
    Ok(found)
}

#[pymethods]
impl WorkloadProgram {
    #[new]
    fn new(name: &str, text: &str) -> PyResult<WorkloadProgram> {
        Program::parse(name, text).map(|program| WorkloadProgram(Arc::new(program))).map_err(raised)
    }

    /// Name, description and options of each parameter.
    fn parameters(&self) -> Vec<(String, String, Vec<String>)> {
        let parameters = self.0.parameters().into_iter();
        parameters.map(|parameter| (parameter.name, parameter.description, parameter.options)).collect()
    }

    /// The names of files 1, 2, …
    fn files(&self) -> Vec<String> {
        self.0.files().to_vec()
    }

    fn bind(&self, tasks: u32, given: Vec<(String, String)>, seed: u64) -> PyResult<BoundProgram> {
        self.0.bind(tasks, &given, seed).map(BoundProgram).map_err(raised)
    }
}

#[pymethods]
impl BoundProgram {
    fn tasks(&self) -> u32 {
        self.0.tasks()
    }

    fn values(&self) -> Vec<(String, i64)> {
        self.0.values()
    }

    /// What the tasks from `first` to before `last` do: operations by kind (count, bytes), messages (count, bytes) without those
    /// of collectives and with them, and where sender and receiver do not agree how many more are sent.
    /// Loops over a time repeat as often as `laps` says, and once where it says nothing.
    #[pyo3(signature = (first, last, laps = Vec::new()))]
    fn tally<'py>(
        &self,
        py: Python<'py>,
        first: u32,
        last: u32,
        laps: Vec<u64>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let laps = Arc::from(laps);
        let mut stopped = None;
        let counted = py.detach(|| {
            tally(&self.0, first..last.min(self.0.tasks()), &laps, &Algorithms::default(), || {
                stopped = Python::attach(|py| py.check_signals()).err();
                stopped.is_none()
            })
        });
        let counted = counted.map_err(|error| stopped.take().unwrap_or_else(|| raised(error)))?;
        let kinds = PyDict::new(py);
        for (kind, (count, bytes)) in &counted.operations {
            kinds.set_item(kind, (count, bytes))?;
        }
        let balance: Vec<_> = counted.balance.iter().map(|((from, to), more)| (*from, *to, *more)).collect();
        (kinds, counted.sent(), counted.messages, balance).into_pyobject(py)
    }

    fn task(&self, task: u32) -> WorkloadTask {
        WorkloadTask(Mutex::new(self.0.task(task)))
    }

    /// How often loops over a time repeated so far.
    fn laps(&self) -> Vec<u64> {
        self.0.laps()
    }

    /// Task, label and value of what was logged.
    fn logged(&self) -> Vec<(u32, String, f64)> {
        self.0.logged().rows()
    }

    /// Task and text of what was put out.
    fn outputs(&self) -> Vec<(u32, String)> {
        self.0.logged().outputs
    }

    /// The sends and receives of a task in a collective.
    #[pyo3(signature = (kind, root, bytes, group, task))]
    fn schedule<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        root: u32,
        bytes: u64,
        group: Option<Vec<u32>>,
        task: u32,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let kind = Collective::named(kind).map_err(raised)?;
        let group = group.map_or(Group::All, |members| Group::Of(members.into()));
        let part = Part { kind, root, bytes, group: &group };
        let steps =
            schedule(part, task, self.0.tasks(), &Algorithms::default(), Exchange::AtOnce).map_err(raised)?;
        steps.iter().map(|step| converted(py, step)).collect()
    }
}

#[pymethods]
impl WorkloadTask {
    /// The next operation as its kind and its numbers; none when the task is done. `sent` and `received` are messages and bytes.
    fn next<'py>(
        &self,
        py: Python<'py>,
        elapsed_us: f64,
        sent: (u64, u64),
        received: (u64, u64),
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let seen = Seen { now: Picos::from_nanos(elapsed_us * 1e3), sent, received };
        let mut performer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let operation = performer.next(&seen).map_err(raised)?;
        operation.map(|operation| converted(py, &operation)).transpose()
    }

    /// Task 0's word, if the operation that was given last is the broadcast that tells it: how many repetitions of a loop over
    /// a time it granted.
    fn word(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).word()
    }

    /// Task 0's word has come.
    fn hear(&self, granted: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(granted);
    }
}

fn converted<'py>(py: Python<'py>, operation: &Operation) -> PyResult<Bound<'py, PyTuple>> {
    let (kind, _) = operation.kind();
    let rank = |from: &Source| match from {
        Source::Rank(rank) => Some(*rank),
        Source::Any => None,
    };
    match operation {
        Operation::Send { to, bytes, tag } => (kind, to, bytes, tag).into_pyobject(py),
        Operation::Isend { to, bytes, tag, request } => (kind, to, bytes, tag, request).into_pyobject(py),
        Operation::Recv { from, bytes, tag } => (kind, rank(from), bytes, tag).into_pyobject(py),
        Operation::Irecv { from, bytes, tag, request } => {
            (kind, rank(from), bytes, tag, request).into_pyobject(py)
        }
        Operation::Wait { request } => (kind, request).into_pyobject(py),
        Operation::WaitAll => (kind,).into_pyobject(py),
        Operation::Compute { time } => (kind, time.nanos() * 1e-9).into_pyobject(py),
        Operation::Collective { root, bytes, group, .. } => {
            let members = match group {
                Group::All => None,
                Group::Of(members) => Some(members.to_vec()),
            };
            (kind, root, bytes, members).into_pyobject(py)
        }
        Operation::Open { file } | Operation::Close { file } | Operation::Sync { file } => {
            (kind, file).into_pyobject(py)
        }
        Operation::Read { file, at, bytes } | Operation::Write { file, at, bytes } => {
            (kind, file, at, bytes).into_pyobject(py)
        }
    }
}
