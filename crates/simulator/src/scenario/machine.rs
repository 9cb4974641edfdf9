//! A machine that runs applications: their ranks on nodes, the network between them, and burst buffers beside them.

use super::application::{result, Application, ApplicationResult, Ranks};
use super::partition::Partition;
use super::placement::Layout;
use super::rank::Rank;
use crate::engine::Picos;
use crate::mpi::Protocol;
use crate::network::topology::Topology;
use crate::network::{self, Carrier, Fidelity, Findings, Parameters};
use crate::storage::{Server, Storage};
use crate::workload::operation::Program;
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Result};

/// What a run is set up with, beside its applications.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How closely the network is looked at.
    pub fidelity: Fidelity,
    /// How the machine is joined.
    pub topology: Topology,
    /// The network.
    pub parameters: Parameters,
    /// How ranks hand messages to it.
    pub protocol: Protocol,
    /// Where and on what ranks store their data.
    pub storage: Storage,
    /// From which everything random follows.
    pub seed: u64,
    /// How many threads may work on it; the results do not depend on that.
    pub threads: usize,
}

/// A machine with its applications, ready to run.
pub struct Machine {
    settings: Arc<Settings>,
    layout: Layout,
    parts: Vec<Partition>,
    ahead: Picos,
    names: Vec<String>,
}

impl Machine {
    /// A machine with `applications`: for each, the compute node of every rank, and the rank's program.
    ///
    /// # Errors
    /// `Invalid` for a node that does not exist or that two ranks share, and for parameters that no network can have.
    pub fn new(settings: Settings, applications: Vec<(Vec<u32>, Vec<Program>)>) -> Result<Machine> {
        let layout = Layout::of(&settings.topology, settings.storage.arrangement);
        check(&layout, &applications)?;
        let count = u8::try_from(applications.len()).map_err(|_| {
            let detail = format!("{} applications; at most 255", applications.len());
            Error::new(Kind::Invalid, "scenario", detail)
        })?;
        let Settings { fidelity, topology, parameters, seed, .. } = &settings;
        let (networks, ahead) = Carrier::divided(*fidelity, topology.clone(), *parameters, count, *seed)?;
        let settings = Arc::new(settings);
        let mut parts: Vec<_> = networks
            .into_iter()
            .map(|network| Partition {
                settings: settings.clone(),
                layout,
                network,
                applications: Vec::new(),
                servers: vec![settings.storage.server(); layout.servers() as usize],
                local: HashMap::new(),
                jobs: Vec::new(),
                free_jobs: Vec::new(),
            })
            .collect();
        for (nodes, programs) in applications {
            let part_of = |node: u32| {
                let terminal = layout.terminal_of(node);
                parts.iter().position(|part| part.network.terminals().contains(&terminal)).unwrap_or(0)
            };
            let mut own: Vec<Vec<(u32, Rank)>> = parts.iter().map(|_| Vec::new()).collect();
            let mut places = Vec::with_capacity(nodes.len());
            for (number, (node, program)) in (0..).zip(nodes.iter().zip(programs)) {
                let part = &mut own[part_of(*node)];
                places.push(part.len() as u32);
                part.push((number, Rank::new(program)));
            }
            let (nodes, places): (Arc<[u32]>, Arc<[u32]>) = (nodes.into(), places.into());
            for (part, own) in parts.iter_mut().zip(own) {
                let ranks = Ranks::new(places.clone(), own);
                part.applications.push(Application { nodes: nodes.clone(), ranks });
            }
        }
        Ok(Machine { settings, layout, parts, ahead, names: Vec::new() })
    }

    /// The same with names for its applications, in their order, which messages call them.
    #[must_use]
    pub fn named(self, names: Vec<String>) -> Machine {
        Machine { names, ..self }
    }

    /// What messages call an application.
    pub(super) fn name(&self, application: usize) -> String {
        self.names.get(application).cloned().unwrap_or_else(|| format!("application {application}"))
    }

    /// What the network counted.
    pub fn findings(&self) -> Findings {
        Findings::of(self.parts.iter().map(|part| &part.network), self.settings.threads)
    }

    /// The burst buffers.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        (0..self.layout.servers()).filter_map(|server| {
            let terminal = self.layout.server_terminal(server);
            let part = self.parts.iter().find(|part| part.network.terminals().contains(&terminal))?;
            Some(&part.servers[server as usize])
        })
    }

    /// Runs until nothing more happens. `goes_on` is asked now and then, with the simulated time and the number of packets that
    /// have arrived.
    ///
    /// # Errors
    /// `Invalid` for a program that waits for what never comes, with who waits for what; `Interrupted` when `goes_on` said no.
    pub fn run(&mut self, goes_on: impl FnMut(Picos, u64) -> bool) -> Result<Vec<ApplicationResult>> {
        self.parts.iter_mut().try_for_each(Partition::start)?;
        network::run(&mut self.parts, self.settings.threads, self.ahead, goes_on)?;
        self.check_ended()?;
        let latencies = self.findings().counters.message_latency;
        let results = latencies.into_iter().enumerate().map(|(application, latency)| {
            result(self.parts.iter().map(|part| &part.applications[application]), latency)
        });
        Ok(results.collect())
    }

    /// All ranks with their applications, in order.
    pub(super) fn ranks(&self) -> Vec<(usize, u32, &Rank)> {
        let mut ranks = Vec::new();
        for part in &self.parts {
            for (number, application) in part.applications.iter().enumerate() {
                ranks.extend(application.ranks.iter().map(|(rank, state)| (number, rank, state)));
            }
        }
        ranks.sort_by_key(|(application, rank, _)| (*application, *rank));
        ranks
    }
}

fn check(layout: &Layout, applications: &[(Vec<u32>, Vec<Program>)]) -> Result<()> {
    let refused = |detail: String| Err(Error::new(Kind::Invalid, "scenario: placement", detail));
    let mut taken = vec![false; layout.nodes() as usize];
    for (nodes, programs) in applications {
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
                    return refused(format!("there is no compute node {node}; there are {}", layout.nodes()))
                }
                Some(true) => return refused(format!("node {node} is given to two ranks")),
                Some(free) => *free = true,
            }
        }
    }
    Ok(())
}
