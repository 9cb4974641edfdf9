//! A server of compute-side burst buffers: moves requests in units, several at a time, between clients and its device.
//!
//! As the published artifact has it: for each request a few threads take its units in order; a thread that writes asks the
//! client for a unit, waits for the data, and for the device; one that reads waits for the device and sends the data. Memory and
//! space are reserved at once, for there is always enough of both in the published runs.

use super::device::{Device, Request};
use crate::engine::Picos;

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Who asked, as the caller numbers its clients.
    pub client: u64,
    /// The object in which they lie, and where in it they begin.
    pub object: u64,
    /// See `object`.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Whether data are written.
    pub writes: bool,
    next: u64,
    done: u64,
}

/// What a server does next for one unit of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Ask the client for a unit of this size.
    Pull(u64),
    /// Wait for the device until then.
    Device(Picos),
    /// Tell the client that all is done.
    Done,
    /// Nothing: the other threads are still at work.
    Nothing,
}

/// A server with its device.
#[derive(Clone, Debug)]
pub struct Server {
    /// The device.
    pub device: Device,
    /// Another one for requests below so many bytes, if there is one.
    pub small: Option<(u64, Device)>,
    unit: u64,
    threads: u64,
}

impl Job {
    /// A request that was not begun.
    pub fn new(client: u64, object: u64, offset: u64, bytes: u64, writes: bool) -> Job {
        Job { client, object, offset, bytes, writes, next: 0, done: 0 }
    }

    fn units(&self, unit: u64) -> u64 {
        self.bytes.div_ceil(unit)
    }
}

impl Server {
    /// As in the artifact: four threads a request, units of 10⁶ bytes.
    pub fn new(device: Device, small: Option<(u64, Device)>) -> Server {
        Server { device, small, unit: 1_000_000, threads: 4 }
    }

    /// How many threads begin with a job.
    pub fn threads(&self, job: &Job) -> u64 {
        self.threads.min(job.units(self.unit))
    }

    /// How large a unit of a job is.
    pub fn size(&self, job: &Job, unit: u64) -> u64 {
        self.unit.min(job.bytes - unit * self.unit)
    }

    /// A thread takes the next unit of a job; its number, and what to do for it.
    pub fn begin(&mut self, now: Picos, job: &mut Job) -> Option<(u64, Reply)> {
        if job.next == job.units(self.unit) {
            return None;
        }
        let unit = job.next;
        job.next += 1;
        let reply = if job.writes { Reply::Pull(self.size(job, unit)) } else { self.work(now, job, unit) };
        Some((unit, reply))
    }

    /// The device works on a unit.
    pub fn work(&mut self, now: Picos, job: &Job, unit: u64) -> Reply {
        let bytes = self.size(job, unit);
        let request =
            Request { object: job.object, offset: job.offset + unit * self.unit, bytes, writes: job.writes };
        let device = match &mut self.small {
            Some((limit, small)) if job.bytes < *limit => small,
            _ => &mut self.device,
        };
        Reply::Device(device.serve(now, request))
    }

    /// A unit is where it belongs: on the device, or with the client.
    pub fn finish(&self, job: &mut Job) -> Reply {
        job.done += 1;
        if job.done == job.units(self.unit) {
            Reply::Done
        } else {
            Reply::Nothing
        }
    }
}
