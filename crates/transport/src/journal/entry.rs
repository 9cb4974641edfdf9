//! An entry: a batch of records behind a header that says what it holds and checks it.

use super::head::number;
use super::{check, check_salted, damaged};
use std::ops::Range;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// Bytes of a header.
pub const HEADER: usize = 96;
/// The largest body.
pub const BODY_MAX: Bytes = Bytes(128 << 20);
/// Data in the data store have one check for so many bytes.
pub const CHUNK: u64 = 64 << 10;
/// Data of a batch begin at a multiple of this in the data store, and so do bodies behind large ones: a line of the processor's
/// caches, from which and to which the kernel copies fastest.
pub const DATA_ALIGN: u64 = 64;
/// Bodies of so many bytes are large.
const LARGE: u64 = 4096;
const MAGIC: [u8; 4] = *b"ETRY";
const INLINE: u32 = 1;

/// `n`, or the next multiple of 8.
pub fn padded(n: u64) -> u64 {
    n.saturating_add(7) & !7
}

/// Where a batch's data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body.
    Inline,
    /// At this position of the data store.
    Store(u64),
}

/// What a batch holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Records; at least 1.
    pub records: u32,
    /// Bytes of metadata.
    pub metadata: u32,
    /// Bytes of data, with the padding between.
    pub data: u64,
}

/// Where the parts of a body begin, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The ends of data.
    pub data_ends: u64,
    /// The metadata.
    pub metadata: u64,
    /// The data, or their checks.
    pub rest: u64,
    /// Bytes of the body.
    pub body: u64,
}

impl Content {
    /// Where the parts of its body begin.
    pub fn parts(&self, inline: bool) -> Parts {
        let data_ends = padded(u64::from(self.records) * 4);
        let metadata = data_ends + u64::from(self.records) * 8;
        let rest = metadata + padded(u64::from(self.metadata));
        let last = if inline { self.data } else { self.chunks() * 4 };
        Parts { data_ends, metadata, rest, body: rest.saturating_add(padded(last)) }
    }

    /// How many checks its data have in the data store.
    pub fn chunks(&self) -> u64 {
        self.data.div_ceil(CHUNK)
    }
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the entry lies in its file.
    pub place: u64,
    /// Bytes of the body.
    pub body: u32,
    /// CRC of the body.
    pub check: u32,
    /// The number of its first record.
    pub first: u64,
    /// What it holds.
    pub content: Content,
    /// When it was appended.
    pub time: Nanos,
    /// Who wrote it; opaque here.
    pub writer: u64,
    /// The writer's own number for the first record; opaque here.
    pub sequence: u64,
    /// Where its data lie.
    pub data: Place,
}

