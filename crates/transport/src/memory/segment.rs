//! A segment: anonymous memory behind a descriptor (memfd) that other processes can map.
//!
//! It has no name, so nothing can leak: when the last process that maps it has ended, the kernel has freed it. A reader
//! gets a descriptor opened for reading only, and the kernel refuses it any writable mapping.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use thalweg_foundation::sync::Word;
use thalweg_foundation::{Bytes, Error, Kind, Result};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What a mapping may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// A mapped segment; unmapped when dropped.
#[derive(Debug)]
pub struct Segment {
    start: *mut u8,
    bytes: usize,
    fd: OwnedFd,
}

// SAFETY: the mapping stays where it is until the segment is dropped, and access to its contents is the caller's unsafe duty.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// New zeroed memory of `bytes`, mapped for writing; its size can never change.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn create(bytes: Bytes) -> Result<Segment> {
        let io = |e: rustix::io::Errno| Error::io("memory.segment", e);
        let fd = fs::memfd_create("thalweg", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(io)?;
        fs::ftruncate(&fd, bytes.0).map_err(io)?;
        fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(io)?;
        Segment::map(fd, bytes, Access::Write)
    }

    /// New zeroed space of `bytes` in a file without a name in `folder`, mapped for writing; the kernel writes what is not
    /// used to the disk and frees it all when the last process that maps it has ended.
    ///
    /// # Errors
    /// `Io` when the system refuses, as it does in a folder that is not there or whose file system cannot do this.
    pub fn in_file(folder: &Path, bytes: Bytes) -> Result<Segment> {
        let operation = format!("memory.spill: a file in {}", folder.display());
        let io = |e: rustix::io::Errno| Error::io(&operation, e);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = fs::open(folder, flags, Mode::RUSR | Mode::WUSR).map_err(io)?;
        fs::ftruncate(&fd, bytes.0).map_err(io)?;
        Segment::map(fd, bytes, Access::Write)
    }

    /// Writes `from` at `offset` through the descriptor: a full disk is an error here, where through a mapping it would
    /// kill the process.
    ///
    /// # Errors
    /// `Io` when the system refuses, `Protocol` outside the segment.
    pub fn write_at(&self, from: &[u8], offset: u64) -> Result<()> {
        self.at(offset, Bytes(from.len() as u64))?;
        let mut done = 0;
        while done < from.len() {
            match rustix::io::pwrite(&self.fd, &from[done..], offset + done as u64) {
                Ok(0) => return Err(Error::new(Kind::Io, "memory.spill", "nothing was written")),
                Ok(n) => done += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::io("memory.spill", e)),
            }
        }
        Ok(())
    }

    /// Maps the memory behind `fd`.
    ///
    /// # Errors
    /// `Io` when the system refuses, as it does a writable mapping of a descriptor for reading; `Protocol` when the
    /// memory is not of `bytes`.
    pub fn map(fd: OwnedFd, bytes: Bytes, access: Access) -> Result<Segment> {
        let stat = fs::fstat(&fd).map_err(|e| Error::io("memory.segment", e))?;
        if bytes.0 == 0 || stat.st_size as u64 != bytes.0 {
            let detail = format!("a segment of {} where {bytes} were expected", Bytes(stat.st_size as u64));
            return Err(Error::new(Kind::Protocol, "memory.segment", detail));
        }
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        let len = bytes.0 as usize;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &fd, 0) }
            .map_err(|e| Error::io("memory.segment", e))?;
        // Huge pages where the system allows them (shmem_enabled = advise); a refusal costs nothing but speed.
        // SAFETY: the mapping just made.
        let _ = unsafe { mm::madvise(start, len, Advice::LinuxHugepage) };
        Ok(Segment { start: start.cast(), bytes: len, fd })
    }

    /// A descriptor of the same memory for reading only.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn reader(&self) -> Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Error::io("memory.segment", e))
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Its size.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes as u64)
    }

    /// The address of `offset`, behind which `bytes` lie in the segment.
    ///
    /// # Errors
    /// `Protocol` when they do not.
    pub fn at(&self, offset: u64, bytes: Bytes) -> Result<*mut u8> {
        match offset.checked_add(bytes.0) {
            // SAFETY: the offset is inside the mapping.
            Some(end) if end <= self.bytes as u64 => Ok(unsafe { self.start.add(offset as usize) }),
            _ => {
                let detail = format!("{bytes} at offset {offset} of a segment of {}", self.bytes());
                Err(Error::new(Kind::Protocol, "memory.segment", detail))
            }
        }
    }

    /// The segment as words that processes share.
    pub fn words(&self) -> &[Word] {
        // SAFETY: pages are aligned for words, any bits are a word, and words are only touched atomically.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes / 8) }
    }

    /// Gives the pages of `range`, whole ones, back to the system; what is read there is zero until it is written again.
    pub fn give_back(&self, range: Range<u64>) {
        let from = range.start.next_multiple_of(PAGE);
        let bytes = range.end.min(self.bytes as u64) / PAGE * PAGE;
        if let Some(bytes) = bytes.checked_sub(from).filter(|bytes| *bytes > 0) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // A system that refuses keeps the memory, no more.
            let _ = fs::fallocate(&self.fd, flags, from, bytes);
        }
    }

    /// Has the kernel provide the pages of `range` now, in the background, so that no writer pays for it.
    pub fn prefault(self: &Arc<Segment>, range: Range<u64>) {
        const STEP: usize = 8 << 20;
        let weak = Arc::downgrade(self);
        let (from, to) = (range.start as usize / 4096 * 4096, self.bytes.min(range.end as usize));
        let touch = move || {
            for at in (from..to).step_by(STEP) {
                let Some(segment) = weak.upgrade() else { return };
                // SAFETY: inside the mapping, which `segment` keeps.
                let part = unsafe { segment.start.add(at) };
                let len = STEP.min(to - at);
                // SAFETY: as above. Populating changes no contents; a refusal costs nothing but speed.
                let _ = unsafe { mm::madvise(part.cast(), len, Advice::LinuxPopulateWrite) };
            }
        };
        let _ = std::thread::Builder::new().name("thalweg-pages".into()).spawn(touch);
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and nobody borrows it any more.
        let _ = unsafe { mm::munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_what_is_written_and_cannot_write() {
        let segment = Segment::create(Bytes(4096)).unwrap();
        // SAFETY: four bytes at the start of 4096.
        unsafe { segment.at(0, Bytes(4)).unwrap().cast::<u32>().write(77) };
        let reader = Segment::map(segment.reader().unwrap(), Bytes(4096), Access::Read).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { reader.at(0, Bytes(4)).unwrap().cast::<u32>().read() }, 77);
        let refused = Segment::map(segment.reader().unwrap(), Bytes(4096), Access::Write);
        assert_eq!(refused.unwrap_err().kind, Kind::Io);
        // SAFETY: protections of our own mapping.
        let made_writable = unsafe {
            rustix::mm::mprotect(
                reader.start.cast(),
                4096,
                rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE,
            )
        };
        assert!(made_writable.is_err());
    }

    #[test]
    fn pages_that_are_given_back_take_no_memory_and_can_be_written_again() {
        let segment = Segment::create(Bytes(8 << 20)).unwrap();
        let taken = || fs::fstat(segment.fd()).unwrap().st_blocks as u64 * 512;
        segment.write_at(&[7; 8 << 20], 0).unwrap();
        let before = taken();
        segment.give_back((2 << 20)..(8 << 20));
        assert!(before >= 8 << 20 && taken() <= before - (6 << 20), "{before} bytes, then {}", taken());
        let at = |offset| {
            // SAFETY: a byte of the segment.
            unsafe { *segment.at(offset, Bytes(1)).unwrap() }
        };
        assert_eq!((at(0), at(3 << 20)), (7, 0));
        segment.write_at(&[9], 3 << 20).unwrap();
        assert_eq!(at(3 << 20), 9);
    }

    #[test]
    fn nothing_outside_a_segment_has_an_address() {
        let segment = Segment::create(Bytes(4096)).unwrap();
        assert!(segment.at(4000, Bytes(96)).is_ok());
        assert_eq!(
            segment.at(4000, Bytes(97)).unwrap_err().to_string(),
            "memory.segment: 97 bytes at offset 4000 of a segment of 4 KiB"
        );
        assert!(segment.at(u64::MAX, Bytes(2)).is_err());
        assert!(Segment::map(segment.reader().unwrap(), Bytes(8192), Access::Read).is_err());
    }
}
