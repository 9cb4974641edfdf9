//! A machine that runs applications: their ranks on nodes, the network between them, and burst buffers beside them.

use super::placement::{burst_buffer_of, terminal_of, COMPUTE_NODES};
use super::rank::{Rank, Spent, Waits};
use crate::engine::Picos;
use crate::mpi::collectives::{allreduce, barrier};
use crate::mpi::{Arrived, Posted, Protocol};
use crate::network::topology::Dragonfly;
use crate::network::{Histogram, Network, Notice, Order, Parameters, Wants};
use crate::storage::{Job, Server};
use crate::workload::operation::{Operation, Program, Tag};
use thalweg_foundation::{Error, Kind, Result};

/// What a run is set up with, beside its applications.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The network.
    pub parameters: Parameters,
    /// How ranks hand messages to it.
    pub protocol: Protocol,
    /// From which everything random follows.
    pub seed: u64,
}

/// What an application did.
#[derive(Clone, Debug)]
pub struct ApplicationResult {
    /// When its last rank ended.
    pub elapsed: Picos,
    /// For each rank: how long it waited for messages, for the storage, and computed.
    pub ranks: Vec<[Picos; 3]>,
    /// From the sending of its messages to their arrival, those to and from the storage among them.
    pub message_latency: Histogram,
    /// Messages that its ranks sent to each other, and their bytes.
    pub sent: (u64, u64),
}

/// A message on its way, under the number that the network returns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Envelope {
    /// Between ranks of an application. A blocking send has no request.
    Rank { application: u16, from: u32, to: u32, tag: Tag, request: Option<u32> },
    /// From a rank to its server: a request.
    Ask { client: u64, bytes: u64, writes: bool },
    /// From a server: asks for a unit of a job.
    Pull { job: u32, unit: u64 },
    /// A unit of a job.
    Data { job: u32, unit: u64 },
    /// From a server: the job is done.
    Done { client: u64 },
}

/// Sizes of messages to and from servers that carry no data.
pub(super) const CONTROL_BYTES: u64 = 128;

/// Timers, in the upper bits of their cookies: a rank has computed; a device is done with a unit.
const COMPUTED: u64 = 0;
pub(super) const COMMITTED: u64 = 1;
pub(super) const TIMER_SHIFT: u32 = 56;
/// In the number of a client, and of a rank in a timer: bits of the rank below the application.
pub(super) const RANK_BITS: u32 = 24;
/// In the timer of a device: bits of the unit below the job.
pub(super) const UNIT_BITS: u32 = 28;

pub(super) struct Application {
    pub(super) nodes: Vec<u32>,
    ranks: Vec<Rank>,
    sent: (u64, u64),
}

/// A machine with its applications, ready to run.
pub struct Machine {
    settings: Settings,
    pub(super) network: Network,
    pub(super) applications: Vec<Application>,
    envelopes: Vec<Envelope>,
    free_envelopes: Vec<u32>,
    pub(super) servers: Vec<Server>,
    pub(super) jobs: Vec<Job>,
    pub(super) free_jobs: Vec<u32>,
}

