//! Who has written how much to a partition, so that what is sent twice is appended once.

use super::super::message::{Batch, BATCHES_MAX};
use std::collections::{BTreeMap, VecDeque};
use thalweg_foundation::{Error, Kind, Result};

/// Producers of one partition that are remembered for sure; those longest silent are forgotten first.
pub const PRODUCERS_MAX: usize = 4096;

/// A batch that was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// By whom.
    pub producer: u64,
    /// The producer's number for its first event.
    pub sequence: u64,
    /// How many events.
    pub events: u32,
    /// The number of its first event in the partition.
    pub first: u64,
}

#[derive(Clone, Debug, Default)]
struct Producer {
    /// The sequence number of the next event, what is under way counted.
    expected: u64,
    /// The last batches that were appended.
    recent: VecDeque<Written>,
    /// Batches under way.
    under_way: u32,
    /// When it last wrote, counted in batches of the partition.
    used: u64,
}

/// What is to become of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is the next one.
    Next,
    /// It is under way, or the service's memory of it.
    UnderWay,
    /// It was appended before, as this event.
    Before(u64),
}

/// The producers of a partition.
#[derive(Clone, Debug, Default)]
pub struct Producers {
    all: BTreeMap<u64, Producer>,
    count: u64,
}

impl Producers {
    /// As the last batches of the partition tell, in order.
    pub fn of(written: &[Written]) -> Producers {
        let mut producers = Producers::default();
        for batch in written {
            producers.appended(*batch);
            let end = batch.sequence.saturating_add(u64::from(batch.events));
            if let Some(producer) = producers.all.get_mut(&batch.producer) {
                producer.expected = end;
            }
        }
        producers
    }

    /// Whether `batch` is the next one of its producer. Of one that is not known it is the first that it has not heard of:
    /// the producer may be new, or all that it wrote may have been let go of before the service began.
    ///
    /// # Errors
    /// `Protocol` when one before it is missing, or it was appended too long ago to know where.
    pub fn turn(&self, batch: &Batch) -> Result<Turn> {
        let producer = self.all.get(&batch.producer);
        // What it has heard of may have been lost with a machine since: it cannot send that again.
        let expected = producer.map_or(0, |producer| producer.expected).max(batch.heard);
        if batch.sequence == expected {
            return Ok(Turn::Next);
        }
        let wrong = |what: String| Err(Error::new(Kind::Protocol, "stream.produce", what));
        if batch.sequence > expected {
            return wrong(format!(
                "event {} of producer {:x}, of which {expected} is the next; send what is missing first",
                batch.sequence, batch.producer
            ));
        }
        let same = |w: &&Written| w.sequence == batch.sequence && w.events == batch.events;
        match producer.and_then(|producer| producer.recent.iter().find(same)) {
            Some(written) => Ok(Turn::Before(written.first)),
            None if producer.is_some_and(|producer| producer.under_way > 0) => Ok(Turn::UnderWay),
            None => wrong(format!(
                "event {} of producer {:x}, which was appended too long ago to know where; {expected} is the next",
                batch.sequence, batch.producer
            )),
        }
    }

    /// `batch`, whose turn it is, is under way.
    pub fn begun(&mut self, batch: &Batch) {
        self.count += 1;
        let producer = self.all.entry(batch.producer).or_default();
        producer.expected = batch.sequence.saturating_add(u64::from(batch.events));
        producer.under_way += 1;
        producer.used = self.count;
        self.forget();
    }

    /// Forgets who has been silent longest, where there are too many.
    fn forget(&mut self) {
        if self.all.len() <= PRODUCERS_MAX + PRODUCERS_MAX / 4 {
            return;
        }
        // Many at a time, as it takes a look at all.
        let idle = self.all.iter().filter(|(_, producer)| producer.under_way == 0);
        let mut idle: Vec<(u64, u64)> = idle.map(|(name, producer)| (producer.used, *name)).collect();
        idle.sort_unstable();
        idle.truncate(self.all.len() - PRODUCERS_MAX);
        idle.iter().for_each(|(_, name)| drop(self.all.remove(name)));
    }

    /// A batch has been appended.
    pub fn appended(&mut self, written: Written) {
        self.count += 1;
        let producer = self.all.entry(written.producer).or_default();
        producer.under_way = producer.under_way.saturating_sub(1);
        producer.used = self.count;
        producer.recent.push_back(written);
        if producer.recent.len() > BATCHES_MAX {
            producer.recent.pop_front();
        }
        self.forget();
    }

    /// A batch that was under way has not been appended, nor has any behind it.
    pub fn failed(&mut self, batch: &Batch) {
        if let Some(producer) = self.all.get_mut(&batch.producer) {
            producer.under_way = producer.under_way.saturating_sub(1);
            producer.expected = producer.expected.min(batch.sequence);
        }
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.all.len()
    }
}
