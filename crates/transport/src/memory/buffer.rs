//! A buffer: memory of this process for one array, made without touching it.
//!
//! Fresh pages cost more than the copy that fills them. Large buffers ask for huge pages, of which one fault brings 512,
//! and nothing is zeroed twice.

use super::available;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use thalweg_foundation::{Bytes, Error, Kind, Result};

/// From this size on a buffer is a mapping of its own.
const LARGE: u64 = 1 << 20;
const HUGE_PAGE: usize = 2 << 20;

#[derive(Debug)]
enum Memory {
    Heap(Box<[u64]>),
    Mapped { start: *mut u8, bytes: usize },
}

/// Zeroed memory, aligned for any element; given back when dropped.
#[derive(Debug)]
pub struct Buffer {
    memory: Memory,
    bytes: Bytes,
}

// SAFETY: the memory belongs to the buffer alone, and access to its contents is the caller's unsafe duty.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory of `bytes` for `operation`.
    ///
    /// # Errors
    /// `Full` when there is no such memory in this process.
    pub fn new(operation: &str, bytes: Bytes) -> Result<Buffer> {
        let full = || {
            let detail = format!("no memory for {bytes} in this process; {} are available", available());
            Error::new(Kind::Full, operation, detail)
        };
        if bytes.0 < LARGE {
            let words = vec![0; bytes.0.div_ceil(8) as usize].into_boxed_slice();
            return Ok(Buffer { memory: Memory::Heap(words), bytes });
        }
        if bytes > available() {
            return Err(full());
        }
        // Whole huge pages; the part behind the end is never touched unless it shares one.
        let len = (bytes.0 as usize).next_multiple_of(HUGE_PAGE);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE) }
            .map_err(|_| full())?;
        // SAFETY: the mapping just made; a refusal costs nothing but speed.
        let _ = unsafe { mm::madvise(start, len, Advice::LinuxHugepage) };
        Ok(Buffer { memory: Memory::Mapped { start: start.cast(), bytes: len }, bytes })
    }

    /// The first byte, for reading.
    pub fn start(&self) -> *const u8 {
        match &self.memory {
            Memory::Heap(words) => words.as_ptr().cast(),
            Memory::Mapped { start, .. } => start.cast_const(),
        }
    }

    /// The first byte, for writing.
    pub fn start_mut(&mut self) -> *mut u8 {
        match &mut self.memory {
            Memory::Heap(words) => words.as_mut_ptr().cast(),
            Memory::Mapped { start, .. } => *start,
        }
    }

    /// All bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the buffer holds so many initialised bytes, which nobody writes while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.start(), self.bytes.0 as usize) }
    }

    /// All bytes for change.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let len = self.bytes.0 as usize;
        // SAFETY: as above; the buffer is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start_mut(), len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Memory::Mapped { start, bytes } = self.memory {
            // SAFETY: the mapping was made by `new` and nobody borrows it any more.
            let _ = unsafe { mm::munmap(start.cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_zeroed_and_writable_whatever_its_size() {
        for bytes in [0, 1, 7, 4096, LARGE - 1, LARGE, LARGE + 1, 5 << 20] {
            let mut buffer = Buffer::new("test", Bytes(bytes)).unwrap();
            assert_eq!(buffer.as_slice().len() as u64, bytes);
            assert!(buffer.as_slice().iter().all(|b| *b == 0));
            buffer.as_mut_slice().fill(7);
            assert!(buffer.as_slice().iter().all(|b| *b == 7));
            assert_eq!(buffer.start() as usize % 8, 0);
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let error = Buffer::new("stage.get", Bytes(1 << 60)).unwrap_err();
        assert_eq!(error.kind, Kind::Full);
        assert!(
            error.to_string().starts_with("stage.get: no memory for 1073741824 GiB in this process; "),
            "{error}"
        );
    }
}
