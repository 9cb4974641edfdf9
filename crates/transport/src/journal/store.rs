//! The data store: bytes that do not lie in their entry, in files of their own.

use super::entry::{Entry, CHUNK, DATA_ALIGN};
use super::folder::{File, Folder};
use super::head::{Head, Identity, Use, HEAD};
use super::recovery::rewrite;
use super::segment::{make, read_head};
use super::{check, damaged};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// Where the data begin in a data file.
pub const START: u64 = 4096;
/// The disk is told to begin with data after so many bytes.
const EARLY: u64 = 1 << 20;

/// A data file.
#[derive(Debug)]
struct DataFile {
    head: Head,
    /// Whether the head is what lies in the file. What a file with a damaged head holds can be read all the same: its name says
    /// where its data lie, and the entries have their checks.
    known: bool,
    /// Bytes of data.
    bytes: u64,
    file: Arc<dyn File>,
}

/// The data files of a journal.
#[derive(Debug)]
pub struct Store {
    folder: Arc<dyn Folder>,
    files: Vec<DataFile>,
    limit: Bytes,
    /// From which of the files on there is something to be synchronised.
    dirty: Option<usize>,
}

impl Store {
    /// The data files that are there; a new one is begun where one has `limit` bytes.
    pub fn open(folder: Arc<dyn Folder>, limit: Bytes) -> Result<Store> {
        let mut numbers: Vec<u64> = folder.list()?.iter().filter_map(|name| Use::Data.number(name)).collect();
        numbers.sort_unstable();
        // Positions are far below this: such a name is of no file of ours.
        numbers.retain(|number| *number < u64::MAX / 2);
        let mut files = Vec::new();
        for number in numbers {
            let file = folder.open(&Use::Data.name(number))?;
            let (head, known) = match read_head(&*file, Use::Data, &Use::Data.name(number)) {
                Err(e) if matches!(e.kind, Kind::Corrupt | Kind::Protocol) => {
                    let journal = Identity([0; 16]);
                    (Head { of: Use::Data, journal, number, salt: 0, made: Nanos(0) }, false)
                }
                read => (read?, true),
            };
            let bytes = file.bytes()?.saturating_sub(START);
            files.push(DataFile { head, known, bytes, file });
        }
        Ok(Store { folder, files, limit, dirty: None })
    }

    /// A file that is not of the journal `identity`.
    pub fn stranger(&self, identity: &Identity) -> Option<String> {
        let other = |file: &&DataFile| file.known && file.head.journal != *identity;
        let file = self.files.iter().find(other)?;
        Some(format!("{}/{}", self.folder.name(), Use::Data.name(file.head.number)))
    }

    /// Of which journal the files are, where one can tell.
    pub fn identity(&self) -> Option<Identity> {
        self.files.iter().find(|file| file.known).map(|file| file.head.journal)
    }

