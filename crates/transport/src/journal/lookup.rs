//! Finding and reading the records of an open journal.

use super::entry::{Entry, Header};
use super::folder::File;
use super::head::{Use, HEAD};
use super::reader::Located;
use super::scan::Found;
use super::segment::SegmentFile;
use super::writer::Journal;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Nanos, Result};

impl Journal {
    /// Opens the segment file that holds record `number`, or the first there is behind it.
    fn segment_of(&self, number: u64) -> Result<Option<SegmentFile>> {
        if number >= self.newest.head.number {
            return Ok(None);
        }
        self.older_of(number).map(|first| SegmentFile::open(&*self.folder, first)).transpose()
    }

    /// The older segment file that holds record `number`, or the first there is behind it.
    fn older_of(&self, number: u64) -> Option<u64> {
        let at = self.older.partition_point(|(first, _)| *first <= number).max(1);
        self.older.get(at - 1).map(|(first, _)| *first)
    }

    /// Calls `each` with the entries from the one on that holds record `from`, until it says false or they end; the number of the
    /// record to go on with.
    ///
    /// # Errors
    /// What `each` says; `NotFound` when `from` has been let go of; `Io`; `Corrupt` when record `from` cannot be read.
    pub fn read(&self, from: u64, mut each: impl FnMut(&Entry<'_>) -> Result<bool>) -> Result<u64> {
        let numbers = self.numbers();
        if from < numbers.start {
            let detail = format!("record {from} has been let go of; the first is {}", numbers.start);
            return Err(Error::new(Kind::NotFound, "journal.read", detail));
        }
        let mut wanted = from;
        while wanted < numbers.end {
            let older = match self.segment_of(wanted) {
                // What is good in front of it was given; who goes on meets it.
                Err(e) if e.kind == Kind::Corrupt && wanted > from => return Ok(wanted),
                older => older?,
            };
            let segment = older.as_ref().unwrap_or(&self.newest);
            let (mut place, mut next) = segment.near(wanted);
            let mut scan = segment.scan();
            loop {
                // Of entries in front of the one that is wanted the header is enough.
                let skipped = scan.header(place)?.filter(|header| header.numbers().end <= wanted);
                if let Some(header) = skipped {
                    (place, next) = (header.end(), header.numbers().end);
                    continue;
                }
                match scan.find(place, next)? {
                    Found::Entry(entry) => {
                        (place, next) = (entry.header.end(), entry.header.numbers().end);
                        wanted = next;
                        if !each(&entry)? {
                            return Ok(wanted);
                        }
                    }
                    Found::Damage(damage) if damage.next <= wanted => {
                        (place, next) = (damage.until, damage.next)
                    }
                    Found::Damage(damage) if wanted == from => return Err(damage.error()),
                    // What is good in front of it was given; who goes on meets it.
                    Found::Damage(damage) => return Ok(damage.first),
                    Found::End => break,
                }
            }
            drop(scan);
            let end = self.older.iter().map(|(first, _)| *first).find(|first| *first > segment.head.number);
            let end = end.unwrap_or(if older.is_some() { self.newest.head.number } else { numbers.end });
            if wanted < end {
                if wanted == from {
                    let name = segment.head.of.name(segment.head.number);
                    let detail = format!("records {wanted} to {} cannot be read", end - 1);
                    return Err(super::damaged(&name, place, &detail));
                }
                return Ok(wanted);
            }
        }
        Ok(wanted)
    }

    /// Calls `each` with the headers of the entries from the one on that holds record `from`; those that cannot be read are
    /// left out.
    ///
    /// # Errors
    /// `Io`.
    pub fn headers(&self, from: u64, mut each: impl FnMut(&Header)) -> Result<()> {
        let files = self.older.iter().map(|(first, _)| *first).chain([self.newest.head.number]);
        let files: Vec<u64> = files.collect();
        let at = files.partition_point(|first| *first <= from).saturating_sub(1);
        for number in files.get(at..).unwrap_or_default() {
            let older =
                (*number != self.newest.head.number).then(|| SegmentFile::open(&*self.folder, *number));
            let older = match older.transpose() {
                Err(e) if e.kind == Kind::Corrupt => continue,
                older => older?,
            };
            let segment = older.as_ref().unwrap_or(&self.newest);
            let (mut place, mut next) = segment.near(from);
            let mut scan = segment.scan();
            loop {
                if let Some(header) = scan.header(place)? {
                    (place, next) = (header.end(), header.numbers().end);
                    each(&header);
                    continue;
                }
                match scan.find(place, next)? {
                    Found::Entry(entry) => (place, next) = (entry.header.place, entry.header.first),
                    Found::Damage(damage) => (place, next) = (damage.until, damage.next),
                    Found::End => break,
                }
            }
        }
        Ok(())
    }

    /// Where to begin to read record `number`, or the first there is behind it. A file whose head is damaged is located too: who
    /// reads it gets the error, and knows which record comes behind it.
    ///
    /// # Errors
    /// `NotFound` when it has been let go of or is still to come; `Io`.
    pub fn locate(&self, number: u64) -> Result<Located> {
        let numbers = self.numbers();
        if !numbers.contains(&number) {
            let detail = format!("record {number}; there are {} to {}", numbers.start, numbers.end);
            return Err(Error::new(Kind::NotFound, "journal.read", detail));
        }
        let (file, segment, (place, next)) = match self.segment_of(number) {
            Ok(Some(older)) => (older.file.clone(), older.head.number, older.near(number)),
            Ok(None) => {
                self.newest.keep_head()?;
                (self.newest.file.clone(), self.newest.head.number, self.newest.near(number))
            }
            Err(e) if e.kind == Kind::Corrupt => {
                let first = self.older_of(number).unwrap_or(number);
                (self.folder.open(&Use::Log.name(first))?, first, (HEAD as u64, first))
            }
            Err(e) => return Err(e),
        };
        let behind = self.older.iter().map(|(first, _)| *first).chain([self.newest.head.number]);
        let end = behind.into_iter().find(|first| *first > segment);
        Ok(Located { file, segment, place, next, end })
    }

    /// The data file that holds the data at `position` of the data store, and its number.
    ///
    /// # Errors
    /// `Corrupt` when there is none.
    pub fn data_file(&self, position: u64) -> Result<(u64, Arc<dyn File>)> {
        self.store.holding(position)
    }

    /// The data of record `n` of the batch `entry`, where they lie in it, else copied from the data store and checked.
    ///
    /// # Errors
    /// As `read_data`.
    pub fn data_of<'e>(&self, entry: &Entry<'e>, n: u32) -> Result<Cow<'e, [u8]>> {
        if let Some(data) = entry.data(n) {
            return Ok(Cow::Borrowed(data));
        }
        let range = entry.data_range(n);
        let mut data = vec![0; (range.end - range.start) as usize];
        self.read_data(entry, range, &mut data)?;
        Ok(Cow::Owned(data))
    }

    /// Copies `range` of the data of the batch `entry` from the data store to `into`, and checks them.
    ///
    /// # Errors
    /// `Io`; `Corrupt` when they are not what was written.
    pub fn read_data(&self, entry: &Entry<'_>, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        self.store.read(entry, range, into)
    }

    /// The number of the first record that was appended at `time` or later; that of the next one to come where there is none.
    /// Records that cannot be read may be of that time: then it is the first of them.
    ///
    /// # Errors
    /// `Io`.
    pub fn first_since(&self, time: Nanos) -> Result<u64> {
        let older = self.older.iter().map(|(first, _)| *first).collect::<Vec<_>>();
        for (n, first) in older.iter().enumerate() {
            // The next file was begun after the last entry of this one.
            let begun = match older.get(n + 1) {
                Some(next) => match super::segment::open(&*self.folder, Use::Log, *next) {
                    Err(e) if e.kind == Kind::Corrupt => Nanos(u64::MAX),
                    opened => opened?.1.made,
                },
                None => self.newest.head.made,
            };
            if begun >= time {
                match SegmentFile::open(&*self.folder, *first) {
                    Err(e) if e.kind == Kind::Corrupt => return Ok(*first),
                    opened => {
                        if let Some(number) = opened?.first_since(time)? {
                            return Ok(number);
                        }
                    }
                }
            }
        }
        Ok(self.newest.first_since(time)?.unwrap_or(self.next))
    }
}
