//! Reading on in a segment file that another process may be appending to.

use super::chunk::{Chunk, Stop};
use super::entry::HEADER;
use super::folder::File;
use super::head::{Head, Use};
use super::scan::{Damage, Found, Scan};
use super::segment::read_head;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// Where records are: a segment file, a place in it, and the number of the record that begins there.
#[derive(Clone, Debug)]
pub struct Located {
    /// The file.
    pub file: Arc<dyn File>,
    /// Its number.
    pub segment: u64,
    /// The place.
    pub place: u64,
    /// The record there.
    pub next: u64,
    /// The first record of the file behind it; none: it is the newest.
    pub end: Option<u64>,
}

/// Bytes of a line of the processor's caches.
const LINE: usize = 64;

/// A place in a segment file, from which it is read on.
#[derive(Debug)]
pub struct Reader {
    file: Arc<dyn File>,
    head: Head,
    place: u64,
    next: u64,
    /// How long the entry at `place` is, where that is known.
    ahead: u64,
}

/// What was read.
#[derive(Debug)]
pub enum Step {
    /// Entries.
    Entries(Chunk),
    /// Nothing: the file ends here, and another one goes on.
    End,
    /// What cannot be read; the next step goes on behind it.
    Damage(Damage),
}

impl Reader {
    /// Begins to read.
    ///
    /// # Errors
    /// `Io`, `Corrupt` when the head of the file is damaged.
    pub fn new(located: Located) -> Result<Reader> {
        let Located { file, segment, place, next, .. } = located;
        let head = read_head(&*file, Use::Log, &Use::Log.name(segment))?;
        Ok(Reader { file, head, place, next, ahead: 0 })
    }

    /// The head of the file.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next record.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Reads entries that hold record `wanted` or those behind it, before `until`, which all were appended: about `most` bytes,
    /// but one entry at least; in `bytes`, which is memory to be used again.
    ///
    /// # Errors
    /// `Io`.
    pub fn step(&mut self, wanted: u64, until: u64, most: u64, mut bytes: Vec<u8>) -> Result<Step> {
        // Of a large entry the bytes and the header behind it: what is read of the one after it would be read twice.
        let alone = self.ahead + HEADER as u64;
        let mut window = if alone > most / 2 { alone } else { most };
        loop {
            let there = self.file.bytes()?.saturating_sub(self.place);
            let some = window.min(there) as usize;
            bytes.resize(some + LINE, 0);
            // The kernel copies fastest to the beginning of a cache line.
            let from = bytes.as_ptr().align_offset(LINE).min(LINE);
            bytes.truncate(from + some);
            self.file.read(self.place, &mut bytes[from..])?;
            let (chunk, stop, end) =
                Chunk::of((bytes, from), &self.head, (self.place, self.next), wanted, until);
            let passed = self.place < end.0;
            (self.place, self.next) = end;
            self.ahead = if let Stop::Short(needed) = stop { needed } else { 0 };
            if !chunk.is_empty() {
                return Ok(Step::Entries(chunk));
            }
            bytes = chunk.into_bytes();
            match stop {
                Stop::Until => return Ok(Step::End),
                // In front of what is wanted.
                _ if passed => window = most,
                Stop::Short(needed) if needed <= there => window = needed.max(most),
                Stop::Short(_) | Stop::Bad => return self.over_damage(until),
            }
        }
    }

    fn over_damage(&mut self, until: u64) -> Result<Step> {
        let file = self.file.clone();
        let mut scan = Scan::new(&*file, self.head, file.bytes()?);
        match scan.find(self.place, self.next)? {
            Found::Entry(entry) if entry.header.numbers().end > until => Ok(Step::End),
            // It has become good meanwhile.
            Found::Entry(_) => Ok(Step::Entries(Chunk::default())),
            Found::Damage(damage) => {
                (self.place, self.next) = (damage.until, damage.next);
                Ok(Step::Damage(damage))
            }
            Found::End => Ok(Step::End),
        }
    }
}

/// What was read of a journal.
#[derive(Debug)]
pub enum Read {
    /// Entries.
    Entries(Chunk),
    /// Records before `next` cannot be read.
    Damaged {
        /// The next that may.
        next: u64,
        /// Why.
        why: Error,
    },
}

/// Reads on in a journal from file to file.
#[derive(Debug, Default)]
pub struct Follower {
    /// The segment file that is being read, and the first record of the file behind it.
    segment: Option<(Reader, Option<u64>)>,
}

impl Follower {
    /// The head of the file that was read last.
    pub fn head(&self) -> Option<&Head> {
        self.segment.as_ref().map(|(reader, _)| reader.head())
    }

    /// Reads entries as `Reader::step` does; `locate` finds the file of a record.
    ///
    /// # Errors
    /// `Io`, or what `locate` says.
    pub fn read(
        &mut self,
        locate: &mut dyn FnMut(u64) -> Result<Located>,
        wanted: u64,
        until: u64,
        most: u64,
        mut bytes: Vec<u8>,
    ) -> Result<Read> {
        let mut fresh = false;
        loop {
            let (mut reader, end) = match self.segment.take() {
                // In the file that is being read, unless it is known to end before.
                Some((reader, end)) if reader.next() <= wanted && end.is_none_or(|end| wanted < end) => {
                    (reader, end)
                }
                _ => {
                    fresh = true;
                    let located = locate(wanted)?;
                    let end = located.end;
                    match Reader::new(located) {
                        Ok(reader) => (reader, end),
                        // Nothing of this file can be read: the next one goes on.
                        Err(why) if why.kind == Kind::Corrupt => {
                            let next = end.unwrap_or(until).min(until).max(wanted + 1);
                            return Ok(Read::Damaged { next, why });
                        }
                        Err(e) => return Err(e),
                    }
                }
            };
            let step = reader.step(wanted, until, most, std::mem::take(&mut bytes))?;
            if !matches!(step, Step::End) {
                self.segment = Some((reader, end));
            }
            match step {
                Step::Entries(chunk) if chunk.is_empty() => {}
                Step::Entries(chunk) => return Ok(Read::Entries(chunk)),
                Step::Damage(damage) if damage.next <= wanted => {}
                Step::Damage(damage) => {
                    return Ok(Read::Damaged { next: damage.next, why: damage.error() });
                }
                // Another file goes on.
                Step::End if !fresh => {}
                Step::End => {
                    let next = end.unwrap_or(until).min(until).max(wanted + 1);
                    let detail = format!("records {wanted} to {} cannot be read", next - 1);
                    return Ok(Read::Damaged {
                        next,
                        why: Error::new(Kind::Corrupt, "journal.read", detail),
                    });
                }
            }
        }
    }
}
