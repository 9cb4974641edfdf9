//! Waking a sleeping process, and noticing that one has died.

use rustix::event::{epoll, eventfd, EventfdFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use thalweg_foundation::{Error, Nanos, Result};

/// A doorbell between processes (eventfd). Ringing never blocks.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A new bell.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn new() -> Result<Bell> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Bell)
            .map_err(|e| Error::io("link.bell", e))
    }

    /// A bell that another process sent.
    pub fn received(fd: OwnedFd) -> Bell {
        Bell(fd)
    }

    /// Wakes whoever watches.
    pub fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What woke the watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number under which the descriptor was added.
    pub id: u64,
    /// It can be read, or has ended.
    pub ended: bool,
}

/// Waits for bells, sockets and processes (epoll).
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// A watch over nothing.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn new() -> Result<Watch> {
        epoll::create(epoll::CreateFlags::CLOEXEC).map(Watch).map_err(|e| Error::io("link.watch", e))
    }

    /// Wakes with `id` each time that `bell` rings.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn bell(&self, bell: &Bell, id: u64) -> Result<()> {
        // Edge-triggered: the count needs no reading, which saves a system call for each message.
        self.add(bell.fd(), id, epoll::EventFlags::IN | epoll::EventFlags::ET)
    }

    /// Wakes with `id` while `fd` can be read or its other end is gone.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn readable(&self, fd: BorrowedFd<'_>, id: u64) -> Result<()> {
        self.add(fd, id, epoll::EventFlags::IN | epoll::EventFlags::RDHUP)
    }

    fn add(&self, fd: BorrowedFd<'_>, id: u64, flags: epoll::EventFlags) -> Result<()> {
        epoll::add(&self.0, fd, epoll::EventData::new_u64(id), flags).map_err(|e| Error::io("link.watch", e))
    }

    /// Forgets `fd`.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.0, fd);
    }

    /// Sleeps until something happens, at most `within` (none: without end); appends what did. Empty after the time
    /// or a signal.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn wait(&self, within: Option<Nanos>, events: &mut Vec<Event>) -> Result<()> {
        let timeout = within.map(|n| Timespec {
            tv_sec: (n.0 / 1_000_000_000).min(1 << 30) as i64,
            tv_nsec: (n.0 % 1_000_000_000) as _,
        });
        let mut buffer =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        match epoll::wait(&self.0, &mut buffer[..], timeout.as_ref()) {
            Ok(count) => {
                let end = epoll::EventFlags::HUP | epoll::EventFlags::RDHUP | epoll::EventFlags::ERR;
                events.extend(buffer[..count].iter().map(|e| {
                    let flags = e.flags;
                    Event { id: e.data.u64(), ended: flags.intersects(end) }
                }));
                Ok(())
            }
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(Error::io("link.watch", e)),
        }
    }
}
