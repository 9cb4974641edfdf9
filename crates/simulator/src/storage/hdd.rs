//! A disk that turns: equation 1 of the MFNetSim paper, with read-ahead and a cache.
//!
//! Latency = T_seek + γ + T_transfer. The seek grows with the square root of the distance, from some distance on linearly; γ, the
//! rotational latency, is random within a revolution; the transfer is the request's share of a track, times a revolution (the paper
//! prints the length of a track as a factor). Source: B. S. Parsons, V. S. Pai, A mathematical hard disk timing model for full system
//! simulation, ISPASS 2013.

use super::device::Request;
use crate::engine::random::{self, Purpose};
use crate::engine::Picos;

/// The parameters of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hdd {
    /// Revolutions a minute.
    pub rpm: u64,
    /// Bytes of a track.
    pub track: u64,
    /// A seek to the next track, what it grows by with the square root of the distance in tracks, and up to which distance.
    pub settle: Picos,
    /// See `settle`.
    pub root: Picos,
    /// See `settle`.
    pub near: u64,
    /// What every further track adds.
    pub far: f64,
    /// How far it reads ahead when it has nothing else to do, and how much it keeps.
    pub read_ahead: u64,
    /// See `read_ahead`.
    pub cache: u64,
    /// How many writes its cache puts into order: with n of them seeks are 3 / n as far, and rotation takes 1 / n as long.
    pub ordered_writes: u64,
}

/// A disk, and where it stands.
#[derive(Clone, Debug)]
pub struct Disk {
    hdd: Hdd,
    /// The object that it worked on last, and where in it that ended.
    at: Option<(u64, u64)>,
    /// What is kept of that object, from where on; and since when it reads ahead.
    kept: u64,
    idle_since: Option<Picos>,
    count: u64,
}

impl Hdd {
    /// The Seagate ST2000NX0253 of the paper's table 1: 7200 revolutions a minute, and 136 MB/s, which are 1,133,333 bytes a track.
    /// The seek and the order of writes are chosen so that requests of 4 KiB at random places of 512 MiB, 474 tracks, come to the
    /// modelled 111.69 reads and 592.22 writes a second.
    pub fn table1() -> Hdd {
        Hdd {
            rpm: 7200,
            track: 1_133_333,
            settle: Picos(500_000_000),
            root: Picos(366_700_000),
            near: 500,
            far: 4_600.0,
            read_ahead: 1 << 20,
            cache: 64 << 20,
            ordered_writes: 47,
        }
    }

    /// How long a revolution takes.
    pub fn revolution(&self) -> Picos {
        Picos(60_000_000_000_000 / self.rpm)
    }

    /// How long so many bytes take to pass under the head.
    pub fn transfer(&self, bytes: u64) -> Picos {
        Picos((bytes as f64 / self.track as f64 * self.revolution().0 as f64).round() as u64)
    }

    /// How long it takes to move by some tracks.
    pub fn seek(&self, tracks: f64) -> Picos {
        if tracks <= 0.0 {
            return Picos::ZERO;
        }
        let near = tracks.min(self.near as f64);
        let beyond = tracks - near;
        self.settle + Picos((self.root.0 as f64 * near.sqrt() + self.far * beyond).round() as u64)
    }
}

impl Disk {
    /// A disk that did nothing yet.
    pub fn new(hdd: Hdd) -> Disk {
        Disk { hdd, at: None, kept: 0, idle_since: None, count: 0 }
    }