    /// The names of the files whose heads are damaged.
    pub fn damaged_heads(&self) -> impl Iterator<Item = String> + '_ {
        self.files.iter().filter(|file| !file.known).map(|file| Use::Data.name(file.head.number))
    }

    /// Writes the heads again that are damaged; the names of the files.
    ///
    /// # Errors
    /// `Io`, `Full`.
    pub fn mend_heads(&mut self, journal: Identity, made: Nanos) -> Result<Vec<String>> {
        let mut mended = Vec::new();
        for DataFile { head, known, file, .. } in self.files.iter_mut().filter(|file| !file.known) {
            *head = Head { journal, made, ..*head };
            file.write(0, &[&head.encode()])?;
            *known = true;
            mended.push(Use::Data.name(head.number));
        }
        Ok(mended)
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The position behind all data.
    pub fn end(&self) -> u64 {
        self.files.last().map_or(0, |file| file.head.number + file.bytes)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes + START).sum()
    }

    /// Appends `data`, with their checks into `checks`; `head` says who the file is where a new one is begun.
    pub fn append(
        &mut self,
        data: &[u8],
        early: bool,
        checks: &mut Vec<u32>,
        head: impl FnOnce(u64) -> Head,
    ) -> Result<u64> {
        let position = self.end().next_multiple_of(DATA_ALIGN);
        let full = |file: &DataFile| file.bytes >= self.limit.0;
        if self.files.last().is_none_or(full) {
            let head = head(position);
            let file = make(&*self.folder, &head, &[0; START as usize - HEAD])?;
            self.files.push(DataFile { head, known: true, bytes: 0, file });
        }
        let newest = self.files.len() - 1;
        self.dirty.get_or_insert(newest);
        let Some(DataFile { head, bytes, file, .. }) = self.files.last_mut() else {
            return Err(Error::new(Kind::Io, "journal.append", "no data file"));
        };
        let at = START + position - head.number;
        let mut begun = at;
        // Each chunk is checked and written while it is in the cache.
        for (n, chunk) in data.chunks(4 * CHUNK as usize).enumerate() {
            checks.extend(chunk.chunks(CHUNK as usize).map(check));
            let here = at + n as u64 * 4 * CHUNK;
            file.write(here, &[chunk])?;
            let end = here + chunk.len() as u64;
            if early && end - begun >= EARLY {
                file.begin_sync(begun, end - begun);
                begun = end;
            }
        }
        *bytes = position - head.number + data.len() as u64;
        Ok(position)
    }

    /// Forgets what lies behind `position`, which was not named by any entry.
    pub fn cut(&mut self, position: u64) -> Result<()> {
        let Some(DataFile { head, bytes, file, .. }) = self.files.last_mut() else { return Ok(()) };
        *bytes = position.saturating_sub(head.number);
        file.cut(START + *bytes)
    }

    /// Returns when all data survive a crash of the machine.
    pub fn sync(&mut self) -> Result<()> {
        let Some(from) = self.dirty else { return Ok(()) };
        for file in &self.files[from..] {
            file.file.sync()?;
        }
        self.dirty = None;
        Ok(())
    }

    /// As `sync`, of what was appended before the journal was opened too.
    pub fn sync_all(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.file.sync())
    }

    fn file_of(&self, positions: &Range<u64>) -> Result<&DataFile> {
        let at = self.files.partition_point(|file| file.head.number <= positions.start);
        let file = at.checked_sub(1).and_then(|at| self.files.get(at));
        match file {
            Some(file) if positions.end <= file.head.number + file.bytes => Ok(file),
            _ => {
                let name = format!("data of positions {} to {}", positions.start, positions.end);
                Err(damaged(&name, positions.start, "no data file holds them"))
            }
        }
    }

    /// Writes again what lies at `positions`, all in one file.
    pub fn rewrite(&self, positions: &Range<u64>) -> Result<()> {
        let DataFile { head, file, .. } = self.file_of(positions)?;
        let place = |position: u64| START + position - head.number;
        rewrite(&**file, place(positions.start)..place(positions.end))
    }

    /// Whether the data at `positions` lie within a file.
    pub fn holds(&self, positions: &Range<u64>) -> bool {
        positions.is_empty() || self.file_of(positions).is_ok()
    }

    /// Whether the data of `entry` are what was written.
    pub fn is_good(&self, entry: &Entry<'_>) -> Result<bool> {
        let mut chunk = vec![0; CHUNK as usize];
        let all = entry.header.stored().map_or(0, |_| entry.header.content.data);
        for start in (0..all).step_by(CHUNK as usize) {
            let end = all.min(start + CHUNK);
            match self.read(entry, start..end, &mut chunk[..(end - start) as usize]) {
                Ok(()) => {}
                Err(e) if e.kind == Kind::Corrupt => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Copies `range` of the data of the batch `entry` to `into`, and checks them.
    pub fn read(&self, entry: &Entry<'_>, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        let Some(stored) = entry.header.stored().filter(|_| !range.is_empty()) else { return Ok(()) };
        let DataFile { head, file, .. } = self.file_of(&stored)?;
        super::chunk::read_data(&**file, head.number, entry, range, into)
    }

    /// The file that holds the data at `position`, and its number.
    pub fn holding(&self, position: u64) -> Result<(u64, Arc<dyn File>)> {
        let DataFile { head, file, .. } = self.file_of(&(position..position))?;
        Ok((head.number, file.clone()))
    }

    /// Removes the files whose data all lie before `position`; but not the newest.
    pub fn drop_before(&mut self, position: u64) -> Result<()> {
        while self.files.len() > 1 && self.files[1].head.number <= position {
            self.folder.remove(&Use::Data.name(self.files[0].head.number))?;
            self.files.remove(0);
            self.dirty = self.dirty.map(|n| n.saturating_sub(1));
        }
        Ok(())
    }
}
