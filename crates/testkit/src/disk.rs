//! A toy disk: files in memory that tear what was not synchronised, fill up, and stop at any byte.

use crate::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::journal::{File, Folder};

/// What survives a crash of the machine does so in pieces of this size.
const SECTOR: usize = 512;

#[derive(Clone, Debug, Default)]
struct Inode {
    /// What is read.
    now: Vec<u8>,
    /// What survives a crash for sure.
    safe: Vec<u8>,
    /// The sectors that synchronising would bring to the disk. When that fails they are forgotten, as a kernel does: what is
    /// read stays, and nobody brings it to the disk any more.
    dirty: BTreeSet<usize>,
}

impl Inode {
    fn touch(&mut self, bytes: Range<usize>) {
        self.dirty.extend(bytes.start / SECTOR..bytes.end.div_ceil(SECTOR));
    }

    fn sync(&mut self) {
        self.safe.resize(self.now.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let end = self.now.len().min((sector + 1) * SECTOR);
            if let Some(now) = self.now.get(sector * SECTOR..end) {
                self.safe[sector * SECTOR..end].copy_from_slice(now);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    names: BTreeMap<String, u64>,
    safe_names: BTreeMap<String, u64>,
    inodes: BTreeMap<u64, Inode>,
    made: u64,
    /// How many bytes can still be written before the process is killed.
    life: Option<u64>,
    /// How many bytes fit on the disk.
    room: Option<u64>,
    /// Whether synchronising fails.
    broken: bool,
}

/// A folder on the toy disk; clones are the same folder.
#[derive(Clone, Debug, Default)]
pub struct ToyDisk(Arc<Mutex<State>>);

/// A file on the toy disk.
#[derive(Debug)]
struct ToyFile(ToyDisk, u64);

fn io(detail: &str) -> Error {
    Error::new(Kind::Io, "toy", detail)
}

impl ToyDisk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy that goes its own way.
    pub fn twin(&self) -> ToyDisk {
        ToyDisk(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// The process is killed when so many more bytes have been written; none: it lives.
    pub fn live(&self, bytes: Option<u64>) {
        self.lock().life = bytes;
    }

    /// So many bytes more fit on the disk; none: as many as there are.
    pub fn room(&self, bytes: Option<u64>) {
        let mut state = self.lock();
        let held: usize = state.inodes.values().map(|inode| inode.now.len()).sum();
        state.room = bytes.map(|bytes| held as u64 + bytes);
    }

    /// From now on synchronising fails, or does not.
    pub fn break_sync(&self, broken: bool) {
        self.lock().broken = broken;
    }

    /// The machine loses its power: of what was not synchronised, pieces survive as `chance` has it.
    pub fn lose_power(&self, chance: &mut Chance) {
        let mut state = self.lock();
        if chance.percent(50) {
            state.names = state.safe_names.clone();
        } else {
            state.safe_names = state.names.clone();
        }
        for inode in state.inodes.values_mut() {
            let len = match inode.now.len().cmp(&inode.safe.len()) {
                std::cmp::Ordering::Equal => inode.safe.len(),
                _ => {
                    let (low, high) =
                        (inode.now.len().min(inode.safe.len()), inode.now.len().max(inode.safe.len()));
                    low + chance.below((high - low + 1) as u64) as usize
                }
            };
            let mut after = vec![0; len];
            for (n, sector) in after.chunks_mut(SECTOR).enumerate() {
                let from = if chance.percent(50) { &inode.now } else { &inode.safe };
                for (k, byte) in sector.iter_mut().enumerate() {
                    *byte = from.get(n * SECTOR + k).copied().unwrap_or(0);
                }
            }
            *inode = Inode { now: after.clone(), safe: after, dirty: BTreeSet::new() };
        }
    }

    /// The bytes of a file.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let state = self.lock();
        let inode = state.names.get(name).and_then(|n| state.inodes.get(n));
        inode.map(|inode| inode.now.clone()).unwrap_or_default()
    }

    /// Changes the bytes of a file behind the back of who has it open.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let number = state.names.get(name).copied();
        if let Some(inode) = number.and_then(|n| state.inodes.get_mut(&n)) {
            change(&mut inode.now);
            *inode = Inode { now: inode.now.clone(), safe: inode.now.clone(), dirty: BTreeSet::new() };
        }
    }
}

impl Folder for ToyDisk {
    fn name(&self) -> String {
        "toy".into()
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let mut state = self.lock();
        if state.life == Some(0) {
            return Err(io("killed"));
        }
        state.made += 1;
        let number = state.made;
        state.inodes.insert(number, Inode::default());
        state.names.insert(name.into(), number);
        Ok(Arc::new(ToyFile(self.clone(), number)))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        let number = self.lock().names.get(name).copied();
        let number = number.ok_or_else(|| io("no such file"))?;
        Ok(Arc::new(ToyFile(self.clone(), number)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.lock();
        if state.life == Some(0) {
            return Err(io("killed"));
        }
        let number = state.names.remove(from).ok_or_else(|| io("no such file"))?;
        state.names.insert(to.into(), number);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = self.lock();
        if state.life == Some(0) {
            return Err(io("killed"));
        }
        state.names.remove(name).map(drop).ok_or_else(|| io("no such file"))
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.lock();
        if state.broken || state.life == Some(0) {
            return Err(io("the disk does not answer"));
        }
        state.safe_names = state.names.clone();
        Ok(())
    }
}

impl ToyFile {
    fn with<R>(&self, look: impl FnOnce(&mut State, u64) -> R) -> R {
        look(&mut self.0.lock(), self.1)
    }
}

impl File for ToyFile {
    fn bytes(&self) -> Result<u64> {
        self.with(|state, n| state.inodes.get(&n).map(|inode| inode.now.len() as u64))
            .ok_or_else(|| io("gone"))
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.with(|state, n| {
            let inode = state.inodes.get(&n).ok_or_else(|| io("gone"))?;
            let from = inode.now.get(at as usize..at as usize + into.len()).ok_or_else(|| io("the end"))?;
            into.copy_from_slice(from);
            Ok(())
        })
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        self.with(|state, n| {
            let held: u64 = state.inodes.values().map(|inode| inode.now.len() as u64).sum();
            let all: Vec<u8> = parts.concat();
            let mut some = all.len() as u64;
            if let Some(life) = &mut state.life {
                some = some.min(*life);
                *life -= some;
            }
            let inode = state.inodes.get_mut(&n).ok_or_else(|| io("gone"))?;
            let behind = (inode.now.len() as u64).saturating_sub(at);
            let fits = state.room.map_or(u64::MAX, |room| room.saturating_sub(held) + behind);
            let full = some > fits;
            some = some.min(fits);
            let end = at as usize + some as usize;
            if inode.now.len() < end {
                inode.now.resize(end, 0);
            }
            inode.now[at as usize..end].copy_from_slice(&all[..some as usize]);
            inode.touch(at as usize..end);
            match (some == all.len() as u64, full) {
                (true, _) => Ok(()),
                (false, true) => Err(Error::new(Kind::Full, "toy", "the disk is full")),
                (false, false) => Err(io("killed")),
            }
        })
    }

    fn cut(&self, bytes: u64) -> Result<()> {
        self.with(|state, n| {
            if state.life == Some(0) {
                return Err(io("killed"));
            }
            let inode = state.inodes.get_mut(&n).ok_or_else(|| io("gone"))?;
            let (before, after) = (inode.now.len(), bytes as usize);
            inode.now.resize(after, 0);
            inode.touch(before.min(after)..before.max(after));
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.with(|state, n| {
            let (broken, killed) = (state.broken, state.life == Some(0));
            let inode = state.inodes.get_mut(&n).ok_or_else(|| io("gone"))?;
            match (killed, broken) {
                (true, _) => return Err(io("killed")),
                (_, true) => inode.dirty.clear(),
                _ => inode.sync(),
            }
            if broken {
                Err(io("the disk does not answer"))
            } else {
                Ok(())
            }
        })
    }

    fn begin_sync(&self, _: u64, _: u64) {}

    fn reader(&self) -> Result<std::os::fd::OwnedFd> {
        Err(Error::new(Kind::Io, "disk", "a toy has no descriptors"))
    }
}
