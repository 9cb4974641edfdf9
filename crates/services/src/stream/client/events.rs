//! Events that were read: some of one batch, as they lie in it.

use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::Nanos;
use thalweg_transport::journal::{Chunk, Entry};

/// Events of one partition, one behind the other.
#[derive(Clone, Debug)]
pub struct Events {
    pub(super) chunk: Arc<Chunk>,
    pub(super) entry: usize,
    pub(super) records: Range<u32>,
    /// Of which journal they are.
    pub(super) origin: u64,
    /// Their partition.
    pub partition: u32,
}

impl Events {
    /// The batch that they are of.
    pub fn batch(&self) -> Option<Entry<'_>> {
        self.chunk.entry(self.entry)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Which of the batch's events they are.
    pub fn records(&self) -> Range<u32> {
        self.records.clone()
    }

    /// The number of the first.
    pub fn first(&self) -> u64 {
        self.batch().map_or(0, |batch| batch.header.first + u64::from(self.records.start))
    }

    /// When they were appended, in nanoseconds since 1970.
    pub fn time(&self) -> Nanos {
        self.batch().map_or(Nanos(0), |batch| batch.header.time)
    }

    /// The metadata of event `n` of these, counted from 0.
    pub fn metadata(&self, n: u32) -> &[u8] {
        self.batch().map(|batch| batch.metadata(self.records.start + n)).unwrap_or_default()
    }

    /// Where the data of event `n` of these lie within their batch's data.
    pub fn data_range(&self, n: u32) -> Range<u64> {
        self.batch().map(|batch| batch.data_range(self.records.start + n)).unwrap_or_default()
    }

    /// The data of event `n` of these; none when they lie apart.
    pub fn data(&self, n: u32) -> Option<&[u8]> {
        self.batch()?.data(self.records.start + n)
    }

    /// Whether data lie apart from their metadata, so that they must be read.
    pub fn apart(&self) -> bool {
        self.batch().is_some_and(|batch| !batch.header.is_inline())
    }

    /// The metadata of all, one behind the other, and where each one's end.
    pub fn metadata_column(&self) -> (&[u8], Vec<u64>) {
        let Some(batch) = self.batch().filter(|_| !self.is_empty()) else { return (&[], Vec::new()) };
        let ranges = self.records.clone().map(|n| batch.metadata_range(n));
        let begin = batch.metadata_range(self.records.start).start;
        let ends = ranges.map(|range| range.end - begin).collect();
        (batch.metadata_between(self.records.clone()), ends)
    }

    /// Where each one's data end, counted from the first byte of the first; each begins at the next multiple of 8.
    pub fn data_ends(&self) -> Vec<u64> {
        let Some(batch) = self.batch().filter(|_| !self.is_empty()) else { return Vec::new() };
        let begin = batch.data_range(self.records.start).start;
        self.records.clone().map(|n| batch.data_range(n).end - begin).collect()
    }

    /// The data of all, where they lie with their metadata.
    pub fn data_column(&self) -> Option<&[u8]> {
        self.batch()?.data_between(self.records.clone())
    }
}
