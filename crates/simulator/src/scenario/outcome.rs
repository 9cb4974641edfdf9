//! A scenario from its description to its outcome.

use super::application::ApplicationResult;
use super::machine::{Machine, Settings};
use crate::engine::Picos;
use crate::mpi::Protocol;
use crate::network::routing::Routing;
use crate::network::topology::Dragonfly;
use crate::network::{Counters, Link, Network, Parameters};
use crate::workload::applications::{Application, RANKS};
use crate::workload::language::Bound;
use crate::workload::operation::Program;
use crate::workload::synthetic::{self, Synthetic};
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// What the paper's machine is to do, by the rules of the published artifact.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How packets find their way.
    pub routing: Routing,
    /// From which everything random follows.
    pub seed: u64,
    /// What runs on it.
    pub work: Work,
}

/// What runs on a machine.
#[derive(Clone, Debug)]
pub enum Work {
    /// Synthetic traffic of all terminals.
    Synthetic(Synthetic),
    /// Applications, each with the compute nodes of its ranks.
    Applications(Vec<(Task, Vec<u32>)>),
}

/// What an application does.
#[derive(Clone, Debug)]
pub enum Task {
    /// A ready-made one.
    Ready(Application),
    /// A program of the workload language, for as many tasks as it has nodes.
    Program(Arc<Bound>),
}

impl Task {
    fn ranks(&self) -> u32 {
        match self {
            Task::Ready(_) => RANKS,
            Task::Program(program) => program.tasks(),
        }
    }

    fn rank(&self, rank: u32) -> Program {
        match self {
            Task::Ready(application) => application.program(rank),
            Task::Program(program) => Box::new(program.task(rank)),
        }
    }
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When the last thing happened.
    pub end: Picos,
    /// What the network counted.
    pub counters: Counters,
    /// What went over each link from a router.
    pub links: Vec<Link>,
    /// What each application did; empty for synthetic traffic.
    pub applications: Vec<ApplicationResult>,
}

/// Runs a scenario. `goes_on` is asked now and then, with the simulated time and the number of packets that have arrived.
///
/// # Errors
/// `Invalid` for what cannot be run, or deadlocks, with names; `Interrupted` when `goes_on` said no.
pub fn run(scenario: &Scenario, goes_on: impl FnMut(Picos, u64) -> bool) -> Result<Outcome> {
    let Scenario { routing, seed, work } = scenario;
    let parameters = Parameters::artifact(*routing);
    match work {
        Work::Synthetic(traffic) => {
            let mut network = Network::new(Dragonfly::paper(), parameters, 1, *seed)?;
            synthetic::run(*traffic, &mut network, *seed, goes_on)?;
            Ok(outcome(&network, Vec::new()))
        }
        Work::Applications(applications) => {
            let mut placed = Vec::new();
            for (application, nodes) in applications {
                let ranks = application.ranks();
                if nodes.len() != ranks as usize {
                    let detail = format!(
                        "{} nodes for an application of {ranks} ranks; each rank needs one",
                        nodes.len()
                    );
                    return Err(Error::new(Kind::Invalid, "scenario: placement", detail));
                }
                placed.push((nodes.clone(), (0..ranks).map(|rank| application.rank(rank)).collect()));
            }
            let settings = Settings { parameters, protocol: Protocol::artifact(), seed: *seed };
            let mut machine = Machine::new(settings, placed)?;
            let results = machine.run(goes_on)?;
            Ok(outcome(machine.network(), results))
        }
    }
}

fn outcome(network: &Network, applications: Vec<ApplicationResult>) -> Outcome {
    Outcome {
        end: network.now(),
        counters: network.counters().clone(),
        links: network.links().collect(),
        applications,
    }
}
