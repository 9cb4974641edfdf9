//! A journal's files in memory: gone with the process, and never more of them than there is room for.

use super::folder::{DiskFile, File, Folder};
use rustix::fd::OwnedFd;
use rustix::fs::{memfd_create, MemfdFlags};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Bytes, Error, Kind, Result};

/// How much memory files may take together.
#[derive(Debug)]
pub struct Room {
    limit: Bytes,
    taken: AtomicU64,
}

impl Room {
    /// Of so many bytes.
    pub fn new(limit: Bytes) -> Room {
        Room { limit, taken: AtomicU64::new(0) }
    }

    /// How much it is at most.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    fn take(&self, bytes: u64) -> Result<()> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.limit.0);
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|taken| {
            let (taken, limit) = (Bytes(taken), self.limit);
            let detail = format!(
                "{taken} of {limit} for events in memory are taken, {} more are needed; keep less, or raise the limit",
                Bytes(bytes)
            );
            Error::new(Kind::Full, "journal.append", detail)
        })
    }

    fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A file in memory, behind a descriptor that other processes can map.
#[derive(Debug)]
struct MemoryFile {
    file: DiskFile,
    /// What it takes of the room.
    bytes: Mutex<u64>,
    room: Arc<Room>,
}

impl MemoryFile {
    fn taken(&self) -> MutexGuard<'_, u64> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.room.give_back(*self.taken());
    }
}

impl File for MemoryFile {
    fn bytes(&self) -> Result<u64> {
        self.file.bytes()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.file.read(at, into)
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let end = at + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let mut taken = self.taken();
        if end > *taken {
            self.room.take(end - *taken)?;
            *taken = end;
        }
        self.file.write(at, parts)
    }

    fn cut(&self, bytes: u64) -> Result<()> {
        self.file.cut(bytes)?;
        let mut taken = self.taken();
        self.room.give_back(taken.saturating_sub(bytes));
        *taken = bytes.min(*taken);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn begin_sync(&self, _: u64, _: u64) {}

    fn reader(&self) -> Result<OwnedFd> {
        self.file.reader()
    }
}

/// A folder in memory.
#[derive(Debug)]
pub struct Memory {
    files: Mutex<BTreeMap<String, Arc<MemoryFile>>>,
    room: Arc<Room>,
}

impl Memory {
    /// An empty folder, whose files share `room` with those of others.
    pub fn new(room: Arc<Room>) -> Memory {
        Memory { files: Mutex::default(), room }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Arc<MemoryFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(name: &str) -> Error {
    Error::new(Kind::Io, "journal.open", format!("there is no file {name} in memory"))
}

impl Folder for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let fd = memfd_create("thalweg-journal", MemfdFlags::CLOEXEC);
        let fd = fd.map_err(|e| Error::io("journal.open: memory", e))?;
        let file = DiskFile::new(fd, PathBuf::from(name));
        let file = Arc::new(MemoryFile { file, bytes: Mutex::new(0), room: self.room.clone() });
        self.files().insert(name.into(), file.clone());
        Ok(file)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        let file = self.files().get(name).cloned().ok_or_else(|| missing(name))?;
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.files();
        let file = files.remove(from).ok_or_else(|| missing(from))?;
        files.insert(to.into(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.files().remove(name).map(drop).ok_or_else(|| missing(name))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
