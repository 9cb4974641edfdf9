//! The facts that the service remembers, in a journal of their own.
//!
//! Now and then all that holds is written once more: a *checkpoint*. What lies before the checkpoint before the last is let go of, so
//! that every fact up to the last checkpoint stands in the journal twice, and one damaged place hides none of them.

use super::super::core::{Fact, Value};
use super::files::random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Batch, Body, Disk, Entry, Follower, Journal, Read, Settings};

/// A checkpoint is written when the facts since the last one take so much more than all that holds.
const SPARE: u64 = 4 << 20;
const SEGMENT: Bytes = Bytes(1 << 20);
/// Facts are appended in batches of about so many bytes.
const LOT: u64 = 8 << 20;
/// The writer of a checkpoint's batches, whose `sequence` is how many facts the checkpoint has. Other batches are of writer 0.
const CHECKPOINT: u64 = 1;

/// The facts, and where they lie.
pub struct Facts {
    /// None: they are forgotten at the end.
    folder: Option<PathBuf>,
    all: BTreeMap<Fact, Vec<u8>>,
    /// What could not be read.
    damage: Vec<Error>,
    /// None when it failed: it is opened again before it is used.
    journal: Option<Journal>,
    /// The first record of the last checkpoint.
    checkpoint: Option<u64>,
    /// Bytes of the facts behind it.
    behind: u64,
}

fn encoded(fact: &Fact) -> Result<Vec<u8>> {
    postcard::to_stdvec(fact).map_err(|e| Error::new(Kind::Io, "stream.remember", e))
}

fn open(folder: &Path, now: Nanos) -> Result<Journal> {
    let disk = Arc::new(Disk::open(folder)?);
    let settings = Settings { segment: SEGMENT, durable: true, ..Settings::default() };
    Journal::open(disk.clone(), disk, settings, random(), now).map(|(journal, _)| journal)
}

/// A checkpoint that is being read.
struct Reading {
    first: u64,
    count: u64,
    facts: BTreeMap<Fact, Vec<u8>>,
    seen: u64,
}

/// What a journal of facts says, read from its first record on.
#[derive(Default)]
struct Replay {
    all: BTreeMap<Fact, Vec<u8>>,
    damage: Vec<Error>,
    reading: Option<Reading>,
    /// The first record of the last checkpoint that is whole.
    checkpoint: Option<u64>,
    /// Whether facts stand behind it.
    more: bool,
}

impl Replay {
    fn of(journal: &Journal, folder: &Path) -> Result<Replay> {
        let mut replay = Replay::default();
        let (mut follower, mut bytes) = (Follower::default(), Vec::new());
        let numbers = journal.numbers();
        let mut next = numbers.start;
        while next < numbers.end {
            match follower.read(&mut |number| journal.locate(number), next, numbers.end, LOT, bytes)? {
                Read::Entries(chunk) => {
                    for entry in (0..chunk.len()).filter_map(|n| chunk.entry(n)) {
                        replay.entry(&entry).map_err(|e| {
                            Error::new(Kind::Corrupt, "stream.open", format!("{}: {e}", folder.display()))
                        })?;
                        next = entry.header.numbers().end;
                    }
                    bytes = chunk.into_bytes();
                }
                Read::Damaged { next: behind, why } => {
                    let message = format!("{}: {}", folder.display(), why.message);
                    replay.damage.push(Error { message, ..why });
                    replay.reading = None;
                    (next, bytes) = (behind, Vec::new());
                }
            }
        }
        Ok(replay)
    }

