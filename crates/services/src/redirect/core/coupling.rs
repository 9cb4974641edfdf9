//! A coupling: which components have ended, and whether one of them failed.

use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind};

/// What is known of the components that exchange files.
#[derive(Clone, Debug, Default)]
pub struct Coupling {
    ended: BTreeSet<Name>,
    running: BTreeSet<Name>,
    failed: BTreeMap<Name, String>,
}

impl Coupling {
    /// A process of `component` has come.
    pub fn joined(&mut self, component: &Name) {
        // One that was started again; a failure is not made good by another process of who failed.
        if self.ended.remove(component) {
            self.failed.remove(component);
        }
    }

    /// All processes of `component` have ended.
    pub fn ended(&mut self, component: Name, running: Vec<Name>, failure: Option<String>) {
        self.running = running.into_iter().collect();
        if let Some(failure) = failure {
            self.failed.insert(component.clone(), failure);
        }
        self.ended.insert(component);
    }

    /// A process of `component` cannot go on.
    pub fn failed(&mut self, component: Name, why: String) {
        self.failed.insert(component, why);
    }

    /// Why nothing can be exchanged any more, as a component failed.
    pub fn failure(&self) -> Option<Error> {
        let (component, why) = self.failed.iter().next()?;
        let detail = format!("component {:?} failed: {why}", component.as_str());
        Some(Error::new(Kind::Gone, "redirect", detail))
    }

    /// Whether `component` has ended.
    pub fn has_ended(&self, component: &Name) -> bool {
        self.ended.contains(component)
    }

    /// Whether nobody but `component` is left, as far as one was told.
    pub fn only(&self, component: &Name) -> bool {
        !self.ended.is_empty() && self.running.iter().all(|running| running == component)
    }
}
