//! Files behind memory: one thread writes what is complete, and removes and renames it, in the order in which that was asked for.

use std::fs::File;
use std::io::{copy, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use thalweg_foundation::{Bytes, Error, Result};

/// What is to be done on disk.
#[derive(Debug)]
enum Job {
    /// A content, and the file that it is to be.
    Save(Arc<File>, PathBuf),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl Job {
    fn path(&self) -> &Path {
        match self {
            Job::Save(_, path) | Job::Remove(path) | Job::Rename(_, path) => path,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            // Nobody writes it any more.
            Job::Save(content, _) => content.metadata().map_or(0, |found| found.len()),
            _ => 0,
        }
    }

    fn run(&self) -> std::io::Result<()> {
        let done = match self {
            Job::Save(content, path) => return save(content, path),
            Job::Remove(path) => std::fs::remove_file(path),
            Job::Rename(from, to) => std::fs::rename(from, to),
        };
        // What has not been saved is not there yet.
        done.or_else(|e| if e.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
    }
}

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

    /// Has `content` written to `path` as soon as what came before has been done.
    pub fn save(&self, content: Arc<File>, path: String) {
        self.put(Job::Save(content, path.into()));
    }

    /// Has what was saved at `path` removed.
    pub fn remove(&self, path: String) {
        self.put(Job::Remove(path.into()));
    }

    /// Has what was saved renamed.
    pub fn rename(&self, from: String, to: String) {
        self.put(Job::Rename(from.into(), to.into()));
    }

    fn put(&self, job: Job) {
        self.pending.fetch_add(job.bytes(), Ordering::Relaxed);
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread takes jobs as long as there is a sender.
        let refused = match jobs.as_ref() {
            Some(jobs) => jobs.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            let failure = format!("{}: the service had closed", job.path().display());
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

fn run(doing: &Receiver<Job>, failures: &Mutex<Vec<String>>, pending: &AtomicU64) {
    while let Ok(job) = doing.recv() {
        let bytes = job.bytes();
        if let Err(e) = job.run() {
            let failure = format!("{}: {e}", job.path().display());
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
        file.set_permissions(content.metadata()?.permissions())?;
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}
