//! A part of a machine: what lies on its terminals, and the part of the network between them.
//!
//! What is done about a message touches nothing but what belongs to the terminal that it arrived at: other parts may be at another
//! time. What has to pass between terminals passes in an [`Envelope`].

use super::application::Application;
use super::envelope::Envelope;
use super::machine::Settings;
use super::placement::Layout;
use crate::network::{Carrier, Notice, Side};
use crate::storage::{Device, Job, Server};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_foundation::Result;

/// What lies in one part.
pub struct Partition {
    pub(super) settings: Arc<Settings>,
    pub(super) layout: Layout,
    pub(super) network: Carrier<Envelope>,
    pub(super) applications: Vec<Application>,
    /// All servers by their numbers; those that lie elsewhere stay idle.
    pub(super) servers: Vec<Server>,
    /// Devices in compute nodes, by node.
    pub(super) local: HashMap<u32, Device>,
    pub(super) jobs: Vec<Job>,
    pub(super) free_jobs: Vec<u32>,
}

impl Partition {
    /// Lets all its ranks begin.
    ///
    /// # Errors
    /// Those of their operations.
    pub(super) fn start(&mut self) -> Result<()> {
        for application in 0..self.applications.len() {
            let ranks: Vec<u32> =
                self.applications[application].ranks.iter().map(|(number, _)| number).collect();
            for rank in ranks {
                self.advance(application, rank as usize)?;
            }
        }
        Ok(())
    }
}

impl Side for Partition {
    type Content = Envelope;

    fn network(&mut self) -> &mut Carrier<Envelope> {
        &mut self.network
    }

    fn delivered(&self) -> u64 {
        self.network.counters().delivered
    }

    fn notice(&mut self, notice: Notice<Envelope>) -> Result<()> {
        self.hear(notice)
    }
}
