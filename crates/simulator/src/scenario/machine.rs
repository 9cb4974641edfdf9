//! A machine that runs applications: their ranks on nodes, the network between them, and burst buffers beside them.

use super::application::{Application, ApplicationResult};
use super::envelope::Envelope;
use super::placement::COMPUTE_NODES;
use super::rank::Rank;
use crate::engine::Picos;
use crate::mpi::Protocol;
use crate::network::topology::Dragonfly;
use crate::network::{Network, Parameters};
use crate::storage::{Job, Server};
use crate::workload::operation::Program;
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

/// A machine with its applications, ready to run.
pub struct Machine {
    pub(super) settings: Settings,
    pub(super) network: Network,
    pub(super) applications: Vec<Application>,
    pub(super) envelopes: Vec<Envelope>,
    pub(super) free_envelopes: Vec<u32>,
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
        let latencies = &self.network.counters().message_latency;
        Ok(self
            .applications
            .iter()
            .zip(latencies)
            .map(|(application, latency)| application.result(latency))
            .collect())
    }
}