impl Machine {
    /// The paper's machine with `applications`: for each, the compute node of every rank, and the rank's program.
    ///
    /// # Errors
    /// `Invalid` for a node that does not exist or that two ranks share, and for parameters that no network can have.
    pub fn new(settings: Settings, applications: Vec<(Vec<u32>, Vec<Program>)>) -> Result<Machine> {
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "scenario: placement", detail));
        let mut taken = vec![false; COMPUTE_NODES as usize];
        for (nodes, programs) in &applications {
            if nodes.len() != programs.len() {
                return refused(format!(
                    "{} ranks on {} nodes; each rank needs one",
                    programs.len(),
                    nodes.len()
                ));
            }
            for node in nodes {
                match taken.get_mut(*node as usize) {
                    None => {
                        return refused(format!("there is no compute node {node}; there are {COMPUTE_NODES}"))
                    }
                    Some(true) => return refused(format!("node {node} is given to two ranks")),
                    Some(free) => *free = true,
                }
            }
        }
        let count = applications.len() as u16;
        let network = Network::new(Dragonfly::paper(), settings.parameters, count, settings.seed)?;
        let applications = applications
            .into_iter()
            .map(|(nodes, programs)| Application {
                nodes,
                ranks: programs.into_iter().map(Rank::new).collect(),
                sent: (0, 0),
            })
            .collect();
        Ok(Machine {
            settings,
            network,
            applications,
            envelopes: Vec::new(),
            free_envelopes: Vec::new(),
            servers: vec![Server::artifact(); (COMPUTE_NODES / 15) as usize],
            jobs: Vec::new(),
            free_jobs: Vec::new(),
        })
    }

    /// The network, with what it counted.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The burst buffers.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Runs until nothing more happens. `goes_on` is asked now and then, with the simulated time and the number of packets that
    /// have arrived.
    ///
    /// # Errors
    /// `Invalid` for a program that waits for what never comes, with who waits for what; `Interrupted` when `goes_on` said no.
    pub fn run(&mut self, mut goes_on: impl FnMut(Picos, u64) -> bool) -> Result<Vec<ApplicationResult>> {
        for application in 0..self.applications.len() {
            for rank in 0..self.applications[application].ranks.len() {
                self.advance(application, rank)?;
            }
        }
        while self.network.step() {
            while let Some(notice) = self.network.notices().pop() {
                self.notice(notice)?;
            }
            if self.network.asks() && !goes_on(self.network.now(), self.network.counters().delivered) {
                return Err(self.network.interrupted());
            }
        }
        self.network.check_idle()?;
        self.check_ended()?;
        let results = self.applications.iter().zip(&self.network.counters().message_latency);
        Ok(results
            .map(|(application, latency)| ApplicationResult {
                elapsed: application.ranks.iter().map(|rank| rank.end).max().unwrap_or_default(),
                ranks: application
                    .ranks
                    .iter()
                    .map(|rank| {
                        let Spent { communication, io, compute } = rank.spent;
                        [communication, io, compute]
                    })
                    .collect(),
                message_latency: latency.clone(),
                sent: application.sent,
            })
            .collect())
    }

    fn check_ended(&self) -> Result<()> {
        let mut waiting = Vec::new();
        for (number, application) in self.applications.iter().enumerate() {
            for (rank, state) in
                application.ranks.iter().enumerate().filter(|(_, rank)| rank.waits != Waits::Ended)
            {
                let receives: Vec<_> = state
                    .matching
                    .posted()
                    .map(|posted| format!("{:?} with tag {:?}", posted.from, posted.tag))
                    .collect();
                waiting.push(format!(
                    "rank {rank} of application {number} waits for {:?}, messages from [{}]",
                    state.waits,
                    receives.join(", ")
                ));
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let shown = waiting[..waiting.len().min(5)].join("; ");
        let detail = format!("{} ranks wait for what never comes: {shown}", waiting.len());
        Err(Error::new(Kind::Invalid, "simulation: deadlock", detail))
    }

    /// Lets a rank go on until it waits for something.
    fn advance(&mut self, application: usize, rank: usize) -> Result<()> {
        loop {
            let now = self.network.now();
            let Some(operation) = self.applications[application].ranks[rank].next() else {
                let state = &mut self.applications[application].ranks[rank];
                state.waits = Waits::Ended;
                state.end = now;
                return Ok(());
            };
            let waits = self.perform(application, rank, operation)?;
            if waits != Waits::Nothing {
                let state = &mut self.applications[application].ranks[rank];
                state.waits = waits;
                state.since = now;
                return Ok(());
            }
        }
    }

    /// Begins an operation; what the rank has to wait for.
    fn perform(&mut self, application: usize, rank: usize, operation: Operation) -> Result<Waits> {
        let ranks = self.applications[application].ranks.len() as u32;
        let state = &mut self.applications[application].ranks[rank];
        Ok(match operation {
            Operation::Send { to, bytes, tag } => {
                self.send(application, rank, to, bytes, tag, None)?;
                Waits::Send(to)
            }
            Operation::Isend { to, bytes, tag, request } => {
                state.pending.push(request);
                self.send(application, rank, to, bytes, tag, Some(request))?;
                Waits::Nothing
            }
            Operation::Recv { from, tag } => {
                if state.matching.post(Posted { from, tag, request: None }) {
                    Waits::Nothing
                } else {
                    Waits::Receive
                }
            }
            Operation::Irecv { from, tag, request } => {
                if !state.matching.post(Posted { from, tag, request: Some(request) }) {
                    state.pending.push(request);
                }
                Waits::Nothing
            }
            Operation::Wait { request } if state.pending.contains(&request) => Waits::Request(request),
            Operation::WaitAll if !state.pending.is_empty() => Waits::Requests,
            Operation::Wait { .. } | Operation::WaitAll => Waits::Nothing,
            Operation::Compute { time } => {
                let cookie = COMPUTED << TIMER_SHIFT | client(application, rank);
                self.network.wake_at(self.network.now() + time, cookie);
                Waits::Time
            }
            Operation::Allreduce { bytes } => {
                state.schedule.extend(allreduce(rank as u32, ranks, bytes));
                Waits::Nothing
            }
            Operation::Barrier => {
                state.schedule.extend(barrier(rank as u32, ranks));
                Waits::Nothing
            }
            Operation::Write { bytes } | Operation::Read { bytes } => {
                if bytes == 0 {
                    return Ok(Waits::Nothing);
                }
                let writes = matches!(operation, Operation::Write { .. });
                let node = self.applications[application].nodes[rank];
                let ask = Envelope::Ask { client: client(application, rank), bytes, writes };
                let (_, server) = burst_buffer_of(node);
                self.post(application, terminal_of(node), server, CONTROL_BYTES, ask, Picos::ZERO);
                Waits::Storage
            }
        })
    }

    fn send(
        &mut self,
        application: usize,
        rank: usize,
        to: u32,
        bytes: u64,
        tag: Tag,
        request: Option<u32>,
    ) -> Result<()> {
        let state = &mut self.applications[application];
        let ranks = state.nodes.len();
        if to as usize >= ranks || to as usize == rank {
            let detail = format!(
                "rank {rank} of application {application} sends to rank {to}; accepted are the other ranks below {ranks}"
            );
            return Err(Error::new(Kind::Invalid, "simulation: send", detail));
        }
        state.sent = (state.sent.0 + 1, state.sent.1 + bytes);
        let (from_node, to_node) = (terminal_of(state.nodes[rank]), terminal_of(state.nodes[to as usize]));
        let envelope =
            Envelope::Rank { application: application as u16, from: rank as u32, to, tag, request };
        let delay = self.settings.protocol.delay(bytes);
        self.post(application, from_node, to_node, bytes, envelope, delay);
        Ok(())
    }

    /// Hands a message to the network.
    pub(super) fn post(
        &mut self,
        application: usize,
        from: u32,
        to: u32,
        bytes: u64,
        envelope: Envelope,
        delay: Picos,
    ) {
        let wants = Wants { made: false, sent: matches!(envelope, Envelope::Rank { .. }), delivered: true };
        let cookie = match self.free_envelopes.pop() {
            Some(place) => {
                self.envelopes[place as usize] = envelope;
                u64::from(place)
            }
            None => {
                self.envelopes.push(envelope);
                self.envelopes.len() as u64 - 1
            }
        };
        let order = Order { from, to, bytes, application: application as u16, cookie, wants };
        self.network.send_after(delay, order);
    }

    fn notice(&mut self, notice: Notice) -> Result<()> {
        match notice {
            Notice::Made(_) => Ok(()),
            Notice::Sent(order) => match self.envelopes[order.cookie as usize] {
                Envelope::Rank { application, from, to, request, .. } => {
                    let state = &mut self.applications[usize::from(application)].ranks[from as usize];
                    let goes_on = match request {
                        Some(request) => state.complete(request),
                        None => state.waits == Waits::Send(to),
                    };
                    self.resume_if(goes_on, usize::from(application), from as usize)
                }
                _ => Ok(()),
            },
            Notice::Delivered(order) => {
                let envelope = self.envelopes[order.cookie as usize];
                self.free_envelopes.push(order.cookie as u32);
                self.delivered(envelope, order)
            }
            Notice::Timer(cookie) => self.timer(cookie),
        }
    }

    fn delivered(&mut self, envelope: Envelope, order: Order) -> Result<()> {
        match envelope {
            Envelope::Rank { application, from, to, tag, .. } => {
                let (application, to) = (usize::from(application), to as usize);
                let state = &mut self.applications[application].ranks[to];
                let Some(posted) = state.matching.arrive(Arrived { from, tag }) else { return Ok(()) };
                let goes_on = match posted.request {
                    Some(request) => state.complete(request),
                    None => state.waits == Waits::Receive,
                };
                self.resume_if(goes_on, application, to)
            }
            Envelope::Ask { client, bytes, writes } => {
                self.asked(client, bytes, writes);
                Ok(())
            }
            Envelope::Pull { job, unit } => {
                self.pulled(job, unit, order);
                Ok(())
            }
            Envelope::Data { job, unit } => {
                self.arrived(job, unit);
                Ok(())
            }
            Envelope::Done { client } => {
                let (application, rank) = who(client);
                let waits = self.applications[application].ranks[rank].waits == Waits::Storage;
                self.resume_if(waits, application, rank)
            }
        }
    }

    fn timer(&mut self, cookie: u64) -> Result<()> {
        let rest = cookie & ((1 << TIMER_SHIFT) - 1);
        if cookie >> TIMER_SHIFT == COMPUTED {
            let (application, rank) = who(rest);
            return self.resume_if(true, application, rank);
        }
        self.worked((rest >> UNIT_BITS) as u32, rest & ((1 << UNIT_BITS) - 1));
        Ok(())
    }

    fn resume_if(&mut self, goes_on: bool, application: usize, rank: usize) -> Result<()> {
        if goes_on {
            let now = self.network.now();
            self.applications[application].ranks[rank].resume(now);
            self.advance(application, rank)?;
        }
        Ok(())
    }
}

/// A rank as a client of the storage.
fn client(application: usize, rank: usize) -> u64 {
    (application as u64) << RANK_BITS | rank as u64
}

/// The application and the rank of a client.
pub(super) fn who(client: u64) -> (usize, usize) {
    ((client >> RANK_BITS) as usize, (client & ((1 << RANK_BITS) - 1)) as usize)
}
