//! What performs the outputs of the stream service: real journals on a toy disk.

use crate::chance::Chance;
use crate::disk::ToyDisk;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_services::stream::core::{Fact, Outcome, PartitionId, Value};
use thalweg_services::stream::driver::{appended, opened};
use thalweg_services::stream::Durability;
use thalweg_transport::journal::{Batch, Body, Journal, Settings};

/// What an event of the adversarial world holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Who made it.
    pub producer: u64,
    /// Its number among those of its producer in the partition.
    pub sequence: u64,
}

impl Mark {
    /// Its metadata.
    fn metadata(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.producer.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    /// Its data.
    fn data(self) -> Vec<u8> {
        let mut chance = Chance::new(self.producer ^ (self.sequence << 20));
        (0..self.sequence % 50).map(|_| chance.number() as u8).collect()
    }

    fn of(metadata: &[u8], data: &[u8]) -> Option<Mark> {
        let number = |at: usize| Some(u64::from_le_bytes(metadata.get(at..at + 8)?.try_into().ok()?));
        let mark = Mark { producer: number(0)?, sequence: number(8)? };
        (metadata.len() == 16 && data == mark.data()).then_some(mark)
    }
}

/// The disks of all partitions, the journals that are open on them, and the facts.
#[derive(Default)]
pub struct Store {
    disks: BTreeMap<PartitionId, ToyDisk>,
    journals: BTreeMap<PartitionId, Journal>,
    /// The facts that survive the machine.
    pub facts: BTreeMap<Fact, Vec<u8>>,
}

impl Store {
    /// Does something with every disk.
    pub fn with_disks(&mut self, mut each: impl FnMut(&ToyDisk)) {
        self.disks.values().for_each(&mut each);
    }

    /// The process has ended.
    pub fn end(&mut self) {
        self.journals.clear();
    }

    /// Opens a partition.
    pub fn open(
        &mut self,
        id: PartitionId,
        durability: Durability,
        seed: u64,
        now: Nanos,
    ) -> Result<Outcome> {
        let mut chance = Chance::new(seed);
        let durable = durability != Durability::None;
        let settings = Settings {
            segment: Bytes(600 + chance.below(3_000)),
            data: Bytes(600 + chance.below(3_000)),
            durable,
        };
        let disk = Arc::new(self.disks.entry(id).or_default().clone());
        self.journals.remove(&id);
        let (journal, _) =
            Journal::open(disk.clone(), disk, settings, Box::new(move || chance.number()), now)?;
        let found = opened(&journal)?;
        self.journals.insert(id, journal);
        Ok(found)
    }

    /// Closes a partition.
    pub fn close(&mut self, id: PartitionId, remove: bool) {
        self.journals.remove(&id);
        if remove {
            self.disks.remove(&id);
        }
    }

    /// The open journal of a partition.
    pub fn journal_of(&self, id: PartitionId) -> Option<&Journal> {
        self.journals.get(&id)
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> usize {
        self.disks.len()
    }

    fn journal(&mut self, id: PartitionId) -> Result<&mut Journal> {
        self.journals.get_mut(&id).ok_or_else(|| Error::new(Kind::Io, "toy", "the journal is not open"))
    }

    /// Appends batches, each as (producer, sequence, events, apart).
    pub fn append(
        &mut self,
        id: PartitionId,
        batches: &[(u64, u64, u32, bool)],
        sync: bool,
        now: Nanos,
    ) -> Result<Outcome> {
        let journal = self.journal(id)?;
        let mut bodies = Vec::new();
        for (producer, first, events, apart) in batches {
            let mut body = Body::default();
            for sequence in *first..*first + u64::from(*events) {
                let mark = Mark { producer: *producer, sequence };
                body.push(&mark.metadata(), &mark.data())?;
            }
            bodies.push((body.bytes(!apart), body));
        }
        let batches: Vec<Batch<'_>> = batches
            .iter()
            .zip(&bodies)
            .map(|((writer, sequence, _, apart), (bytes, body))| Batch {
                content: body.content(),
                writer: *writer,
                sequence: *sequence,
                body: bytes,
                apart: apart.then_some(body.data()),
            })
            .collect();
        appended(journal, &batches, sync, now)
    }

    /// Makes a partition safe.
    pub fn sync(&mut self, id: PartitionId) -> Result<Outcome> {
        self.journal(id)?.sync().map(|()| Outcome::Done)
    }

    /// Lets go of the oldest events.
    pub fn retain(&mut self, id: PartitionId, before: u64) -> Result<Outcome> {
        let journal = self.journal(id)?;
        journal.drop_before(before)?;
        Ok(Outcome::Retained(journal.numbers().start))
    }

    /// Remembers facts, all or none.
    pub fn remember(&mut self, facts: &[(Fact, Value)]) {
        for (fact, value) in facts {
            match value {
                Some(value) => drop(self.facts.insert(fact.clone(), value.clone())),
                None => drop(self.facts.remove(fact)),
            }
        }
    }

    /// The events from `from` on, up to the first that cannot be read.
    pub fn read(&self, id: PartitionId, from: u64) -> std::result::Result<Vec<(u64, Mark)>, String> {
        let Some(journal) = self.journals.get(&id) else { return Ok(Vec::new()) };
        let (mut marks, mut wrong) = (Vec::new(), None);
        let mut next = from.max(journal.numbers().start);
        while next < journal.numbers().end {
            let read = journal.read(next, |entry| {
                for n in 0..entry.header.content.records {
                    let data = journal.data_of(entry, n)?;
                    let number = entry.header.first + u64::from(n);
                    match Mark::of(entry.metadata(n), &data) {
                        Some(mark) => marks.push((number, mark)),
                        None => wrong = Some(number),
                    }
                }
                Ok(true)
            });
            match (read, wrong) {
                (_, Some(number)) => return Err(format!("event {number} is not one that was produced")),
                (Ok(after), None) => next = after,
                (Err(_), None) => break,
            }
        }
        marks.retain(|(n, _)| *n >= from);
        Ok(marks)
    }
}
