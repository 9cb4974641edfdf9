//! The bytes of files: memory without a name, which the kernel frees when nobody has it open.

use rustix::fs::{MemfdFlags, Mode};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_transport::memory::available;

/// A content that nobody has made a file of has this mode, which no program gives to a file that it makes.
const NOT_MADE: Mode = Mode::from_raw_mode(0o777);
/// The most contents that are kept for the next files of their kind, and of what all take together.
const RETIRED_MAX: usize = 256;

/// The memory that one takes: a file may be longer than what was written of it.
fn memory_of(content: &File) -> Option<u64> {
    content.metadata().ok().map(|found| found.blocks() * 512)
}

#[derive(Debug, Default)]
struct State {
    open: BTreeMap<u64, Arc<File>>,
    /// Those that are being written.
    growing: BTreeSet<u64>,
    /// How much memory they took when they were last measured.
    sizes: BTreeMap<u64, u64>,
    used: u64,
    /// By kind; the newest is at the end.
    retired: BTreeMap<String, Vec<(Arc<File>, Bytes)>>,
    retired_bytes: u64,
    retired_count: usize,
}

impl State {
    fn opened(&mut self, number: u64, content: Arc<File>) {
        self.open.insert(number, content);
        self.growing.insert(number);
    }

    fn taken(&mut self, number: u64) -> Option<Arc<File>> {
        self.used -= self.sizes.remove(&number).unwrap_or(0);
        self.growing.remove(&number);
        self.open.remove(&number)
    }

    fn measure(&mut self, number: u64) {
        let Some(bytes) = self.open.get(&number).and_then(|content| memory_of(content)) else { return };
        let before = self.sizes.insert(number, bytes).unwrap_or(0);
        self.used = self.used - before + bytes;
    }

    fn forget_retired(&mut self) {
        self.retired.clear();
        (self.retired_bytes, self.retired_count) = (0, 0);
    }
}

/// The contents that can be opened, and some of earlier files, whose memory is at hand.
#[derive(Debug)]
pub struct Contents {
    state: Mutex<State>,
    limit: Bytes,
}

impl Contents {
    /// None yet, and at most `limit` with those that are at hand.
    pub fn new(limit: Bytes) -> Contents {
        Contents { state: Mutex::default(), limit }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one: empty, or, where a kind is given, perhaps one that was retired of this kind, as it was.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn make(&self, number: u64, kind: Option<&str>) -> Result<()> {
        let mut state = self.state();
        if let Some((content, bytes)) = kind.and_then(|kind| state.retired.get_mut(kind)?.pop()) {
            state.retired_bytes -= bytes.0;
            state.retired_count -= 1;
            state.opened(number, content);
            return Ok(());
        }
        if state.used.saturating_add(state.retired_bytes) >= self.limit.0 {
            state.forget_retired();
        }
        let made = rustix::fs::memfd_create(format!("thalweg-file-{number}"), MemfdFlags::CLOEXEC);
        let made = made.map_err(|e| Error::io("redirect.open: no memory for a file", e))?;
        state.opened(number, Arc::new(File::from(made)));
        Ok(())
    }

    /// Keeps one for the next file of its kind, within a quarter of the memory that is there.
    pub fn retire(&self, number: u64, kind: String) {
        let mut state = self.state();
        let Some(content) = state.taken(number) else { return };
        let Some(bytes) = memory_of(&content) else { return };
        let retired = state.retired_bytes.saturating_add(bytes);
        let fits = retired <= available().0 / 4 && state.used.saturating_add(retired) <= self.limit.0;
        if fits && state.retired_count < RETIRED_MAX && rustix::fs::fchmod(&*content, NOT_MADE).is_ok() {
            state.retired_bytes += bytes;
            state.retired_count += 1;
            state.retired.entry(kind).or_default().push((content, Bytes(bytes)));
        }
    }

    /// One of them.
    ///
    /// # Errors
    /// `NotFound` when it was dropped.
    pub fn get(&self, number: u64) -> Result<Arc<File>> {
        let gone = || {
            Error::new(Kind::NotFound, "redirect.open", "the file has been made anew or removed meanwhile")
        };
        self.state().open.get(&number).cloned().ok_or_else(gone)
    }

    /// Lets go of one.
    pub fn drop(&self, number: u64) {
        self.state().taken(number);
    }

    /// Finds out how much memory one takes, which nobody writes any more.
    pub fn measure(&self, number: u64) {
        let mut state = self.state();
        state.growing.remove(&number);
        state.measure(number);
    }

    /// Finds out how much memory those take that are being written.
    pub fn measure_growing(&self) {
        let mut state = self.state();
        let growing: Vec<u64> = state.growing.iter().copied().collect();
        growing.into_iter().for_each(|number| state.measure(number));
    }

    /// What all take that were measured.
    pub fn used(&self) -> Bytes {
        Bytes(self.state().used)
    }
}
