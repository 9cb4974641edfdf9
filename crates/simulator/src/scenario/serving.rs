//! What storage does for ranks: requests, units of data, and the word that all is done.

use super::application::Application;
use super::envelope::{
    client, who, Envelope, COMMITTED, CONTROL_BYTES, RANK_BITS, STORED, TIMER_SHIFT, UNIT_BITS,
};
use super::partition::Partition;
use super::placement::Layout;
use super::rank::{Stored, Waits};
use crate::engine::Picos;
use crate::network::Order;
use crate::storage::{Arrangement, Job, Reply, Request, Server, Storage};
use thalweg_foundation::{Error, Kind, Result};

impl Partition {
    /// A rank asks for storage: its own device, or a server; what it has to wait for.
    ///
    /// # Errors
    /// `Invalid` on a machine that has no servers.
    pub(super) fn ask(&mut self, application: usize, rank: usize, request: Request) -> Result<Waits> {
        let node = self.applications[application].nodes[rank];
        let client = client(application, rank);
        let Request { object: file, offset: at, bytes, writes } = request;
        let (read, written) = if writes { (0, bytes) } else { (bytes, 0) };
        self.applications[application].ranks[rank].stored.add(Stored { read, written });
        if self.settings.storage.arrangement == Arrangement::NodeLocal {
            let object = object(client, file as u32);
            let storage = self.settings.storage;
            let device = self.local.entry(node).or_insert_with(|| storage.device());
            let done = device.serve(self.network.now(), Request { object, ..request });
            self.network.wake_at(done, STORED << TIMER_SHIFT | client);
            return Ok(Waits::Storage);
        }
        if self.layout.servers() == 0 {
            let detail = format!(
                "rank {rank} of application {application} uses storage, and no group of this machine has room for a burst \
                 buffer (it takes 2 nodes); accepted is the arrangement \"node-local\", or larger groups"
            );
            return Err(Error::new(Kind::Invalid, "simulation: storage", detail));
        }
        let ask = Envelope::Ask { client, file: file as u32, at, bytes, writes };
        let (_, server) = place_of_server(&self.settings.storage, &self.layout, &self.applications, client);
        self.post(application, self.layout.terminal_of(node), server, CONTROL_BYTES, ask, Picos::ZERO);
        Ok(Waits::Storage)
    }

    /// A server is asked to move data: its threads begin.
    pub(super) fn asked(&mut self, client: u64, file: u32, request: Request) {
        let Request { offset, bytes, writes, .. } = request;
        if bytes == 0 {
            return self.tell(client);
        }
        // All ranks of an application share its files, and begin where they say: in the published runs at the beginning.
        let job = Job::new(client, object(client, file), offset, bytes, writes);
        let number = match self.free_jobs.pop() {
            Some(place) => {
                self.jobs[place as usize] = job;
                place
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() as u32 - 1
            }
        };
        for _ in 0..self.server_of(client).0.threads(&job) {
            self.begin(number);
        }
    }

    /// A client is asked for a unit, and sends it.
    pub(super) fn pulled(&mut self, job: u32, unit: u64, bytes: u64, order: Order<Envelope>) {
        let application = usize::from(order.application);
        self.post(application, order.to, order.from, bytes, Envelope::Data { job, unit }, Picos::ZERO);
    }

    /// A unit has arrived at the server that writes it, or at the client that reads it.
    pub(super) fn arrived(&mut self, job: u32, unit: u64) {
        if !self.jobs[job as usize].writes {
            return self.finish(job);
        }
        let now = self.network.now();
        let Partition { settings, servers, jobs, applications, layout, .. } = self;
        let state = &jobs[job as usize];
        let reply = servers[place_of_server(&settings.storage, layout, applications, state.client).0]
            .work(now, state, unit);
        self.reply(job, unit, reply);
    }

    /// A device is done with a unit.
    pub(super) fn worked(&mut self, job: u32, unit: u64) {
        let state = self.jobs[job as usize];
        if state.writes {
            return self.finish(job);
        }
        let (server, terminal) = self.server_of(state.client);
        let size = server.size(&state, unit);
        let (application, rank) = who(state.client);
        let client = self.layout.terminal_of(self.applications[application].nodes[rank]);
        // A client that may lie in another part of the machine says when it has the data; others are heard at once.
        let data = match self.settings.storage.arrangement {
            Arrangement::StorageSide => Envelope::Fetched { job },
            _ => Envelope::Data { job, unit },
        };
        self.post(application, terminal, client, size, data, Picos::ZERO);
    }

    /// The server of a client, and its terminal.
    fn server_of(&self, client: u64) -> (&Server, u32) {
        let (number, terminal) =
            place_of_server(&self.settings.storage, &self.layout, &self.applications, client);
        (&self.servers[number], terminal)
    }

    /// A server tells a client that all is done.
    fn tell(&mut self, client: u64) {
        let (application, rank) = who(client);
        let node = self.layout.terminal_of(self.applications[application].nodes[rank]);
        let (_, terminal) = self.server_of(client);
        self.post(application, terminal, node, CONTROL_BYTES, Envelope::Done { client }, Picos::ZERO);
    }

    /// A thread of a server takes the next unit of a job.
    fn begin(&mut self, job: u32) {
        let now = self.network.now();
        let Partition { settings, servers, jobs, applications, layout, .. } = self;
        let state = &mut jobs[job as usize];
        let server = &mut servers[place_of_server(&settings.storage, layout, applications, state.client).0];
        if let Some((unit, reply)) = server.begin(now, state) {
            self.reply(job, unit, reply);
        }
    }

    /// A unit of a job is where it belongs; its thread takes the next one.
    pub(super) fn finish(&mut self, job: u32) {
        let Partition { settings, servers, jobs, applications, layout, .. } = self;
        let state = &mut jobs[job as usize];
        let reply =
            servers[place_of_server(&settings.storage, layout, applications, state.client).0].finish(state);
        if reply == Reply::Done {
            self.reply(job, 0, reply);
        } else {
            self.begin(job);
        }
    }

    fn reply(&mut self, job: u32, unit: u64, reply: Reply) {
        let client = self.jobs[job as usize].client;
        let (application, rank) = who(client);
        let node = self.layout.terminal_of(self.applications[application].nodes[rank]);
        let (_, terminal) = self.server_of(client);
        match reply {
            Reply::Pull(bytes) => {
                self.post(
                    application,
                    terminal,
                    node,
                    CONTROL_BYTES,
                    Envelope::Pull { job, unit, bytes },
                    Picos::ZERO,
                );
            }
            Reply::Device(at) => {
                self.network.wake_at(at, COMMITTED << TIMER_SHIFT | u64::from(job) << UNIT_BITS | unit);
            }
            Reply::Done => {
                self.free_jobs.push(job);
                self.tell(client);
            }
            Reply::Nothing => {}
        }
    }
}

/// The number of a client's server, and its terminal: one near the client, or, behind the network, any, evenly.
fn place_of_server(
    storage: &Storage,
    layout: &Layout,
    applications: &[Application],
    client: u64,
) -> (usize, u32) {
    let (application, rank) = who(client);
    let (server, terminal) = match storage.arrangement {
        Arrangement::StorageSide => {
            let server = rank as u32 % layout.servers();
            (server, layout.server_terminal(server))
        }
        _ => layout.burst_buffer_of(applications[application].nodes[rank]),
    };
    (server as usize, terminal)
}

/// A file of a client's application, as devices know it.
fn object(client: u64, file: u32) -> u64 {
    client >> RANK_BITS << 32 | u64::from(file)
}
