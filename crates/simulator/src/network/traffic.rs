//! What went over links: bytes of each application by port, and of each kind of link over time.

use super::port::UNUSED;
use crate::engine::Picos;

/// The most intervals of a timeline; when they do not suffice, they become twice as long.
pub const INTERVALS: usize = 512;
/// The shortest interval is 2²⁰ ps, about a microsecond.
const LEAST_BITS: u32 = 20;

/// Bytes on terminal, local and global links in intervals of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    bits: u32,
    bytes: Vec<[u64; 3]>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { bits: LEAST_BITS, bytes: Vec::new() }
    }
}

impl Timeline {
    /// How long an interval is.
    pub fn interval(&self) -> Picos {
        Picos(1 << self.bits)
    }

    /// Bytes that began to be sent in each interval, on links of each class.
    pub fn bytes(&self) -> &[[u64; 3]] {
        &self.bytes
    }

    #[inline]
    pub(super) fn add(&mut self, at: Picos, class: u8, bytes: u64) {
        let place = (at.0 >> self.bits) as usize;
        match self.bytes.get_mut(place) {
            Some(interval) => interval[usize::from(class)] += bytes,
            None => self.extend(at, class, bytes),
        }
    }

    #[cold]
    fn extend(&mut self, at: Picos, class: u8, bytes: u64) {
        while (at.0 >> self.bits) as usize >= INTERVALS {
            self.halve();
        }
        let place = (at.0 >> self.bits) as usize;
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, [0; 3]);
        }
        self.bytes[place][usize::from(class)] += bytes;
    }

    fn halve(&mut self) {
        let sum =
            |pair: &[[u64; 3]]| std::array::from_fn(|class| pair.iter().map(|bytes| bytes[class]).sum());
        self.bytes = self.bytes.chunks(2).map(sum).collect();
        self.bits += 1;
    }

    /// Adds what another part of the network counted.
    pub(super) fn merge(&mut self, mut other: Timeline) {
        while self.bits < other.bits {
            self.halve();
        }
        while other.bits < self.bits {
            other.halve();
        }
        let most = self.bytes.len().max(other.bytes.len());
        self.bytes.resize(most, [0; 3]);
        for (mine, others) in self.bytes.iter_mut().zip(&other.bytes) {
            for (mine, other) in mine.iter_mut().zip(others) {
                *mine += other;
            }
        }
    }
}

/// Bytes by port and application, and over time.
#[derive(Clone, Debug)]
pub struct Traffic {
    applications: usize,
    bytes: Vec<u64>,
    pub timeline: Timeline,
}

impl Traffic {
    pub fn new(ports: usize, applications: u8) -> Traffic {
        let applications = usize::from(applications);
        Traffic { applications, bytes: vec![0; ports * applications], timeline: Timeline::default() }
    }

    /// Bytes of an application begin to be sent by a port.
    #[inline]
    pub fn add(&mut self, at: Picos, port: u32, class: u8, application: u8, bytes: u16) {
        self.add_all(at, port, class, application, u64::from(bytes));
    }

    /// The same for more bytes than a packet has.
    #[inline]
    pub fn add_all(&mut self, at: Picos, port: u32, class: u8, application: u8, bytes: u64) {
        debug_assert!(class < UNUSED);
        self.bytes[port as usize * self.applications + usize::from(application)] += bytes;
        self.timeline.add(at, class, bytes);
    }

    /// What each application sent by a port.
    pub fn of(&self, port: u32) -> &[u64] {
        &self.bytes[port as usize * self.applications..][..self.applications]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_keeps_every_byte_however_long_it_gets() {
        let (mut whole, mut first, mut second) =
            (Timeline::default(), Timeline::default(), Timeline::default());
        for step in 0..3000u64 {
            let (at, class) = (Picos(step * 700_001), (step % 3) as u8);
            whole.add(at, class, step);
            if step < 1000 {
                first.add(at, class, step)
            } else {
                second.add(at, class, step)
            }
        }
        assert!(whole.bytes().len() <= INTERVALS && whole.bytes().len() > INTERVALS / 2);
        assert_eq!(whole.bytes().iter().flatten().sum::<u64>(), 2999 * 3000 / 2);
        first.merge(second);
        assert_eq!(first, whole);
    }
}
