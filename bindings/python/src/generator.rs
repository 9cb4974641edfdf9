//! Operations that Python gives, one after the other.

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use thalweg::simulator::{Behaviour, Collective, Generator, Group, Operation, Picos, Seen, Source};
use thalweg::{Error, Kind, Result};

const OPERATION: &str = "operations";

/// An application whose operations come from a function of rank and number of ranks.
#[derive(Debug)]
pub struct Generated {
    /// What messages call it.
    pub name: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// The function.
    pub generate: Py<PyAny>,
}

/// One rank, with what it does, or why the function did not say that.
struct Rank {
    rank: u32,
    operations: Result<Py<PyIterator>>,
}

impl Generator for Generated {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(&self, rank: u32) -> Box<dyn Behaviour> {
        let operations = Python::attach(|py| {
            Ok(self.generate.call1(py, (rank, self.ranks))?.bind(py).try_iter()?.unbind())
        });
        Box::new(Rank { rank, operations: operations.map_err(|why| refused(rank, &why)) })
    }
}

impl Behaviour for Rank {
    fn next(&mut self, _: &Seen) -> Result<Option<Operation>> {
        let operations = self.operations.as_ref().map_err(Clone::clone)?;
        let next = Python::attach(|py| {
            let item = operations.bind(py).clone().next().transpose()?;
            item.map(|item| operation(&item)).transpose()
        });
        next.map_err(|why| refused(self.rank, &why))
    }
}

fn refused(rank: u32, why: &PyErr) -> Error {
    Error::new(Kind::Invalid, OPERATION, format!("rank {rank}: {why}"))
}

fn source(from: Option<u32>) -> Source {
    from.map_or(Source::Any, Source::Rank)
}

/// A kind and its numbers, as `simulator/operations.py` makes them.
fn operation(item: &Bound<'_, PyAny>) -> PyResult<Operation> {
    let kind: String = item.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "send" => {
            let (_, to, bytes, tag): (String, _, _, _) = item.extract()?;
            Operation::Send { to, bytes, tag }
        }
        "isend" => {
            let (_, to, bytes, tag, request): (String, _, _, _, _) = item.extract()?;
            Operation::Isend { to, bytes, tag, request }
        }
        "recv" => {
            let (_, from, bytes, tag): (String, _, _, _) = item.extract()?;
            Operation::Recv { from: source(from), bytes, tag }
        }
        "irecv" => {
            let (_, from, bytes, tag, request): (String, _, _, _, _) = item.extract()?;
            Operation::Irecv { from: source(from), bytes, tag, request }
        }
        "wait" => Operation::Wait { request: item.get_item(1)?.extract()? },
        "waitall" => Operation::WaitAll,
        "compute" => {
            let seconds: f64 = item.get_item(1)?.extract()?;
            if !(0.0..=1e6).contains(&seconds) {
                let detail = format!("computes for {seconds} s; accepted are 0 to 1e6");
                return Err(pyo3::exceptions::PyValueError::new_err(detail));
            }
            Operation::Compute { time: Picos::from_nanos(seconds * 1e9) }
        }
        "open" => Operation::Open { file: item.get_item(1)?.extract()? },
        "close" => Operation::Close { file: item.get_item(1)?.extract()? },
        "sync" => Operation::Sync { file: item.get_item(1)?.extract()? },
        "read" | "write" => {
            let (_, file, at, bytes): (String, _, _, _) = item.extract()?;
            match kind.as_str() {
                "read" => Operation::Read { file, at, bytes },
                _ => Operation::Write { file, at, bytes },
            }
        }
        kind => {
            let kind = Collective::named(kind).map_err(|_| {
                pyo3::exceptions::PyValueError::new_err(format!("there is no operation {kind:?}"))
            })?;
            let (_, root, bytes, members): (String, _, _, Option<Vec<u32>>) = item.extract()?;
            let group = members.map_or(Group::All, |members| Group::Of(members.into()));
            Operation::Collective { kind, root, bytes, group }
        }
    })
}
