//! Where a journal's files lie: a folder of a file system, or of a test's toy disk.

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fmt::Debug;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// A folder for the files of a journal.
pub trait Folder: Debug + Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> String;
    /// The names of the files in it, in any order.
    ///
    /// # Errors
    /// `Io`.
    fn list(&self) -> Result<Vec<String>>;
    /// Makes an empty file, in place of one that may be there.
    ///
    /// # Errors
    /// `Io`, `Full`.
    fn create(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// `Io`.
    fn open(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Gives a file another name.
    ///
    /// # Errors
    /// `Io`.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Removes a file; who has it open can still read it.
    ///
    /// # Errors
    /// `Io`.
    fn remove(&self, name: &str) -> Result<()>;
    /// Returns when the names of the files survive a crash of the machine.
    ///
    /// # Errors
    /// `Io`.
    fn sync(&self) -> Result<()>;
}

/// A file of a journal.
pub trait File: Debug + Send + Sync {
    /// How long it is.
    ///
    /// # Errors
    /// `Io`.
    fn bytes(&self) -> Result<u64>;
    /// Fills `into` from `at` on.
    ///
    /// # Errors
    /// `Io`, also where the file ends before.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;
    /// Writes the parts one behind the other from `at` on.
    ///
    /// # Errors
    /// `Full` when the disk is, `Io`; some of it may have been written.
    fn write(&self, at: u64, parts: &[&[u8]]) -> Result<()>;
    /// Makes it so long: what lies behind is cut off, what is missing is zeros.
    ///
    /// # Errors
    /// `Io`.
    fn cut(&self, bytes: u64) -> Result<()>;
    /// Returns when what was written survives a crash of the machine.
    ///
    /// # Errors
    /// `Io`; then nobody knows what survives.
    fn sync(&self) -> Result<()>;
    /// Lets the disk begin with what was written from `at` on; promises nothing.
    fn begin_sync(&self, at: u64, bytes: u64);
    /// A descriptor of the same file for reading only, which another process can have.
    ///
    /// # Errors
    /// `Io` where there is none.
    fn reader(&self) -> Result<OwnedFd>;
}

/// A file of a journal that another process sent, for reading; `name` is what it is called in messages.
pub fn received(fd: OwnedFd, name: &str) -> Arc<dyn File> {
    Arc::new(DiskFile::new(fd, PathBuf::from(name)))
}

/// A folder of a file system.
#[derive(Debug)]
pub struct Disk {
    fd: OwnedFd,
    path: PathBuf,
}

/// A file of a file system.
#[derive(Debug)]
pub(super) struct DiskFile {
    fd: OwnedFd,
    path: PathBuf,
    /// Where the blocks end that the file system has set aside for it.
    reserved: AtomicU64,
}

/// The kind of a file system in memory, as `fstatfs` says it.
const TMPFS: u64 = libc::TMPFS_MAGIC as u64;
/// A call to the kernel writes up to a multiple of this: its page cache is quickest with large aligned pieces.
const WRITE: u64 = 1 << 20;
/// And so many slices.
const SLICES: usize = 64;
/// Blocks are set aside for a file that has so many bytes, and then so many at a time: where a file system looks for each block
/// when it is written, as ext4 does, writing takes half as long again.
const RESERVE_FROM: u64 = 1 << 20;
const RESERVE: u64 = 16 << 20;

fn io(operation: &str, path: &Path) -> impl Fn(Errno) -> Error {
    let about = format!("{operation}: {}", path.display());
    move |e| match e {
        Errno::NOSPC | Errno::DQUOT => {
            Error::new(Kind::Full, &about, format!("{e}; make room on the disk, or keep less"))
        }
        e => Error::io(&about, e),
    }
}

impl Disk {
    /// Opens the folder `path`, which is made where it is not there; until it is dropped nobody else can.
    ///
    /// # Errors
    /// `Io`; `Access` while another process has it open.
    pub fn open(path: &Path) -> Result<Disk> {
        let made = std::fs::create_dir_all(path);
        made.map_err(|e| Error::io(&format!("journal.open: {}", path.display()), e))?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = fs::open(path, flags, Mode::empty()).map_err(io("journal.open", path))?;
        if fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            let detail = format!("{} is in use; one server at a time can have it", path.display());
            return Err(Error::new(Kind::Access, "journal.open", detail));
        }
        Ok(Disk { fd, path: path.to_path_buf() })
    }

    fn file(&self, name: &str, flags: OFlags) -> Result<Arc<dyn File>> {
        let path = self.path.join(name);
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR);
        let fd = fd.map_err(io("journal.open", &path))?;
        Ok(Arc::new(DiskFile::new(fd, path)))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Closing is not enough while a child that was just forked holds a copy of the descriptor.
        let _ = fs::flock(&self.fd, FlockOperation::Unlock);
    }
}