impl Header {
    /// As it lies in a file with `salt`.
    pub fn encode(&self, salt: u64) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let (flags, position) = match self.data {
            Place::Inline => (INLINE, 0),
            Place::Store(position) => (0, position),
        };
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.place.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.body.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.check.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.content.records.to_le_bytes());
        bytes[36..40].copy_from_slice(&flags.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.writer.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[64..72].copy_from_slice(&position.to_le_bytes());
        bytes[72..80].copy_from_slice(&self.content.data.to_le_bytes());
        bytes[80..84].copy_from_slice(&self.content.metadata.to_le_bytes());
        let check = check_salted(salt, &bytes[8..]);
        bytes[4..8].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads the header at `place` of a file with `salt`; none when there is no good one.
    pub fn decode(bytes: &[u8; HEADER], place: u64, salt: u64) -> Option<Header> {
        let good = bytes[..4] == MAGIC
            && number::<8>(bytes, 8) == place
            && number::<4>(bytes, 4) == u64::from(check_salted(salt, &bytes[8..]));
        if !good || bytes[84..] != [0; HEADER - 84] {
            return None;
        }
        let flags = number::<4>(bytes, 36) as u32;
        let data = match flags {
            INLINE => Place::Inline,
            0 => Place::Store(number::<8>(bytes, 64)),
            _ => return None,
        };
        let content = Content {
            records: number::<4>(bytes, 32) as u32,
            metadata: number::<4>(bytes, 80) as u32,
            data: number::<8>(bytes, 72),
        };
        let header = Header {
            place,
            body: number::<4>(bytes, 16) as u32,
            check: number::<4>(bytes, 20) as u32,
            first: number::<8>(bytes, 24),
            content,
            time: Nanos(number::<8>(bytes, 40)),
            writer: number::<8>(bytes, 48),
            sequence: number::<8>(bytes, 56),
            data,
        };
        let body = u64::from(header.body);
        (content.parts(header.is_inline()).body == body && body <= BODY_MAX.0 && content.records > 0)
            .then_some(header)
    }

    /// Whether the data lie in the body.
    pub fn is_inline(&self) -> bool {
        self.data == Place::Inline
    }

    /// The numbers of its records.
    pub fn numbers(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.content.records)
    }

    /// Where the body lies in its file.
    pub fn body_at(&self) -> Range<u64> {
        let begin = self.place + HEADER as u64;
        begin..begin + u64::from(self.body)
    }

    /// Where the next entry begins in its file.
    pub fn end(&self) -> u64 {
        let end = self.body_at().end;
        match u64::from(self.body) < LARGE {
            true => end,
            false => (end + HEADER as u64).next_multiple_of(DATA_ALIGN) - HEADER as u64,
        }
    }

    /// The positions of its data in the data store; none when they lie in the body.
    pub fn stored(&self) -> Option<Range<u64>> {
        match self.data {
            Place::Inline => None,
            Place::Store(position) => Some(position..position.saturating_add(self.content.data)),
        }
    }
}

/// What is to be appended: the body without checks, and data for the data store.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// What it holds.
    pub content: Content,
    /// Who writes it; opaque here.
    pub writer: u64,
    /// The writer's own number for the first record; opaque here.
    pub sequence: u64,
    /// The body: ends, metadata, and the data unless they are `apart`.
    pub body: &'a [u8],
    /// Data for the data store; none: they lie in the body.
    pub apart: Option<&'a [u8]>,
}

impl Batch<'_> {
    /// Checks that the parts are as long as the content says, and that the ends are ends.
    ///
    /// # Errors
    /// `Protocol` when not, `Full` when it is larger than an entry may be.
    pub fn verify(&self) -> Result<()> {
        let wrong = |detail: String| Err(Error::new(Kind::Protocol, "journal.append", detail));
        let Content { records, data, .. } = self.content;
        let inline = self.apart.is_none();
        let parts = self.content.parts(inline);
        if parts.body > BODY_MAX.0 {
            let detail = format!("a batch of {}; accepted are at most {BODY_MAX}", Bytes(parts.body));
            return Err(Error::new(Kind::Full, "journal.append", detail));
        }
        let front = if inline { parts.body } else { parts.rest };
        if self.body.len() as u64 != front || records == 0 {
            let met = self.body.len();
            return wrong(format!("a body of {met} bytes for {records} records, which take {front}"));
        }
        if self.apart.is_some_and(|apart| apart.len() as u64 != data) {
            return wrong(format!("other than {data} bytes of data beside the body"));
        }
        match Ends::of(&self.content, self.body).first_wrong(&self.content) {
            None => Ok(()),
            Some(n) => wrong(format!("record {n} of the batch ends before it begins, or behind the batch")),
        }
    }
}

/// Where the records of a body end.
struct Ends<'a> {
    metadata: &'a [u8],
    data: &'a [u8],
}

