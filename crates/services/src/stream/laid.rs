//! How a batch lies in its producer's outbox: ends and metadata, then the data, which begin anew where they are to lie apart.

use super::message::Batch;
use thalweg_transport::journal::Content;

/// Data that are to lie apart begin at a multiple of this, counted from the batch's first byte.
const ALIGN: u64 = 64;

/// Where the parts of a batch lie, counted from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laid {
    /// Bytes of ends and metadata.
    pub front: u64,
    /// Where the data begin.
    pub data: u64,
    /// Bytes of all.
    pub bytes: u64,
}

impl Laid {
    /// Of a batch with `content`.
    pub fn of(content: &Content, apart: bool) -> Laid {
        let parts = content.parts(true);
        match apart {
            true => {
                let data = parts.rest.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
                Laid { front: parts.rest, data, bytes: data.saturating_add(content.data) }
            }
            false => Laid { front: parts.rest, data: parts.rest, bytes: parts.body },
        }
    }

    /// Of a batch that somebody describes.
    pub fn described(batch: &Batch) -> Laid {
        Laid::of(&content(batch), batch.apart)
    }
}

/// What a batch holds, as the journal says it.
pub fn content(batch: &Batch) -> Content {
    Content { records: batch.events, metadata: batch.metadata_bytes, data: batch.data_bytes }
}
