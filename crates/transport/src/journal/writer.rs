//! The journal: appends batches, and lets go of the oldest.

use super::entry::{Batch, Header, Place, DATA_ALIGN, HEADER};
use super::folder::Folder;
use super::head::{Head, Identity, Use, HEAD};
use super::segment::SegmentFile;
use super::store::Store;
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// How a journal is to be.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// A new segment file is begun where one has so many bytes.
    pub segment: Bytes,
    /// A new data file is begun where one has so many bytes.
    pub data: Bytes,
    /// Whether it can be synchronised; then the disk begins with what was appended at once, and what is there when it is opened
    /// survives a crash of the machine.
    pub durable: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { segment: Bytes(256 << 20), data: Bytes(1 << 30), durable: false }
    }
}

/// What lies between a large entry and the next.
const PADDING: [u8; DATA_ALIGN as usize] = [0; DATA_ALIGN as usize];

/// Where random numbers come from.
pub type Random = Box<dyn FnMut() -> u64 + Send + Sync>;

/// An open journal.
pub struct Journal {
    pub(super) folder: Arc<dyn Folder>,
    pub(super) settings: Settings,
    pub(super) identity: Identity,
    pub(super) random: Random,
    /// The first records of the segment files before the newest, and their bytes.
    pub(super) older: Vec<(u64, u64)>,
    pub(super) newest: SegmentFile,
    pub(super) store: Store,
    /// Where the data began that the newest segment file names.
    pub(super) data_at: u64,
    pub(super) next: u64,
    pub(super) time: Nanos,
    pub(super) dirty: bool,
    /// Why nothing can be appended any more.
    pub(super) failed: Option<Error>,
}

impl Journal {
    /// What tells it from another one in its place.
    pub fn origin(&self) -> u64 {
        self.identity.0.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    /// The numbers of its records.
    pub fn numbers(&self) -> Range<u64> {
        self.older.first().map_or(self.newest.head.number, |(first, _)| *first)..self.next
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.older.iter().map(|(_, bytes)| bytes).sum::<u64>() + self.newest.end + self.store.bytes())
    }

    fn begin_segment(&mut self, now: Nanos) -> Result<()> {
        if self.settings.durable {
            self.sync()?;
        }
        let (number, salt) = (self.next, (self.random)());
        let head = Head { of: Use::Log, journal: self.identity, number, salt, made: now.max(self.time) };
        let fresh = SegmentFile::make(&*self.folder, head, self.settings.durable)?;
        let full = std::mem::replace(&mut self.newest, fresh);
        // Gives back what was set aside for it.
        let _ = full.file.cut(full.end);
        self.older.push((full.head.number, full.end));
        self.data_at = self.store.end();
        Ok(())
    }