impl Folder for Disk {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn list(&self) -> Result<Vec<String>> {
        let io = io("journal.list", &self.path);
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd).map_err(&io)? {
            if let Ok(name) = entry.map_err(&io)?.file_name().to_str() {
                if name != "." && name != ".." {
                    names.push(name.to_string());
                }
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        self.file(name, OFlags::CREATE | OFlags::TRUNC)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        self.file(name, OFlags::empty())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let renamed = fs::renameat(&self.fd, from, &self.fd, to);
        renamed.map_err(io("journal.rename", &self.path.join(to)))
    }

    fn remove(&self, name: &str) -> Result<()> {
        fs::unlinkat(&self.fd, name, AtFlags::empty()).map_err(io("journal.remove", &self.path.join(name)))
    }

    fn sync(&self) -> Result<()> {
        fs::fsync(&self.fd).map_err(io("journal.sync", &self.path))
    }
}

impl DiskFile {
    /// The file behind `fd`, which is called `path` in messages.
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> DiskFile {
        DiskFile { fd, path, reserved: AtomicU64::new(0) }
    }

    /// Sets blocks aside before something is written from `at` to `end`. They are no part of the file, and `cut` gives back what is
    /// left of them. Without them, as on a disk that is nearly full, what is written is written all the same.
    fn reserve(&self, at: u64, end: u64) {
        let reserved = self.reserved.load(Ordering::Relaxed);
        if end < RESERVE_FROM || end <= reserved {
            return;
        }
        // A file system in memory would fill them with zeros.
        let in_memory = reserved == 0 && fs::fstatfs(&self.fd).is_ok_and(|kind| kind.f_type as u64 == TMPFS);
        let from = reserved.max(at);
        let until = end.saturating_add(end.min(RESERVE));
        let flags = FallocateFlags::KEEP_SIZE;
        let done = !in_memory && fs::fallocate(&self.fd, flags, from, until - from).is_ok();
        self.reserved.store(if done { until } else { u64::MAX }, Ordering::Relaxed);
    }
}

impl File for DiskFile {
    fn bytes(&self) -> Result<u64> {
        let stat = fs::fstat(&self.fd).map_err(io("journal.open", &self.path))?;
        Ok(stat.st_size as u64)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < into.len() {
            match rustix::io::pread(&self.fd, &mut into[done..], at + done as u64) {
                Ok(0) => {
                    let detail = format!("{} ends at {}", self.path.display(), at + done as u64);
                    return Err(Error::new(Kind::Io, "journal.read", detail));
                }
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(io("journal.read", &self.path)(e)),
            }
        }
        Ok(())
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let io = io("journal.append", &self.path);
        let (mut at, mut rest): (u64, Vec<&[u8]>) = (at, parts.to_vec());
        let mut from = 0;
        self.reserve(at, at + parts.iter().map(|part| part.len() as u64).sum::<u64>());
        loop {
            from += rest[from..].iter().take_while(|part| part.is_empty()).count();
            if from == rest.len() {
                return Ok(());
            }
            let mut room = (WRITE - at % WRITE) as usize;
            let within = |part: &&'_ [u8]| {
                let some = part.len().min(room);
                room -= some;
                some
            };
            let lengths: Vec<usize> = rest[from..].iter().take(SLICES).map(within).collect();
            let slices = rest[from..].iter().zip(&lengths).map(|(part, some)| IoSlice::new(&part[..*some]));
            let slices: Vec<IoSlice<'_>> = slices.filter(|slice| !slice.is_empty()).collect();
            let mut written = match rustix::io::pwritev(&self.fd, &slices, at) {
                Ok(0) => return Err(io(Errno::IO)),
                Ok(written) => written,
                Err(Errno::INTR) => 0,
                Err(e) => return Err(io(e)),
            };
            at += written as u64;
            for part in &mut rest[from..] {
                let some = written.min(part.len());
                (*part, written) = (&part[some..], written - some);
                if written == 0 {
                    break;
                }
            }
        }
    }

    fn cut(&self, bytes: u64) -> Result<()> {
        self.reserved.store(0, Ordering::Relaxed);
        fs::ftruncate(&self.fd, bytes).map_err(io("journal.cut", &self.path))
    }

    fn sync(&self) -> Result<()> {
        fs::fdatasync(&self.fd).map_err(io("journal.sync", &self.path))
    }

    fn begin_sync(&self, at: u64, bytes: u64) {
        use std::os::fd::AsRawFd;
        let (fd, flags) = (self.fd.as_raw_fd(), libc::SYNC_FILE_RANGE_WRITE);
        // SAFETY: the descriptor is open; the call touches no memory of ours.
        let _ = unsafe { libc::sync_file_range(fd, at as i64, bytes as i64, flags) };
    }

    fn reader(&self) -> Result<OwnedFd> {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        fs::open(path, flags, Mode::empty()).map_err(io("journal.read", &self.path))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test's way to fail

    use super::*;

    #[test]
    fn what_was_set_aside_is_no_part_of_the_file_and_is_given_back() {
        let path = std::env::temp_dir().join(format!("thalweg-reserve-{}", std::process::id()));
        let disk = Disk::open(&path).unwrap();
        let file = disk.create("log").unwrap();
        let written = vec![7; 3 << 20];
        file.write(0, &[&written]).unwrap();
        file.write(3 << 20, &[&written]).unwrap();
        assert_eq!(file.bytes().unwrap(), 6 << 20);
        let set_aside = || fs::stat(path.join("log")).unwrap().st_blocks as u64 * 512;
        let before = set_aside();
        file.cut(6 << 20).unwrap();
        assert!(set_aside() <= before && set_aside() < 7 << 20, "{before} bytes, then {}", set_aside());
        let mut read = vec![0; 6 << 20];
        file.read(0, &mut read).unwrap();
        assert!(read.iter().all(|byte| *byte == 7));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
