//! What claims are measured against, in the same run: memcpy, a Unix socket's round trip, a plain loop over elements.

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

/// Copies `bytes` by the C library, with `threads` threads that start as those of `relayout` do.
///
/// # Safety
/// So many bytes must be readable from `from` and writable from `to`, and they must not overlap.
pub unsafe fn memcpy_between(from: *const u8, to: *mut u8, bytes: Bytes, threads: usize) {
    let (from, to, bytes) = (from as usize, to as usize, bytes.0 as usize);
    let part = move |n: usize| {
        let (low, high) =
            (bytes / threads * n, if n + 1 == threads { bytes } else { bytes / threads * (n + 1) });
        // SAFETY: the caller's promise; parts are disjoint.
        unsafe { std::ptr::copy_nonoverlapping((from + low) as *const u8, (to + low) as *mut u8, high - low) }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|n| drop(scope.spawn(move || part(n))));
        part(0);
    });
}

/// Copies `extents` elements of `T` one by one, the last axis fastest: what a relayout costs without any thought.
///
/// # Safety
/// As for `Plan::run` with these extents and strides in bytes.
pub unsafe fn element_by_element<T: Copy>(extents: &[u64], from: (*const u8, &[i64]), to: (*mut u8, &[i64])) {
    let (Some(count), Some(read), Some(write)) = (extents.first(), from.1.first(), to.1.first()) else {
        // SAFETY: one element of the caller's arrays.
        return unsafe { to.0.cast::<T>().write_unaligned(from.0.cast::<T>().read_unaligned()) };
    };
    for i in 0..*count as i64 {
        // SAFETY: positions along the caller's axes.
        unsafe {
            let (from_at, to_at) = (from.0.offset((i * read) as isize), to.0.offset((i * write) as isize));
            element_by_element::<T>(&extents[1..], (from_at, &from.1[1..]), (to_at, &to.1[1..]));
        }
    }
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
