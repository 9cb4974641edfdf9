//! The facts that the service remembers, in a journal of their own.

use super::super::core::{Fact, Value};
use super::files::random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Batch, Body, Disk, Journal, Settings};

/// The journal is written anew when it holds so much more than the facts take.
const SPARE: u64 = 4 << 20;
const SEGMENT: Bytes = Bytes(1 << 20);
/// Facts are appended in batches of about so many bytes.
const LOT: u64 = 8 << 20;

/// The facts, and where they lie.
pub struct Facts {
    /// None: they are forgotten at the end.
    folder: Option<PathBuf>,
    all: BTreeMap<Fact, Vec<u8>>,
    /// None when it failed: it is opened again before it is used.
    journal: Option<Journal>,
}

fn encoded(fact: &Fact) -> Result<Vec<u8>> {
    postcard::to_stdvec(fact).map_err(|e| Error::new(Kind::Io, "stream.remember", e))
}

fn open(folder: &Path, now: Nanos) -> Result<Journal> {
    let disk = Arc::new(Disk::open(folder)?);
    let settings = Settings { segment: SEGMENT, durable: true, ..Settings::default() };
    Journal::open(disk.clone(), disk, settings, random(), now).map(|(journal, _)| journal)
}

impl Facts {
    /// Reads them from the journal in `folder`; without one there are none.
    ///
    /// # Errors
    /// `Corrupt` when not all can be read, `Access` when another server has them, `Io`, `Full`.
    pub fn open(folder: Option<&Path>, now: Nanos) -> Result<Facts> {
        let Some(folder) = folder else {
            return Ok(Facts { folder: None, all: BTreeMap::new(), journal: None });
        };
        let journal = open(folder, now)?;
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
        Ok(Facts { folder: Some(folder.to_path_buf()), all, journal: Some(journal) })
    }

    /// What is remembered.
    pub fn all(&self) -> &BTreeMap<Fact, Vec<u8>> {
        &self.all
    }

    /// Remembers `facts`; they survive the machine when this returns.
    ///
    /// # Errors
    /// `Full`, `Io`; then they may be remembered or not.
    pub fn remember(&mut self, facts: &[(Fact, Value)], now: Nanos) -> Result<()> {
        let lines = facts.iter().map(|(fact, value)| (fact, value.as_deref().unwrap_or_default()));
        if let Some(journal) = self.journal(now)? {
            append(journal, lines, now).inspect_err(|_| self.journal = None)?;
        }
        for (fact, value) in facts {
            match value {
                Some(value) => drop(self.all.insert(fact.clone(), value.clone())),
                None => drop(self.all.remove(fact)),
            }
        }
        let live: usize = self.all.values().map(|value| value.len() + 64).sum();
        let Facts { all, journal: Some(journal), .. } = self else { return Ok(()) };
        if journal.bytes().0 > SPARE + 4 * live as u64 {
            // All that holds once more; what was before can go. When this fails the facts are remembered all the same.
            let lines = all.iter().map(|(fact, value)| (fact, value.as_slice()));
            let anew = append(journal, lines, now).and_then(|first| journal.drop_before(first));
            if anew.is_err() {
                self.journal = None;
            }
        }
        Ok(())
    }

    fn journal(&mut self, now: Nanos) -> Result<Option<&mut Journal>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => open(folder, now)?,
        };
        Ok(Some(self.journal.insert(journal)))
    }
}

/// Appends facts in batches of a size that fits; the number of the first.
fn append<'f>(
    journal: &mut Journal,
    facts: impl Iterator<Item = (&'f Fact, &'f [u8])>,
    now: Nanos,
) -> Result<u64> {
    let first = journal.numbers().end;
    let mut body = Body::default();
    let mut facts = facts.peekable();
    while let Some((fact, value)) = facts.next() {
        body.push(&encoded(fact)?, value)?;
        let content = body.content();
        if u64::from(content.metadata) + content.data >= LOT || facts.peek().is_none() {
            let bytes = body.bytes(true);
            let batch = Batch { content, writer: 0, sequence: 0, body: &bytes, apart: None };
            journal.append(now, &[batch])?;
            body = Body::default();
        }
    }
    journal.sync()?;
    Ok(first)
}
