//! What burst buffers do for ranks: requests, units of data, and the word that all is done.

use super::application::Application;
use super::envelope::{who, Envelope, COMMITTED, CONTROL_BYTES, RANK_BITS, TIMER_SHIFT, UNIT_BITS};
use super::partition::Partition;
use super::placement::Layout;
use crate::engine::Picos;
use crate::network::Order;
use crate::storage::{Job, Reply, Server};

impl Partition {
    /// A server is asked to move data: its threads begin.
    pub(super) fn asked(&mut self, client: u64, bytes: u64, writes: bool) {
        // All ranks of an application share one file, and each begins at its beginning: so did the published runs.
        let job = Job::new(client, client >> RANK_BITS, bytes, writes);
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
        let Partition { servers, jobs, applications, layout, .. } = self;
        let state = &jobs[job as usize];
        let reply = servers[server_number(layout, applications, state.client)].work(now, state, unit);
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
        self.post(application, terminal, client, size, Envelope::Data { job, unit }, Picos::ZERO);
    }

    /// The server of a client, and its terminal.
    fn server_of(&self, client: u64) -> (&Server, u32) {
        let (application, rank) = who(client);
        let (number, terminal) = self.layout.burst_buffer_of(self.applications[application].nodes[rank]);
        (&self.servers[number as usize], terminal)
    }

    /// A thread of a server takes the next unit of a job.
    fn begin(&mut self, job: u32) {
        let now = self.network.now();
        let Partition { servers, jobs, applications, layout, .. } = self;
        let state = &mut jobs[job as usize];
        let server = &mut servers[server_number(layout, applications, state.client)];
        if let Some((unit, reply)) = server.begin(now, state) {
            self.reply(job, unit, reply);
        }
    }

    /// A unit of a job is where it belongs; its thread takes the next one.
    fn finish(&mut self, job: u32) {
        let Partition { servers, jobs, applications, layout, .. } = self;
        let state = &mut jobs[job as usize];
        let reply = servers[server_number(layout, applications, state.client)].finish(state);
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
                self.post(application, terminal, node, CONTROL_BYTES, Envelope::Done { client }, Picos::ZERO);
            }
            Reply::Nothing => {}
        }
    }
}

fn server_number(layout: &Layout, applications: &[Application], client: u64) -> usize {
    let (application, rank) = who(client);
    layout.burst_buffer_of(applications[application].nodes[rank]).0 as usize
}
