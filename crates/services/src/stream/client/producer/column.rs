//! Events that are pushed as columns: their bytes one behind the other, and where each ends.

use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::journal::{padded, write_front, Content};

/// Bytes of many events, one behind the other, and where each ends.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where each event's end in them, ascending.
    pub ends: &'a [u64],
}

impl Column<'_> {
    pub(super) fn begin(&self, n: usize) -> u64 {
        n.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    pub(super) fn check(&self, what: &str) -> Result<()> {
        let ascending = self.ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if ascending && self.ends.last().is_none_or(|last| *last <= self.bytes.len() as u64) {
            return Ok(());
        }
        let detail = format!("{what}: the ends do not ascend within {} bytes", self.bytes.len());
        Err(Error::new(Kind::Invalid, "stream.push", detail))
    }
}
/// Some of the rows of columns.
pub(super) struct Rows<'a> {
    pub(super) metadata: Column<'a>,
    pub(super) data: Option<Column<'a>>,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Rows<'_> {
    pub(super) fn content(&self, short: impl Fn(usize) -> Result<u32>) -> Result<Content> {
        let Rows { metadata, data, from, to } = *self;
        let longest = (from..to).map(|n| metadata.ends[n] - metadata.begin(n)).max().unwrap_or(0);
        short(longest as usize)?;
        let text = metadata.ends[to - 1] - metadata.begin(from);
        let ends =
            |data: Column<'_>| (from..to).fold(0, |end, n| padded(end) + (data.ends[n] - data.begin(n)));
        Ok(Content { records: (to - from) as u32, metadata: text as u32, data: data.map_or(0, ends) })
    }

    pub(super) fn write(&self, content: &Content, front: &mut [u8], rest: &mut [u8]) {
        let Rows { metadata, data, from, to } = *self;
        let start = metadata.begin(from);
        let text = &metadata.bytes[start as usize..metadata.ends[to - 1] as usize];
        let mut end = 0;
        let ends = (from..to).map(|n| {
            if let Some(data) = &data {
                end = padded(end) + (data.ends[n] - data.begin(n));
            }
            ((metadata.ends[n] - start) as u32, end)
        });
        write_front(content, ends, text, front);
        let Some(data) = data else { return rest.fill(0) };
        let begin = data.begin(from) as usize;
        let all = &data.bytes[begin..data.ends[to - 1] as usize];
        if all.len() as u64 == content.data {
            // No padding between: all at once.
            let (here, padding) = rest.split_at_mut(all.len());
            here.copy_from_slice(all);
            return padding.fill(0);
        }
        let mut at = 0;
        for n in from..to {
            let bytes = &data.bytes[data.begin(n) as usize..data.ends[n] as usize];
            let next = padded(at as u64) as usize;
            rest[at..next].fill(0);
            rest[next..next + bytes.len()].copy_from_slice(bytes);
            at = next + bytes.len();
        }
        rest[at..].fill(0);
    }
}
