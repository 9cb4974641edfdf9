//! The facts that the service remembers, in a journal of their own.

use super::super::core::{Fact, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Batch, Body, Disk, Journal, Random, Settings};

/// The journal is written anew when it holds so much more than the facts take.
const SPARE: u64 = 4 << 20;
const SEGMENT: Bytes = Bytes(1 << 20);

/// The facts, and where they lie.
pub struct Facts {
    all: BTreeMap<Fact, Vec<u8>>,
    journal: Journal,
}

fn encoded(fact: &Fact) -> Result<Vec<u8>> {
    postcard::to_stdvec(fact).map_err(|e| Error::new(Kind::Io, "stream.remember", e))
}

impl Facts {
    /// Reads them from the journal in `folder`.
    ///
    /// # Errors
    /// `Corrupt` when not all can be read, `Access` when another server has them, `Io`, `Full`.
    pub fn open(folder: &Path, random: Random, now: Nanos) -> Result<Facts> {
        let disk = Arc::new(Disk::open(folder)?);
        let settings = Settings { segment: SEGMENT, durable: true, ..Settings::default() };
        let (journal, _) = Journal::open(disk.clone(), disk, settings, random, now)?;
        let mut all = BTreeMap::new();
        let mut from = journal.numbers().start;
        while from < journal.numbers().end {
            from = journal.read(from, |entry| {
                for n in 0..entry.header.content.records {
                    let fact: Fact = postcard::from_bytes(entry.metadata(n)).map_err(|e| {
                        Error::new(Kind::Corrupt, "stream.open", format!("{}: {e}", folder.display()))
                    })?;
                    match entry.data(n) {
                        Some([]) | None => drop(all.remove(&fact)),
                        Some(value) => drop(all.insert(fact, value.to_vec())),
                    }
                }
                Ok(true)
            })?;
        }
        Ok(Facts { all, journal })
    }

    /// What is remembered.
    pub fn all(&self) -> &BTreeMap<Fact, Vec<u8>> {
        &self.all
    }

    /// Remembers `facts`; they survive the machine when this returns.
    ///
    /// # Errors
    /// `Full`, `Io`.
    pub fn remember(&mut self, facts: &[(Fact, Value)], now: Nanos) -> Result<()> {
        let mut body = Body::default();
        for (fact, value) in facts {
            body.push(&encoded(fact)?, value.as_deref().unwrap_or_default())?;
        }
        self.append(&body, now)?;
        for (fact, value) in facts {
            match value {
                Some(value) => drop(self.all.insert(fact.clone(), value.clone())),
                None => drop(self.all.remove(fact)),
            }
        }
        let live: usize = self.all.values().map(|value| value.len() + 64).sum();
        if self.journal.bytes().0 > SPARE + 4 * live as u64 {
            self.write_anew(now)?;
        }
        Ok(())
    }

    fn append(&mut self, body: &Body, now: Nanos) -> Result<u64> {
        let bytes = body.bytes(true);
        let batch = Batch { content: body.content(), writer: 0, sequence: 0, body: &bytes, apart: None };
        let headers = self.journal.append(now, &[batch])?;
        self.journal.sync()?;
        Ok(headers.first().map_or(0, |header| header.first))
    }

    /// Writes all facts that hold once more, and lets go of what was before.
    fn write_anew(&mut self, now: Nanos) -> Result<()> {
        let mut body = Body::default();
        for (fact, value) in &self.all {
            body.push(&encoded(fact)?, value)?;
        }
        let first = self.append(&body, now)?;
        self.journal.drop_before(first)
    }
}