    fn entry(&mut self, entry: &Entry<'_>) -> std::result::Result<(), postcard::Error> {
        let header = &entry.header;
        if header.writer != CHECKPOINT {
            (self.reading, self.more) = (None, true);
        } else if self.reading.as_ref().is_none_or(|reading| reading.count != header.sequence) {
            let (first, count) = (header.first, header.sequence);
            self.reading = Some(Reading { first, count, facts: BTreeMap::new(), seen: 0 });
        }
        for n in 0..header.content.records {
            let fact: Fact = postcard::from_bytes(entry.metadata(n))?;
            let value = entry.data(n).filter(|value| !value.is_empty());
            if let (Some(reading), Some(value)) = (&mut self.reading, value) {
                reading.facts.insert(fact.clone(), value.to_vec());
                reading.seen += 1;
            }
            match value {
                None => drop(self.all.remove(&fact)),
                Some(value) => drop(self.all.insert(fact, value.to_vec())),
            }
        }
        if let Some(whole) = self.reading.take_if(|reading| reading.seen >= reading.count) {
            // Whatever could not be read before it: this is all that held.
            (self.all, self.checkpoint, self.more) = (whole.facts, Some(whole.first), false);
            self.damage.clear();
        }
        Ok(())
    }
}

impl Facts {
    /// Reads them from the journal in `folder`; without one there are none. What cannot be read is in `damage`.
    ///
    /// # Errors
    /// `Corrupt` when a fact is not understood, `Access` when another server has them, `Io`, `Full`.
    pub fn open(folder: Option<&Path>, now: Nanos) -> Result<Facts> {
        let Some(folder) = folder else {
            let (all, damage) = (BTreeMap::new(), Vec::new());
            return Ok(Facts { folder: None, all, damage, journal: None, checkpoint: None, behind: 0 });
        };
        let journal = open(folder, now)?;
        let Replay { all, damage, checkpoint, more, .. } = Replay::of(&journal, folder)?;
        let folder = Some(folder.to_path_buf());
        // What stands behind the last checkpoint stands there once.
        let behind = if more || !damage.is_empty() { u64::MAX / 2 } else { 0 };
        Ok(Facts { folder, all, damage, journal: Some(journal), checkpoint, behind })
    }

    /// What is remembered.
    pub fn all(&self) -> &BTreeMap<Fact, Vec<u8>> {
        &self.all
    }

    /// What could not be read when they were opened, and stands nowhere else: facts may be missing.
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// Remembers `facts`; they survive the machine when this returns.
    ///
    /// # Errors
    /// `Full`, `Io`; then they may be remembered or not.
    pub fn remember(&mut self, facts: &[(Fact, Value)], now: Nanos) -> Result<()> {
        let lines = facts.iter().map(|(fact, value)| (fact, value.as_deref().unwrap_or_default()));
        if let Some(journal) = self.journal(now)? {
            let before = journal.bytes().0;
            append(journal, lines, (0, 0), now).inspect_err(|_| self.journal = None)?;
            self.behind +=
                self.journal.as_ref().map_or(0, |journal| journal.bytes().0.saturating_sub(before));
        }
        for (fact, value) in facts {
            match value {
                Some(value) => drop(self.all.insert(fact.clone(), value.clone())),
                None => drop(self.all.remove(fact)),
            }
        }
        self.secure(now);
        Ok(())
    }

    /// Writes a checkpoint where it is time for one.
    pub fn secure(&mut self, now: Nanos) {
        let live: usize = self.all.values().map(|value| value.len() + 64).sum();
        if self.behind > SPARE + 4 * live as u64 {
            self.write_checkpoint(now);
        }
    }

    /// Writes all that holds once more, and lets go of what lies before the checkpoint before. When this fails the facts are
    /// remembered all the same.
    fn write_checkpoint(&mut self, now: Nanos) {
        let Facts { all, journal: Some(journal), checkpoint, .. } = self else { return };
        if all.is_empty() {
            return;
        }
        let lines = all.iter().map(|(fact, value)| (fact, value.as_slice()));
        let written = append(journal, lines, (CHECKPOINT, all.len() as u64), now);
        let kept = written.and_then(|first| match checkpoint.replace(first) {
            Some(before) => journal.drop_before(before),
            None => Ok(()),
        });
        self.behind = 0;
        if kept.is_err() {
            self.journal = None;
        }
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
    (writer, sequence): (u64, u64),
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
            let batch = Batch { content, writer, sequence, body: &bytes, apart: None };
            journal.append(now, &[batch])?;
            body = Body::default();
        }
    }
    journal.sync()?;
    Ok(first)
}
