//! A scenario from its description to its outcome.

use super::application::ApplicationResult;
use super::machine::{Machine, Settings};
use super::placement::Layout;
use super::placing::{place, Nodes};
use crate::engine::Picos;
use crate::mpi::Protocol;
use crate::network::topology::Topology;
use crate::network::{self, Carrier, Fidelity, Findings, Parameters};
use crate::storage::Storage;
use crate::workload::applications::{Application, RANKS};
use crate::workload::language::Bound;
use crate::workload::operation::{Generator, Program};
use crate::workload::synthetic::{Senders, Synthetic};
use std::path::Path;
use std::sync::Arc;
use thalweg_foundation::Result;

/// What a machine is to do, and what it is like.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How closely the network is looked at.
    pub fidelity: Fidelity,
    /// How the machine is joined.
    pub topology: Topology,
    /// Its network.
    pub parameters: Parameters,
    /// How its ranks hand messages to the network.
    pub protocol: Protocol,
    /// Where and on what they store their data.
    pub storage: Storage,
    /// From which everything random follows.
    pub seed: u64,
    /// How many threads may work on it; the outcome does not depend on that.
    pub threads: usize,
    /// What runs on it.
    pub work: Work,
}

/// What runs on a machine.
#[derive(Clone, Debug)]
pub enum Work {
    /// Synthetic traffic of all terminals.
    Synthetic(Synthetic),
    /// Applications, each with the compute nodes of its ranks.
    Applications(Vec<(Task, Nodes)>),
}

/// What an application does.
#[derive(Clone, Debug)]
pub enum Task {
    /// A ready-made one.
    Ready(Application),
    /// A program of the workload language, for as many tasks as it has nodes.
    Program(Arc<Bound>),
    /// Whatever gives operations.
    Generated(Arc<dyn Generator>),
}

impl Task {
    /// What messages call it.
    fn name(&self) -> String {
        match self {
            Task::Ready(application) => application.name().to_owned(),
            Task::Program(program) => {
                let name = program.name();
                Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned())
            }
            Task::Generated(generator) => generator.name().to_owned(),
        }
    }

    fn ranks(&self) -> u32 {
        match self {
            Task::Ready(_) => RANKS,
            Task::Program(program) => program.tasks(),
            Task::Generated(generator) => generator.ranks(),
        }
    }

    fn rank(&self, rank: u32) -> Program {
        match self {
            Task::Ready(application) => application.program(rank),
            Task::Program(program) => Box::new(program.task(rank)),
            Task::Generated(generator) => generator.rank(rank),
        }
    }
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the network found.
    pub network: Findings,
    /// What each application did; empty for synthetic traffic.
    pub applications: Vec<ApplicationResult>,
}

/// Runs a scenario. `goes_on` is asked now and then, with the simulated time and the number of packets that have arrived.
///
/// # Errors
/// `Invalid` for what cannot be run, or deadlocks, with names; `Interrupted` when `goes_on` said no.
pub fn run(scenario: &Scenario, goes_on: impl FnMut(Picos, u64) -> bool) -> Result<Outcome> {
    let Scenario { fidelity, topology, parameters, protocol, storage, seed, threads, work } = scenario;
    match work {
        Work::Synthetic(traffic) => {
            traffic.check(topology)?;
            let (parts, ahead) = Carrier::divided(*fidelity, topology.clone(), *parameters, 1, *seed)?;
            let mut sides: Vec<_> =
                parts.into_iter().map(|part| Senders::start(*traffic, part, *seed)).collect();
            network::run(&mut sides, *threads, ahead, goes_on)?;
            let network = Findings::of(sides.iter().map(Senders::network), *threads);
            Ok(Outcome { network, applications: Vec::new() })
        }
        Work::Applications(applications) => {
            let wishes: Vec<_> = applications
                .iter()
                .map(|(application, nodes)| (application.name(), application.ranks(), nodes.clone()))
                .collect();
            let placed = place(&wishes, &Layout::of(topology, storage.arrangement), topology, *seed)?;
            let programs = |task: &Task| (0..task.ranks()).map(|rank| task.rank(rank)).collect();
            let placed = placed.into_iter().zip(applications);
            let placed = placed.map(|(nodes, (task, _))| (nodes, programs(task))).collect();
            let settings = Settings {
                fidelity: *fidelity,
                topology: topology.clone(),
                parameters: *parameters,
                protocol: *protocol,
                storage: *storage,
                seed: *seed,
                threads: *threads,
            };
            let names = applications.iter().map(|(task, _)| task.name()).collect();
            let mut machine = Machine::new(settings, placed)?.named(names);
            let applications = machine.run(goes_on)?;
            Ok(Outcome { network: machine.findings(), applications })
        }
    }
}
