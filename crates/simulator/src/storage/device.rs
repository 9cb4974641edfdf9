//! A storage device: first come, first served, with a service time by its kind.

use super::flat::Flat;
use super::hdd::Disk;
use super::ssd::Ssd;
use crate::engine::Picos;

/// What a device is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// In which object, such as a file.
    pub object: u64,
    /// Where in it.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Whether it writes.
    pub writes: bool,
}

/// What a device is like.
#[derive(Clone, Debug)]
pub enum Model {
    /// The published artifact's.
    Flat(Flat),
    /// Flash with pages and channels.
    Ssd(Ssd),
    /// A disk that turns.
    Hdd(Disk),
}

/// A device, what it is like and what it is doing.
#[derive(Clone, Debug)]
pub struct Device {
    model: Model,
    free: Picos,
    /// How long it was busy.
    pub busy: Picos,
    /// Requests so far, and how many of them needed a seek.
    pub requests: (u64, u64),
}

impl Device {
    /// A device that does nothing yet.
    pub fn new(model: Model) -> Device {
        Device { model, free: Picos::ZERO, busy: Picos::ZERO, requests: (0, 0) }
    }

    /// The artifact's burst buffer.
    pub fn artifact() -> Device {
        Device::new(Model::Flat(Flat::artifact()))
    }

    /// A request that comes at `now`; when it is done.
    pub fn serve(&mut self, now: Picos, request: Request) -> Picos {
        let begin = self.free.max(now);
        let (service, seek) = match &mut self.model {
            Model::Flat(flat) => flat.service(request),
            Model::Ssd(ssd) => (ssd.service(request), false),
            Model::Hdd(disk) => disk.service(begin, request),
        };
        self.free = begin + service;
        self.busy += service;
        self.requests = (self.requests.0 + 1, self.requests.1 + u64::from(seek));
        self.free
    }
}
