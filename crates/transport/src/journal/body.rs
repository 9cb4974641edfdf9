//! Making the body of a batch, in memory or where it is to lie.

use super::entry::{padded, Content};
use thalweg_foundation::{Error, Kind, Result};

/// Builds the body of a batch in memory; a producer may as well write it where it is to lie.
#[derive(Clone, Debug, Default)]
pub struct Body {
    metadata_ends: Vec<u32>,
    data_ends: Vec<u64>,
    metadata: Vec<u8>,
    data: Vec<u8>,
}

impl Body {
    /// Adds a record.
    ///
    /// # Errors
    /// `Full` when the batch's metadata would take more than 4 GiB.
    pub fn push(&mut self, metadata: &[u8], data: &[u8]) -> Result<()> {
        self.push_parts(metadata, &[data])
    }

    /// Adds a record, whose data are `parts` one behind the other.
    ///
    /// # Errors
    /// As `push`.
    pub fn push_parts(&mut self, metadata: &[u8], parts: &[&[u8]]) -> Result<()> {
        let end = u32::try_from(self.metadata.len() + metadata.len());
        let end = end.map_err(|_| Error::new(Kind::Full, "journal.append", "more than 4 GiB of metadata"))?;
        self.metadata.extend_from_slice(metadata);
        self.metadata_ends.push(end);
        self.data.resize(padded(self.data.len() as u64) as usize, 0);
        parts.iter().for_each(|part| self.data.extend_from_slice(part));
        self.data_ends.push(self.data.len() as u64);
        Ok(())
    }

    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.metadata_ends.clear();
        self.data_ends.clear();
        self.metadata.clear();
        self.data.clear();
    }

    /// What it holds.
    pub fn content(&self) -> Content {
        Content {
            records: self.metadata_ends.len() as u32,
            metadata: self.metadata.len() as u32,
            data: self.data.len() as u64,
        }
    }

    /// The data.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The body, with or without the data.
    pub fn bytes(&self, inline: bool) -> Vec<u8> {
        let parts = self.content().parts(true);
        let mut bytes = vec![0; if inline { parts.body } else { parts.rest } as usize];
        let (front, data) = bytes.split_at_mut(parts.rest as usize);
        self.write(front, if inline { data } else { &mut [] });
        bytes
    }

    /// Writes ends and metadata to `front`, and the data, where they are wanted, to `data`; both are as long as they are, or
    /// longer.
    pub fn write(&self, front: &mut [u8], data: &mut [u8]) {
        let ends = self.metadata_ends.iter().copied().zip(self.data_ends.iter().copied());
        write_front(&self.content(), ends, &self.metadata, front);
        if let Some((here, padding)) = data.split_at_mut_checked(self.data.len()) {
            here.copy_from_slice(&self.data);
            padding.fill(0);
        }
    }
}

/// Writes the front of a body that holds `content`, whose records end at `ends` (metadata, data): all but the data.
pub fn write_front(
    content: &Content,
    ends: impl Iterator<Item = (u32, u64)>,
    metadata: &[u8],
    front: &mut [u8],
) {
    let parts = content.parts(true);
    let (all_ends, text) = front.split_at_mut(parts.metadata as usize);
    let (metadata_ends, data_ends) = all_ends.split_at_mut(parts.data_ends as usize);
    let places = metadata_ends.chunks_exact_mut(4).zip(data_ends.chunks_exact_mut(8));
    for ((metadata_place, data_place), (metadata_end, data_end)) in places.zip(ends) {
        metadata_place.copy_from_slice(&metadata_end.to_le_bytes());
        data_place.copy_from_slice(&data_end.to_le_bytes());
    }
    metadata_ends[content.records as usize * 4..].fill(0);
    let (text, padding) = text.split_at_mut(metadata.len());
    text.copy_from_slice(metadata);
    padding.fill(0);
}
