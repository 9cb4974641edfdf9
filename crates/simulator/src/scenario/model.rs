//! Whose rules hold on a machine.

use crate::mpi::Protocol;
use crate::network::routing::Routing;
use crate::network::Parameters;
use crate::storage::{Arrangement, Storage};
use thalweg_foundation::{Error, Kind, Result};

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// What is right.
    #[default]
    Right,
    /// What the MFNetSim paper says.
    Paper,
    /// What its published artifact does.
    Artifact,
}

impl Model {
    /// All, with their names.
    pub const NAMES: [(&'static str, Model); 3] =
        [("default", Model::Right), ("paper", Model::Paper), ("mfnetsim-artifact", Model::Artifact)];

    /// The model of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Model> {
        Model::NAMES.iter().find(|(known, _)| *known == name).map(|(_, model)| *model).ok_or_else(|| {
            let known: Vec<_> = Model::NAMES.iter().map(|(name, _)| *name).collect();
            let detail = format!("there is no model {name:?}; accepted are {}", known.join(", "));
            Error::new(Kind::Invalid, "scenario: model", detail)
        })
    }

    /// Its network.
    pub fn parameters(self, routing: Routing) -> Parameters {
        match self {
            Model::Right => Parameters::right(routing),
            Model::Paper => Parameters::paper(routing),
            Model::Artifact => Parameters::artifact(routing),
        }
    }

    /// How its ranks hand messages to the network.
    pub fn protocol(self) -> Protocol {
        match self {
            Model::Right | Model::Paper => Protocol::right(),
            Model::Artifact => Protocol::artifact(),
        }
    }

    /// Where and on what its ranks store their data.
    pub fn storage(self) -> Storage {
        match self {
            Model::Right | Model::Paper => Storage::paper(Arrangement::ComputeSide),
            Model::Artifact => Storage::artifact(),
        }
    }
}
