//! Operations that Python gives, one after the other.

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use std::fmt::Display;
use thalweg::simulator::{
    Behaviour, Collective, Generator, Group, Operation, Picos, Seen, Source, MOST_BYTES,
};
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
    name: String,
    rank: u32,
    ranks: u32,
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
        let operations = operations.map_err(|why: PyErr| refused(&self.name, rank, &why));
        Box::new(Rank { name: self.name.clone(), rank, ranks: self.ranks, operations })
    }
}

impl Behaviour for Rank {
    fn next(&mut self, _: &Seen) -> Result<Option<Operation>> {
        let operations = self.operations.as_ref().map_err(Clone::clone)?;
        Python::attach(|py| {
            let item = operations.bind(py).clone().next().transpose();
            let item = item.map_err(|why| refused(&self.name, self.rank, &why))?;
            let operation = item.map(|item| operation(&item, self.ranks)).transpose();
            operation.map_err(|why| refused(&self.name, self.rank, &why))
        })
    }
}

fn refused(name: &str, rank: u32, why: &dyn Display) -> Error {
    Error::new(Kind::Invalid, OPERATION, format!("rank {rank} of {name}: {why}"))
}

/// Most of what has a number: ranks aside, requests and tags are those of MPI, places in files end at 1 PiB.
const NUMBERS: u64 = (1 << 31) - 1;
const FILES: u64 = u32::MAX as u64;
const PLACES: u64 = 1 << 50;

/// What makes no operation of an item, in words.
type Read<T> = std::result::Result<T, String>;

/// A kind and its numbers, as `simulator/operations.py` makes them.
fn operation(item: &Bound<'_, PyAny>, ranks: u32) -> Read<Operation> {
    let strange = || format!("gave {item:?}; expected an operation such as operations.send(1, 4096)");
    let parts = item.cast::<PyTuple>().map_err(|_| strange())?;
    let kind: String = parts.get_item(0).and_then(|kind| kind.extract()).map_err(|_| strange())?;
    let given = Given { kind: &kind, parts };
    let last_rank = u64::from(ranks - 1);
    Ok(match kind.as_str() {
        "send" => {
            let [to, bytes, tag] =
                given.numbers([("to", last_rank), ("size_bytes", MOST_BYTES), ("tag", NUMBERS)])?;
            Operation::Send { to: to as u32, bytes, tag: tag as u32 }
        }
        "isend" => {
            let [to, bytes, tag, request] = given.numbers([
                ("to", last_rank),
                ("size_bytes", MOST_BYTES),
                ("tag", NUMBERS),
                ("request", NUMBERS),
            ])?;
            Operation::Isend { to: to as u32, bytes, tag: tag as u32, request: request as u32 }
        }
        "recv" => {
            given.has(&["source", "size_bytes", "tag"])?;
            let from = given.or_none(1, "source", last_rank)?.map_or(Source::Any, Source::Rank);
            let tag = given.or_none(3, "tag", NUMBERS)?;
            Operation::Recv { from, bytes: given.number(2, "size_bytes", MOST_BYTES)?, tag }
        }
        "irecv" => {
            given.has(&["source", "size_bytes", "tag", "request"])?;
            let from = given.or_none(1, "source", last_rank)?.map_or(Source::Any, Source::Rank);
            let tag = given.or_none(3, "tag", NUMBERS)?;
            let request = given.number(4, "request", NUMBERS)? as u32;
            Operation::Irecv { from, bytes: given.number(2, "size_bytes", MOST_BYTES)?, tag, request }
        }
        "wait" => {
            let [request] = given.numbers([("request", NUMBERS)])?;
            Operation::Wait { request: request as u32 }
        }
        "waitall" => Operation::WaitAll,
        "compute" => Operation::Compute { time: given.seconds()? },
        "open" | "close" | "sync" => {
            let [file] = given.numbers([("file", FILES)])?;
            let file = file as u32;
            match kind.as_str() {
                "open" => Operation::Open { file },
                "close" => Operation::Close { file },
                _ => Operation::Sync { file },
            }
        }
        "read" | "write" => {
            let [file, at, bytes] =
                given.numbers([("file", FILES), ("at", PLACES), ("size_bytes", MOST_BYTES)])?;
            let file = file as u32;
            match kind.as_str() {
                "read" => Operation::Read { file, at, bytes },
                _ => Operation::Write { file, at, bytes },
            }
        }
        name => {
            let kind = Collective::named(name).map_err(|_| format!("there is no operation {name:?}"))?;
            given.has(&["root", "size_bytes", "members"])?;
            let group = given.group(3, last_rank)?;
            let root = given.number(1, "root", last_rank)? as u32;
            Operation::Collective { kind, root, bytes: given.number(2, "size_bytes", MOST_BYTES)?, group }
        }
    })
}

/// An operation as it was given: its kind, then what it has.
struct Given<'a, 'py> {
    kind: &'a str,
    parts: &'a Bound<'py, PyTuple>,
}

impl<'py> Given<'_, 'py> {
    /// Checks how many there are.
    fn has(&self, names: &[&str]) -> Read<()> {
        if self.parts.len() == names.len() + 1 {
            return Ok(());
        }
        let (kind, given) = (self.kind, self.parts);
        Err(format!("gave {given:?}; expected ({kind:?}, {})", names.join(", ")))
    }

    /// Numbers that are all there is, each with its name and the largest that is accepted.
    fn numbers<const N: usize>(&self, wanted: [(&str, u64); N]) -> Read<[u64; N]> {
        self.has(&wanted.map(|(name, _)| name))?;
        let mut found = [0; N];
        for (place, (name, most)) in wanted.into_iter().enumerate() {
            found[place] = self.number(place + 1, name, most)?;
        }
        Ok(found)
    }

    fn part(&self, place: usize) -> Read<Bound<'py, PyAny>> {
        self.parts.get_item(place).map_err(|why| format!("{}: {why}", self.kind))
    }

    fn number(&self, place: usize, name: &str, most: u64) -> Read<u64> {
        number(&self.part(place)?, most).map_err(|why| format!("{}: {name} {why}", self.kind))
    }

    fn or_none(&self, place: usize, name: &str, most: u64) -> Read<Option<u32>> {
        if self.part(place)?.is_none() {
            return Ok(None);
        }
        self.number(place, name, most).map(|number| Some(number as u32))
    }

    fn seconds(&self) -> Read<Picos> {
        self.has(&["seconds"])?;
        let given = self.part(1)?;
        match given.extract::<f64>() {
            Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(Picos::from_nanos(seconds * 1e9)),
            _ => Err(format!("compute: seconds is {given:?}; accepted are 0 to 1e6")),
        }
    }

    /// Members in ascending order, or all.
    fn group(&self, place: usize, last_rank: u64) -> Read<Group> {
        let given = self.part(place)?;
        if given.is_none() {
            return Ok(Group::All);
        }
        let wrong = |why: String| format!("{}: a member {why}", self.kind);
        let each = given.try_iter().map_err(|why| wrong(why.to_string()))?;
        let members = each.map(|member| {
            let member = member.map_err(|why| wrong(why.to_string()))?;
            number(&member, last_rank).map(|member| member as u32).map_err(wrong)
        });
        let mut members = members.collect::<Read<Vec<u32>>>()?;
        members.sort_unstable();
        match members.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{}: member {} is given twice; give each once", self.kind, pair[0])),
            None => Ok(Group::Of(members.into())),
        }
    }
}

fn number(given: &Bound<'_, PyAny>, most: u64) -> Read<u64> {
    match given.extract::<u64>() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!("is {given:?}; accepted are whole numbers from 0 to {most}")),
    }
}
