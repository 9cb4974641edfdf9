//! Whole entries in memory, as they lie in their segment file, and the data that they name.

use super::damaged;
use super::entry::{Entry, Header, Place, CHUNK, HEADER};
use super::folder::File;
use super::head::{Head, Use};
use super::store::START;
use std::ops::Range;
use thalweg_foundation::{Error, Kind, Result};

/// Good entries, one behind the other.
#[derive(Debug, Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    /// What lies at `place` of the file begins here.
    from: usize,
    place: u64,
    entries: Vec<Header>,
}

/// Where the entries of a chunk end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// All that is wanted is there.
    Until,
    /// The next one takes so many bytes.
    Short(u64),
    /// What follows is no good entry.
    Bad,
}

impl Chunk {
    /// Takes the entries out of `bytes`, which lie from `from` on as they do at `place` of the file with `head`, where record
    /// `next` begins: those that hold record `wanted` or one behind it, and end before `until`. With them where the next entry
    /// lies, and its record.
    pub(super) fn of(
        (bytes, from): (Vec<u8>, usize),
        head: &Head,
        (place, next): (u64, u64),
        wanted: u64,
        until: u64,
    ) -> (Chunk, Stop, (u64, u64)) {
        let name = head.of.name(head.number);
        let mut chunk = Chunk { bytes, from, place, entries: Vec::new() };
        let (mut at, mut next) = (place, next);
        let stop = loop {
            if next >= until {
                break Stop::Until;
            }
            let behind = at + HEADER as u64;
            let bytes = chunk.lying(at..behind).and_then(|b| <&[u8; HEADER]>::try_from(b).ok());
            let Some(bytes) = bytes else { break Stop::Short(HEADER as u64) };
            let Some(header) = Header::decode(bytes, at, head.salt).filter(|h| h.first == next) else {
                break Stop::Bad;
            };
            if header.numbers().end > until {
                break Stop::Until;
            }
            if header.numbers().end > wanted {
                let whole = chunk.lying(at..header.end()).and_then(|_| chunk.lying(header.body_at()));
                let Some(body) = whole else { break Stop::Short(header.end() - at) };
                if Entry::new(header, body, &name).is_err() {
                    break Stop::Bad;
                }
                chunk.entries.push(header);
            }
            (at, next) = (header.end(), header.numbers().end);
        };
        (chunk, stop, (at, next))
    }

    /// Takes the entries out of bytes that another process read and sent; all must be good.
    ///
    /// # Errors
    /// `Corrupt` when they are not.
    pub fn received(bytes: Vec<u8>, head: &Head, place: u64, next: u64) -> Result<Chunk> {
        let all = place.saturating_add(bytes.len() as u64);
        let (chunk, stop, (end, _)) = Chunk::of((bytes, 0), head, (place, next), next, u64::MAX);
        match stop {
            Stop::Short(_) if end == all => Ok(chunk),
            _ => Err(damaged(&head.of.name(head.number), place, "what was received is not whole entries")),
        }
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where the entries lie in their file.
    pub fn places(&self) -> Range<u64> {
        let first = self.entries.first().map_or(self.place, |header| header.place);
        first..self.entries.last().map_or(self.place, Header::end)
    }

    /// The entries as they lie in their file.
    pub fn bytes(&self) -> &[u8] {
        self.lying(self.places()).unwrap_or_default()
    }

    /// What lies at these places of the file.
    fn lying(&self, places: Range<u64>) -> Option<&[u8]> {
        let at = |place: u64| self.from + (place - self.place) as usize;
        self.bytes.get(at(places.start)..at(places.end))
    }

    /// Entry `n`, counted from 0.
    pub fn entry(&self, n: usize) -> Option<Entry<'_>> {
        let header = *self.entries.get(n)?;
        self.lying(header.body_at()).map(|body| Entry::known(header, body))
    }

    /// The memory, to be used again.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// So many bytes of data are read at a time: a large read is faster, and a small one is still in the caches when it is checked.
const PIECE: u64 = 4 * CHUNK;

/// Copies `range` of the data of the batch `entry` from the data file `number` to `into`, and checks them.
///
/// # Errors
/// `Io`; `Corrupt` when they are not what was written.
pub fn read_data(
    file: &dyn File,
    number: u64,
    entry: &Entry<'_>,
    range: Range<u64>,
    into: &mut [u8],
) -> Result<()> {
    let Place::Store(position) = entry.header.data else { return Ok(()) };
    let name = Use::Data.name(number);
    let all = entry.header.content.data;
    let start = START + position - number;
    let mut scratch = Vec::new();
    for piece in range.start / PIECE..range.end.div_ceil(PIECE) {
        let wanted = range.start.max(piece * PIECE)..range.end.min((piece + 1) * PIECE);
        // Whole chunks have checks.
        let held = wanted.start / CHUNK * CHUNK..wanted.end.next_multiple_of(CHUNK).min(all);
        let place = (wanted.start - range.start) as usize..(wanted.end - range.start) as usize;
        let Some(target) = into.get_mut(place) else {
            return Err(Error::new(Kind::Invalid, "journal.read", "a buffer that is too short"));
        };
        let whole = wanted == held;
        if !whole {
            scratch.resize((held.end - held.start) as usize, 0);
        }
        let bytes: &mut [u8] = if whole { &mut *target } else { &mut scratch };
        file.read(start + held.start, bytes)?;
        for (chunk, bytes) in (held.start / CHUNK..).zip(bytes.chunks(CHUNK as usize)) {
            if super::check(bytes) != entry.chunk_check(chunk) {
                let numbers = entry.header.numbers();
                let detail =
                    format!("data of records {} to {}: the check is wrong", numbers.start, numbers.end - 1);
                return Err(damaged(&name, start + chunk * CHUNK, &detail));
            }
        }
        if !whole {
            let from = (wanted.start - held.start) as usize..(wanted.end - held.start) as usize;
            target.copy_from_slice(&scratch[from]);
        }
    }
    Ok(())
}
