//! The journal: appends batches, finds and reads records, lets go of the oldest.

use super::entry::{Batch, Entry, Header, Place, HEADER};
use super::folder::File;
use super::folder::Folder;
use super::head::{Head, Identity, Use, HEAD};
use super::reader::Located;
use super::recovery::{recover, Recovered};
use super::scan::Found;
use super::segment::SegmentFile;
use super::store::Store;
use std::borrow::Cow;
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

/// Where random numbers come from.
pub type Random = Box<dyn FnMut() -> u64 + Send + Sync>;

/// An open journal.
pub struct Journal {
    folder: Arc<dyn Folder>,
    settings: Settings,
    identity: Identity,
    random: Random,
    /// The first records of the segment files before the newest, and their bytes.
    older: Vec<(u64, u64)>,
    newest: SegmentFile,
    store: Store,
    /// Where the data began that the newest segment file names.
    data_at: u64,
    next: u64,
    time: Nanos,
    dirty: bool,
    /// Why nothing can be appended any more.
    failed: Option<Error>,
}

impl Journal {
    /// Opens the journal in `folder`, or begins one; data that lie apart are in `data`, which may be the same.
    ///
    /// # Errors
    /// `Io`, `Full`; `Corrupt` when a file is not of a journal, `Protocol` when it is of a later release.
    pub fn open(
        folder: Arc<dyn Folder>,
        data: Arc<dyn Folder>,
        settings: Settings,
        mut random: Random,
        now: Nanos,
    ) -> Result<(Journal, Recovered)> {
        let mut names = folder.list()?;
        // Files whose making was interrupted; the two folders may be one.
        for folder in [&folder, &data] {
            for name in folder.list()?.iter().filter(|name| name.ends_with(".new")) {
                folder.remove(name)?;
            }
        }
        names.retain(|name| Use::Log.number(name).is_some());
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| Use::Log.number(name)).collect();
        numbers.sort_unstable();
        let mut found = Recovered::default();
        let store = Store::open(data, settings.data)?;
        let mut older = Vec::new();
        let newest = numbers.pop();
        for number in numbers {
            older.push((number, folder.open(&Use::Log.name(number))?.bytes()?));
        }
        let (newest, next, time) = match newest {
            Some(number) => {
                let mut newest = SegmentFile::reopen(&*folder, number, settings.durable)?;
                let end = recover(&mut newest, &store, &mut found)?;
                (newest, end.next, end.time)
            }
            None => {
                let mut identity = [0; 16];
                identity[..8].copy_from_slice(&random().to_le_bytes());
                identity[8..].copy_from_slice(&random().to_le_bytes());
                let (journal, salt) = (Identity(identity), random());
                let head = Head { of: Use::Log, journal, number: 0, salt, made: now };
                (SegmentFile::make(&*folder, head, settings.durable)?, 0, now)
            }
        };
        let identity = newest.head.journal;
        let mut journal = Journal {
            folder,
            settings,
            identity,
            random,
            older,
            newest,
            data_at: store.end(),
            store,
            next,
            time,
            dirty: false,
            failed: None,
        };
        if let Some(name) = journal.store.stranger(&journal.identity) {
            let detail =
                format!("{name} is of another journal; give each server a folder of its own for data");
            return Err(Error::new(Kind::Access, "journal.open", detail));
        }
        if settings.durable {
            journal.sync_all()?;
        }
        Ok((journal, found))
    }

    /// Whoever appended it may not have waited until it was safe.
    fn sync_all(&mut self) -> Result<()> {
        for (number, _) in &self.older {
            self.folder.open(&Use::Log.name(*number))?.sync()?;
        }
        self.store.sync_all()?;
        self.newest.sync(self.next)
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
        let mut parts: Vec<&[u8]> = Vec::with_capacity(batches.len() * 3);
        for ((head, batch), checks) in heads.iter().zip(batches).zip(&all_checks) {
            parts.extend([head.as_slice(), batch.body, checks.as_slice()]);
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

    /// Opens the segment file that holds record `number`, or the first there is behind it.
    fn segment_of(&self, number: u64) -> Result<Option<SegmentFile>> {
        if number >= self.newest.head.number {
            return Ok(None);
        }
        let at = self.older.partition_point(|(first, _)| *first <= number).max(1);
        self.older.get(at - 1).map(|(first, _)| SegmentFile::open(&*self.folder, *first)).transpose()
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
            let older = self.segment_of(wanted)?;
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

    /// Where to begin to read record `number`, or the first there is behind it.
    ///
    /// # Errors
    /// `NotFound` when it has been let go of or is still to come; `Io`, `Corrupt`.
    pub fn locate(&self, number: u64) -> Result<Located> {
        let numbers = self.numbers();
        if !numbers.contains(&number) {
            let detail = format!("record {number}; there are {} to {}", numbers.start, numbers.end);
            return Err(Error::new(Kind::NotFound, "journal.read", detail));
        }
        let older = self.segment_of(number)?;
        let segment = older.as_ref().unwrap_or(&self.newest);
        let (place, next) = segment.near(number);
        let (file, segment) = (segment.file.clone(), segment.head.number);
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

    /// Calls `each` with the headers of the entries from the one on that holds record `from`; those that cannot be read are
    /// left out.
    ///
    /// # Errors
    /// `Io`; `Corrupt` when a file's head cannot be read.
    pub fn headers(&self, from: u64, mut each: impl FnMut(&Header)) -> Result<()> {
        let files = self.older.iter().map(|(first, _)| *first).chain([self.newest.head.number]);
        let files: Vec<u64> = files.collect();
        let at = files.partition_point(|first| *first <= from).saturating_sub(1);
        for number in files.get(at..).unwrap_or_default() {
            let older =
                (*number != self.newest.head.number).then(|| SegmentFile::open(&*self.folder, *number));
            let older = older.transpose()?;
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
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub fn first_since(&self, time: Nanos) -> Result<u64> {
        let older = self.older.iter().map(|(first, _)| *first).collect::<Vec<_>>();
        for (n, first) in older.iter().enumerate() {
            // The next file was begun after the last entry of this one.
            let next = older.get(n + 1).copied();
            let begun = match next {
                Some(next) => super::segment::open(&*self.folder, Use::Log, next)?.1.made,
                None => self.newest.head.made,
            };
            if begun >= time {
                if let Some(number) = SegmentFile::open(&*self.folder, *first)?.first_since(time)? {
                    return Ok(number);
                }
            }
        }
        Ok(self.newest.first_since(time)?.unwrap_or(self.next))
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
            self.folder.remove(&Use::Log.name(first))?;
            let _ = self.folder.remove(&Use::Index.name(first));
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