    /// How long a request takes that begins at `begin`, and whether it needs a seek.
    pub fn service(&mut self, begin: Picos, request: Request) -> (Picos, bool) {
        let Request { object, offset, bytes, writes } = request;
        let (last, end) = self.at.unwrap_or((object, 0));
        let ahead = self.ahead(begin);
        // What was read, and what was read ahead of it, answers at once; what follows it needs no more than its transfer.
        let known = last == object && (self.kept..=end + ahead).contains(&offset);
        self.count += 1;
        let (service, sought) = if known && !writes {
            let missing = (offset + bytes).saturating_sub(end + ahead);
            (self.hdd.transfer(missing.min(bytes)), false)
        } else if last == object && offset == end {
            (self.hdd.transfer(bytes), false)
        } else {
            let distance = match self.at {
                Some((last, end)) if last == object => offset.abs_diff(end) as f64 / self.hdd.track as f64,
                // Another object lies anywhere near: as far as the square root goes.
                _ => self.hdd.near as f64 / 3.0,
            };
            let order = if writes { self.hdd.ordered_writes.max(3) } else { 1 };
            let seek = if writes { 3.0 / order as f64 * distance } else { distance };
            let draw = random::bits(object, Purpose::Rotation, offset, self.count);
            let rotation = random::between(draw, Picos::ZERO, self.hdd.revolution());
            (self.hdd.seek(seek) + Picos(rotation.0 / order) + self.hdd.transfer(bytes), true)
        };
        let reached = if known { (offset + bytes).max(end + ahead) } else { offset + bytes };
        let from = if known || (last == object && offset == end) { self.kept } else { offset };
        self.kept = from.max(reached.saturating_sub(self.hdd.cache));
        self.at = Some((object, reached));
        self.idle_since = (!writes).then_some(begin + service);
        (service, sought)
    }

    /// How many bytes it has read ahead until now.
    fn ahead(&self, now: Picos) -> u64 {
        let Some(since) = self.idle_since.filter(|since| *since < now) else { return 0 };
        let turned = (now - since).0 as f64 / self.hdd.revolution().0 as f64;
        ((turned * self.hdd.track as f64) as u64).min(self.hdd.read_ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, bytes: u64) -> Request {
        Request { object: 1, offset, bytes, writes: false }
    }

    /// 6000 revolutions a minute, 10 ms each, with 1,000,000 bytes a track: 10 ns a byte.
    fn simple() -> Hdd {
        Hdd { rpm: 6000, track: 1_000_000, read_ahead: 500, cache: 10_000, ..Hdd::table1() }
    }

    #[test]
    fn a_request_takes_seek_rotation_and_transfer() {
        let hdd = simple();
        assert_eq!((hdd.revolution(), hdd.transfer(2_500)), (Picos(10_000_000_000), Picos(25_000_000)));
        // 0.5 ms + 0.3667 ms · √100; beyond 500 tracks 4.6 ns a track.
        assert_eq!(hdd.seek(100.0), Picos(500_000_000 + 3_667_000_000));
        assert_eq!((hdd.seek(1500.0) - hdd.seek(500.0)).0, 4_600_000);
        let mut disk = Disk::new(simple());
        let (first, _) = disk.service(Picos::ZERO, read(0, 1000));
        assert_eq!(first, Picos(10_000_000), "it stands at the beginning");
        let (jump, sought) = disk.service(first, read(100_001_000, 1000));
        let least = hdd.seek(100.0) + hdd.transfer(1000);
        assert!(sought && jump >= least && jump < least + hdd.revolution(), "{jump:?}");
        // Sorted with others, a write goes 3 / 47 as far and waits at most 1 / 47 of a revolution.
        let write = Request { object: 1, offset: 1000, bytes: 1000, writes: true };
        let (write, _) = disk.service(first, write);
        let least = hdd.seek(100.0 * 3.0 / 47.0) + hdd.transfer(1000);
        assert!((write.0 as f64 - least.0 as f64) < 10e9 / 47.0 + 1e6, "{write:?} {least:?}");
    }

    #[test]
    fn what_was_read_ahead_needs_no_transfer_and_what_is_kept_none_at_all() {
        let mut disk = Disk::new(simple());
        let (first, _) = disk.service(Picos::ZERO, read(0, 1000));
        // 2 µs later 200 bytes are read ahead: of 300, 100 are missing.
        let (next, _) = disk.service(first + Picos(2_000_000), read(1000, 300));
        assert_eq!(next, Picos(1_000_000));
        // Long after, 500 bytes are: 400 of them are there at once.
        let later = Picos(1_000_000_000_000);
        assert_eq!(disk.service(later, read(1300, 400)).0, Picos::ZERO);
        // Of the cache, too.
        assert_eq!(disk.service(later, read(100, 1200)).0, Picos::ZERO);
        let (far, sought) = disk.service(later, read(900_000_000, 10));
        assert!(sought && far > Picos(500_000_000));
        assert!(disk.service(later + far, read(100, 10)).1, "the cache is of the last place");
    }
}
