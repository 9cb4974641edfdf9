//! Files behind memory: one thread writes what is complete, in the order in which it was completed.

use std::fs::File;
use std::io::{copy, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use thalweg_foundation::{Bytes, Error, Result};

/// A content, and the file that it is to be.
type Job = (Arc<File>, PathBuf);

/// The thread, and what it could not write.
#[derive(Debug)]
pub struct Saver {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    failures: Arc<Mutex<Vec<String>>>,
    pending: Arc<AtomicU64>,
}

impl Saver {
    /// Starts the thread.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn start() -> Result<Saver> {
        let (jobs, doing) = channel();
        let failures = Arc::new(Mutex::new(Vec::new()));
        let pending = Arc::new(AtomicU64::new(0));
        let (failed, left) = (failures.clone(), pending.clone());
        let thread = std::thread::Builder::new().name("thalweg-saver".into());
        let thread = thread.spawn(move || run(&doing, &failed, &left)).map_err(|e| Error::io("server", e))?;
        Ok(Saver { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)), failures, pending })
    }

    /// Has `content` written to `path` as soon as what came before has been.
    pub fn save(&self, content: Arc<File>, path: String) {
        self.pending.fetch_add(size(&content), Ordering::Relaxed);
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread takes jobs as long as there is a sender.
        let taken = jobs.as_ref().is_some_and(|jobs| jobs.send((content, path.clone().into())).is_ok());
        if !taken {
            let failure = format!("{path}: the service had closed");
            self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
    }

    /// The bytes that are still to be written.
    pub fn pending(&self) -> Bytes {
        Bytes(self.pending.load(Ordering::Relaxed))
    }

    /// Blocks until everything has been written.
    pub fn finish(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// What could not be written, each with its reason.
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A content's bytes; nobody writes it any more.
fn size(content: &File) -> u64 {
    content.metadata().map_or(0, |found| found.len())
}

fn run(doing: &Receiver<Job>, failures: &Mutex<Vec<String>>, pending: &AtomicU64) {
    while let Ok((content, path)) = doing.recv() {
        let bytes = size(&content);
        if let Err(e) = save(&content, &path) {
            let failure = format!("{}: {e}", path.display());
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
        let left = |before: u64| Some(before.saturating_sub(bytes));
        let _ = pending.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Writes a file beside `path`, and gives it that name when it is complete: nobody sees half of it.
fn save(content: &File, path: &Path) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.thalweg-{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        // Another description of the same memory, with a position of its own.
        let mut source = File::open(format!("/proc/self/fd/{}", content.as_raw_fd()))?;
        source.seek(SeekFrom::Start(0))?;
        copy(&mut source, &mut file)?;
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}
