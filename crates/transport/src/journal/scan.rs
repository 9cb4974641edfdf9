//! Reading a segment file entry by entry, over damage where there is some.

use super::damaged;
use super::entry::{Entry, Header, HEADER};
use super::folder::File;
use super::head::Head;
use thalweg_foundation::{Error, Result};

/// How much is read at a time.
const WINDOW: u64 = 256 << 10;

/// A part of a segment file in memory, which moves forward.
pub struct Scan<'f> {
    file: &'f dyn File,
    head: Head,
    name: String,
    /// Where what may be read ends.
    end: u64,
    window: Vec<u8>,
    from: u64,
}

/// A part of a segment file that holds no good entry, and the numbers that its records had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: String,
    /// From where on.
    pub place: u64,
    /// Where the next good entry lies.
    pub until: u64,
    /// The first number that is missing.
    pub first: u64,
    /// The number of the next good record.
    pub next: u64,
}

impl Damage {
    /// As an error for who wants one of these records.
    pub fn error(&self) -> Error {
        let Damage { file, place, first, next, until } = self;
        let what = match first + 1 == *next {
            true => format!("record {first}"),
            false => format!("records {first} to {}", next - 1),
        };
        damaged(file, *place, &format!("{what} cannot be read; what follows is at {until}"))
    }
}

/// What lies at a place.
pub enum Found<'s> {
    /// A good entry.
    Entry(Entry<'s>),
    /// Nothing good before the next good entry.
    Damage(Damage),
    /// Nothing good behind.
    End,
}

impl<'f> Scan<'f> {
    /// Of `file` up to `end`.
    pub fn new(file: &'f dyn File, head: Head, end: u64) -> Scan<'f> {
        let name = head.of.name(head.number);
        Scan { file, head, name, end, window: Vec::new(), from: 0 }
    }

    fn bytes(&mut self, at: u64, len: u64) -> Result<Option<&[u8]>> {
        if at.saturating_add(len) > self.end {
            return Ok(None);
        }
        let held = self.from..self.from + self.window.len() as u64;
        if at < held.start || at + len > held.end {
            // What is there already is not read again.
            let kept = if held.contains(&at) { (held.end - at) as usize } else { 0 };
            let drop = self.window.len() - kept;
            self.window.copy_within(drop.., 0);
            self.window.resize((len.max(WINDOW).min(self.end - at) as usize).max(kept), 0);
            self.from = at;
            if let Err(e) = self.file.read(at + kept as u64, &mut self.window[kept..]) {
                self.window.clear();
                return Err(e);
            }
        }
        let start = (at - self.from) as usize;
        Ok(self.window.get(start..start + len as usize))
    }

    /// The header at `place`, if there is a good one.
    ///
    /// # Errors
    /// `Io`.
    pub fn header(&mut self, place: u64) -> Result<Option<Header>> {
        let salt = self.head.salt;
        let Some(bytes) = self.bytes(place, HEADER as u64)? else { return Ok(None) };
        let header = <&[u8; HEADER]>::try_from(bytes).ok();
        Ok(header.and_then(|bytes| Header::decode(bytes, place, salt)))
    }

    fn body(&mut self, header: &Header) -> Result<Option<&[u8]>> {
        self.bytes(header.place + HEADER as u64, u64::from(header.body))
    }

    /// The header of the entry at `place`, where all of it is good.
    fn checked(&mut self, place: u64) -> Result<std::result::Result<Header, Error>> {
        let Some(header) = self.header(place)? else {
            return Ok(Err(damaged(&self.name, place, "there is no entry")));
        };
        let name = self.name.clone();
        Ok(match self.body(&header)? {
            Some(body) => Entry::new(header, body, &name).map(|entry| entry.header),
            None => Err(damaged(&name, place, "the file ends in the middle of an entry")),
        })
    }

    fn known(&mut self, header: Header) -> Result<Entry<'_>> {
        Ok(Entry::known(header, self.body(&header)?.unwrap_or_default()))
    }

    /// What lies at `place`, where record `next` should be.
    ///
    /// # Errors
    /// `Io`.
    pub fn find(&mut self, place: u64, next: u64) -> Result<Found<'_>> {
        let mut at = place;
        while at < self.end {
            match self.checked(at)? {
                Ok(header) if at == place && header.first == next => {
                    return self.known(header).map(Found::Entry);
                }
                Ok(Header { first, .. }) if first >= next => {
                    let file = self.name.clone();
                    return Ok(Found::Damage(Damage { file, place, until: at, first: next, next: first }));
                }
                _ => at += 8,
            }
        }
        Ok(Found::End)
    }
}