    /// Why nothing can be appended before it is opened again; none: it can.
    pub fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Appends the batches, all or none; they survive the process, and after `sync` the machine.
    ///
    /// # Errors
    /// `Protocol` or `Full` for a batch that cannot be; `Full` when the disk is; `Io`, after which nothing more can be
    /// appended where nobody knows what was written.
    pub fn append(&mut self, now: Nanos, batches: &[Batch<'_>]) -> Result<Vec<Header>> {
        if let Some(e) = &self.failed {
            return Err(e.clone());
        }
        batches.iter().try_for_each(Batch::verify)?;
        // Data are let go of with the entries that name them: files of both go on together.
        let data = self.store.end() - self.data_at;
        let begun = self.newest.end > HEAD as u64;
        if begun && (self.newest.end >= self.settings.segment.0 || data >= self.settings.data.0) {
            self.begin_segment(now)?;
        }
        let (data_end, end) = (self.store.end(), self.newest.end);
        self.write(now, batches).inspect_err(|_| {
            let cut = self.newest.cut(end).and_then(|()| self.store.cut(data_end));
            if let Err(e) = cut {
                self.failed = Some(Error { kind: Kind::Io, ..e });
            }
        })
    }

    fn write(&mut self, now: Nanos, batches: &[Batch<'_>]) -> Result<Vec<Header>> {
        let Journal { settings, identity, random, newest, store, .. } = self;
        let (mut headers, mut all_checks) = (Vec::with_capacity(batches.len()), Vec::new());
        let (mut place, mut first, time) = (newest.end, self.next, self.time.max(now));
        for batch in batches {
            let mut checks = Vec::new();
            let data = match batch.apart {
                None => Place::Inline,
                Some([]) => Place::Store(0),
                Some(data) => Place::Store(store.append(data, settings.durable, &mut checks, |number| {
                    Head { of: Use::Data, journal: *identity, number, salt: random(), made: now }
                })?),
            };
            let mut bytes: Vec<u8> = checks.iter().flat_map(|check| check.to_le_bytes()).collect();
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let Batch { content, writer, sequence, body, .. } = *batch;
            let check = super::check_parts(&[body, &bytes]);
            let length = (body.len() + bytes.len()) as u32;
            let header = Header { place, body: length, check, first, content, time, writer, sequence, data };
            (place, first) = (header.end(), header.numbers().end);
            headers.push(header);
            all_checks.push(bytes);
        }
        let salt = newest.head.salt;
        let heads: Vec<[u8; HEADER]> = headers.iter().map(|header| header.encode(salt)).collect();
        let mut parts: Vec<&[u8]> = Vec::with_capacity(batches.len() * 4);
        for (((head, batch), checks), header) in heads.iter().zip(batches).zip(&all_checks).zip(&headers) {
            let padding = (header.end() - header.body_at().end) as usize;
            parts.extend([head.as_slice(), batch.body, checks.as_slice(), &PADDING[..padding]]);
        }
        newest.file.write(newest.end, &parts)?;
        if settings.durable {
            newest.file.begin_sync(newest.end, place - newest.end);
        }
        headers.iter().for_each(|header| newest.note(header));
        newest.end = place;
        (self.next, self.time, self.dirty) = (first, time, true);
        Ok(headers)
    }

    /// Returns when all that was appended survives a crash of the machine.
    ///
    /// # Errors
    /// `Io`; then nobody knows what survives, and nothing more can be appended before the journal is opened again. `Invalid`
    /// where it was not opened as one that can be synchronised.
    pub fn sync(&mut self) -> Result<()> {
        if !self.settings.durable {
            return Err(Error::new(
                Kind::Invalid,
                "journal.sync",
                "the journal was opened without durability",
            ));
        }
        if let Some(e) = &self.failed {
            return Err(e.clone());
        }
        if !self.dirty {
            return Ok(());
        }
        let done = self.store.sync().and_then(|()| self.newest.sync(self.next));
        match &done {
            Ok(()) => self.dirty = false,
            // Whatever it was, a full disk too: nobody knows what survives.
            Err(e) => self.failed = Some(Error { kind: Kind::Io, ..e.clone() }),
        }
        done.map_err(|e| Error { kind: Kind::Io, ..e })
    }

    /// Lets go of the oldest segment files while there are more than `bytes`; the newest stays.
    ///
    /// # Errors
    /// `Io`.
    pub fn keep(&mut self, bytes: Bytes) -> Result<()> {
        while self.bytes() > bytes && !self.older.is_empty() {
            let second = self.older.get(1).map_or(self.newest.head.number, |(first, _)| *first);
            self.drop_before(second)?;
        }
        Ok(())
    }

    /// Lets go of the oldest files, as long as all their records are before `number`.
    ///
    /// # Errors
    /// `Io`.
    pub fn drop_before(&mut self, number: u64) -> Result<()> {
        loop {
            let second = self.older.get(1).map_or(self.newest.head.number, |(first, _)| *first);
            let Some((first, _)) = self.older.first().copied().filter(|_| second <= number) else { break };
            // The index first: one without its segment file says that this is missing.
            let _ = self.folder.remove(&Use::Index.name(first));
            self.folder.remove(&Use::Log.name(first))?;
            self.older.remove(0);
        }
        if self.store.files() < 2 {
            return Ok(());
        }
        let mut position = None;
        let found = self.read(self.numbers().start, |entry| {
            position = entry.header.stored().filter(|positions| !positions.is_empty()).map(|p| p.start);
            Ok(position.is_none())
        });
        match found {
            // Entries that cannot be read may have had data: they stay.
            Err(e) if e.kind == Kind::Corrupt => Ok(()),
            Err(e) => Err(e),
            Ok(next) if position.is_none() && next < self.next => Ok(()),
            Ok(_) => self.store.drop_before(position.unwrap_or(self.store.end())),
        }
    }
}
