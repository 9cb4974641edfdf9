//! The data store: bytes that do not lie in their entry, in files of their own.

use super::entry::{Entry, CHUNK, DATA_ALIGN};
use super::folder::{File, Folder};
use super::head::{Head, Use, HEAD};
use super::recovery::rewrite;
use super::segment::{make, open};
use super::{check, damaged};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Result};

/// Where the data begin in a data file.
pub const START: u64 = 4096;
/// The disk is told to begin with data after so many bytes.
const EARLY: u64 = 1 << 20;

/// A data file.
#[derive(Debug)]
struct DataFile {
    head: Head,
    /// Bytes of data.
    bytes: u64,
    /// None where it cannot be read, and why.
    file: std::result::Result<Arc<dyn File>, Error>,
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
            files.push(match open(&*folder, Use::Data, number) {
                Ok((file, head)) => {
                    let bytes = file.bytes()?.saturating_sub(START);
                    DataFile { head, bytes, file: Ok(file) }
                }
                Err(e) if e.kind == Kind::Corrupt => {
                    let bytes = folder.open(&Use::Data.name(number))?.bytes()?.saturating_sub(START);
                    let head = Head {
                        of: Use::Data,
                        journal: super::Identity([0; 16]),
                        number,
                        salt: 0,
                        made: Default::default(),
                    };
                    DataFile { head, bytes, file: Err(e) }
                }
                Err(e) => return Err(e),
            });
        }
        Ok(Store { folder, files, limit, dirty: None })
    }

    /// A file that is not of the journal `identity`.
    pub fn stranger(&self, identity: &super::Identity) -> Option<String> {
        let ours = |file: &&DataFile| file.file.is_ok() && file.head.journal != *identity;
        let file = self.files.iter().find(ours)?;
        Some(format!("{}/{}", self.folder.name(), Use::Data.name(file.head.number)))
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
        let full = |file: &DataFile| file.file.is_err() || file.bytes >= self.limit.0;
        if self.files.last().is_none_or(full) {
            let head = head(position);
            let file = make(&*self.folder, &head, &[0; START as usize - HEAD])?;
            self.files.push(DataFile { head, bytes: 0, file: Ok(file) });
        }
        let newest = self.files.len() - 1;
        self.dirty.get_or_insert(newest);
        let Some(DataFile { head, bytes, file: Ok(file) }) = self.files.last_mut() else {
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
        let Some(DataFile { head, bytes, file: Ok(file) }) = self.files.last_mut() else { return Ok(()) };
        *bytes = position.saturating_sub(head.number);
        file.cut(START + *bytes)
    }

    /// Returns when all data survive a crash of the machine.
    pub fn sync(&mut self) -> Result<()> {
        let Some(from) = self.dirty else { return Ok(()) };
        for file in self.files[from..].iter().filter_map(|file| file.file.as_ref().ok()) {
            file.sync()?;
        }
        self.dirty = None;
        Ok(())
    }

    /// As `sync`, of what was appended before the journal was opened too.
    pub fn sync_all(&self) -> Result<()> {
        self.files.iter().filter_map(|file| file.file.as_ref().ok()).try_for_each(|file| file.sync())
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
        match file {
            Ok(file) => rewrite(&**file, place(positions.start)..place(positions.end)),
            Err(e) => Err(e.clone()),
        }
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
        let file = self.file_of(&stored)?;
        let name = Use::Data.name(file.head.number);
        let DataFile { head, file: Ok(file), .. } = file else {
            return Err(file.file.as_ref().err().cloned().unwrap_or_else(|| damaged(&name, 0, "unreadable")));
        };
        super::chunk::read_data(&**file, head.number, entry, range, into)
    }

    /// The file that holds the data at `position`, and its number.
    pub fn holding(&self, position: u64) -> Result<(u64, Arc<dyn File>)> {
        let DataFile { head, file, .. } = self.file_of(&(position..position))?;
        file.clone().map(|file| (head.number, file))
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