impl<'a> Ends<'a> {
    /// Of a body that is as long as `content` says.
    fn of(content: &Content, body: &'a [u8]) -> Ends<'a> {
        let Parts { data_ends, metadata, .. } = content.parts(true);
        let records = content.records as usize;
        Ends {
            metadata: body.get(..records * 4).unwrap_or_default(),
            data: body.get(data_ends as usize..metadata as usize).unwrap_or_default(),
        }
    }

    fn metadata(&self, n: usize) -> Range<u64> {
        let begin = if n == 0 { 0 } else { number::<4>(self.metadata, n * 4 - 4) };
        begin..number::<4>(self.metadata, n * 4)
    }

    fn data(&self, n: usize) -> Range<u64> {
        let begin = if n == 0 { 0 } else { number::<8>(self.data, n * 8 - 8) };
        padded(begin)..number::<8>(self.data, n * 8)
    }

    /// The first record whose ends cannot be; without a branch for each record while all is well.
    fn first_wrong(&self, content: &Content) -> Option<usize> {
        let (mut before, mut right) = (0, true);
        for bytes in self.metadata.chunks_exact(4) {
            let end = number::<4>(bytes, 0);
            right &= before <= end;
            before = end;
        }
        right &= before == u64::from(content.metadata);
        before = 0;
        for bytes in self.data.chunks_exact(8) {
            let end = number::<8>(bytes, 0);
            right &= padded(before) <= end;
            before = end;
        }
        right &= before == content.data;
        if right {
            return None;
        }
        let backwards = |r: Range<u64>| r.start > r.end;
        let records = content.records as usize;
        (0..records).find(|&n| backwards(self.metadata(n)) || backwards(self.data(n))).or(Some(records - 1))
    }
}

/// An entry that was read and is good: its header and its body.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The header.
    pub header: Header,
    body: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Checks `body`, which was read behind `header` from the file `name`.
    ///
    /// # Errors
    /// `Corrupt` when it is not what was written.
    pub fn new(header: Header, body: &'a [u8], name: &str) -> Result<Entry<'a>> {
        let Header { content, place, .. } = header;
        if body.len() as u64 != u64::from(header.body) || check(body) != header.check {
            let numbers = header.numbers();
            let detail = format!("records {} to {}: the check is wrong", numbers.start, numbers.end - 1);
            return Err(damaged(name, place, &detail));
        }
        if let Some(n) = Ends::of(&content, body).first_wrong(&content) {
            let n = header.first + n as u64;
            return Err(damaged(name, place, &format!("record {n} ends before it begins")));
        }
        Ok(Entry { header, body })
    }

    /// An entry that has been checked before.
    pub(super) fn known(header: Header, body: &'a [u8]) -> Entry<'a> {
        Entry { header, body }
    }

    fn part(&self, at: u64, range: Range<u64>) -> &'a [u8] {
        self.body.get((at + range.start) as usize..(at + range.end) as usize).unwrap_or_default()
    }

    fn parts(&self) -> Parts {
        self.header.content.parts(self.header.is_inline())
    }

    /// The metadata of record `n` of the batch, counted from 0.
    pub fn metadata(&self, n: u32) -> &'a [u8] {
        let range = Ends::of(&self.header.content, self.body).metadata(n as usize);
        self.part(self.parts().metadata, range)
    }

    /// Where the metadata of record `n` lie within the batch's metadata.
    pub fn metadata_range(&self, n: u32) -> Range<u64> {
        Ends::of(&self.header.content, self.body).metadata(n as usize)
    }

    /// The metadata of some records, one behind the other.
    pub fn metadata_between(&self, records: Range<u32>) -> &'a [u8] {
        let Some(last) = records.clone().last() else { return &[] };
        let range = self.metadata_range(records.start).start..self.metadata_range(last).end;
        self.part(self.parts().metadata, range)
    }

    /// The data of some records with the padding between, where they lie in the body.
    pub fn data_between(&self, records: Range<u32>) -> Option<&'a [u8]> {
        let Some(last) = records.clone().last() else { return Some(&[]) };
        let range = self.data_range(records.start).start..self.data_range(last).end;
        self.header.is_inline().then(|| self.part(self.parts().rest, range))
    }

    /// Where the data of record `n` lie within the batch's data.
    pub fn data_range(&self, n: u32) -> Range<u64> {
        Ends::of(&self.header.content, self.body).data(n as usize)
    }

    /// The data of record `n`; none when they lie in the data store.
    pub fn data(&self, n: u32) -> Option<&'a [u8]> {
        let inline = self.header.is_inline();
        inline.then(|| self.part(self.parts().rest, self.data_range(n)))
    }

    /// The check of chunk `n` of data in the data store.
    pub fn chunk_check(&self, n: u64) -> u32 {
        number::<4>(self.body, (self.parts().rest + n * 4) as usize) as u32
    }
}
