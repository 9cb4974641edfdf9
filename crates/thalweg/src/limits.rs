//! The physical limits that claims are measured against, in the same run: memcpy and a Unix socket's round trip.

use std::hint::black_box;
use std::os::fd::OwnedFd;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::link::now;

/// Times `repeats` copies of `bytes` between two buffers whose pages are there.
pub fn memcpy(bytes: Bytes, repeats: usize) -> Vec<Nanos> {
    let from = vec![0x5au8; bytes.0 as usize];
    let mut to = vec![0u8; bytes.0 as usize];
    to.fill(1);
    let copy = |_| {
        let start = now();
        black_box(&mut to).copy_from_slice(black_box(&from));
        now().since(start)
    };
    (0..repeats).map(copy).collect()
}

/// Times `count` round trips of one byte over a Unix socket between two processes, after a few to warm up.
///
/// # Errors
/// `Io` when the system refuses.
pub fn unix_round_trip(count: usize) -> Result<Vec<Nanos>> {
    let io = |e: rustix::io::Errno| Error::io("limits.unix_round_trip", e);
    use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
    let (ours, theirs): (OwnedFd, OwnedFd) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(io)?;
    const WARM: usize = 20;
    // SAFETY: the child only reads, writes and exits, which is allowed after a fork of a process with threads.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(Error::io("limits.unix_round_trip", std::io::Error::last_os_error()));
    }
    let mut byte = [0u8];
    if child == 0 {
        drop(ours);
        while rustix::io::read(&theirs, &mut byte[..]) == Ok(1) && rustix::io::write(&theirs, &byte) == Ok(1)
        {
        }
        // SAFETY: ends the child at once, without running anything of the parent's.
        unsafe { libc::_exit(0) };
    }
    drop(theirs);
    let mut times = Vec::with_capacity(count);
    let mut whole = true;
    for i in 0..count + WARM {
        let start = now();
        whole = rustix::io::write(&ours, &byte) == Ok(1) && rustix::io::read(&ours, &mut byte[..]) == Ok(1);
        if !whole {
            break;
        }
        if i >= WARM {
            times.push(now().since(start));
        }
    }
    drop(ours);
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    if whole {
        Ok(times)
    } else {
        Err(Error::new(Kind::Io, "limits.unix_round_trip", "the other process ended"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_measured() {
        assert_eq!(memcpy(Bytes(4096), 3).len(), 3);
        let trips = unix_round_trip(5).unwrap();
        assert!(trips.len() == 5 && trips.iter().all(|t| *t > Nanos(0)));
    }
}
