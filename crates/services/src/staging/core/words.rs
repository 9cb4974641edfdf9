//! What a get is told when it cannot be answered: what is missing, who put the rest, and who could put it.

use super::super::message::Which;
use super::get::Get;
use super::state::Staging;
use super::variable::{Instance, Variable};
use super::PeerId;
use thalweg_foundation::array::Region;
use thalweg_foundation::Version;

/// Pieces and regions that a message to people names.
const NAMED: usize = 4;

impl Staging {
    /// Says what is missing, who has put what is there, and who could put the rest.
    pub(super) fn still_incomplete(&self, get: &Get, peer: PeerId) -> String {
        let within = get.deadline.since(get.asked);
        let (space, name) = &get.place;
        let others = self.others(peer, &|other| other == space);
        let variable = self.variables.get(&get.place);
        let name = name.as_str();
        match get.which {
            Which::Exactly(version) => {
                let instance = variable.and_then(|v| v.versions.get(&version));
                let Some(instance) = instance else {
                    return format!(
                        "nothing of version {} of {name:?} was put within {within}; connected: {others}",
                        version.0
                    );
                };
                let seals = match variable {
                    Some(v) if instance.covers(&get.region) => {
                        format!("{} of {} writers have sealed it", instance.seals.len(), v.definition.writers)
                    }
                    _ => format!("cells {} are missing", missing(instance, &get.region)),
                };
                let left: Vec<&str> = instance.left.iter().map(|w| &**w).take(NAMED).collect();
                let left = match left.is_empty() {
                    true => String::new(),
                    false => format!("; gone since they put part of it: {}", left.join(", ")),
                };
                format!(
                    "version {} of {name:?} was not complete within {within}: {seals}; put by {}{left}; connected: {others}",
                    version.0,
                    writers(instance)
                )
            }
            Which::UpTo(_) | Which::From(_) => {
                let from = match get.which {
                    Which::From(version) if version.0 > 0 => format!(" from {} on", version.0),
                    Which::UpTo(version) if version.0 < u64::MAX => format!(" up to {}", version.0),
                    _ => String::new(),
                };
                let there = variable.map_or(0, |v| v.versions.len());
                format!(
                    "no version of {name:?}{from} had all cells of {} within {within}; {there} versions are there; connected: {others}",
                    get.region
                )
            }
        }
    }
}

/// The first cells of `region` that are missing, in words.
pub(super) fn missing(instance: &Instance, region: &Region) -> String {
    let missing = region.outside(instance.cover.iter().map(|(there, _)| there), NAMED + 1);
    let named: Vec<String> = missing.iter().take(NAMED).map(Region::to_string).collect();
    match missing.len() <= NAMED {
        true => named.join(", "),
        false => {
            let cells = region.cells() - instance.covered_of(region);
            format!("{} and others, {cells} in all,", named.join(", "))
        }
    }
}

/// Who put a version's pieces, in words.
fn writers(instance: &Instance) -> String {
    let mut names: Vec<&str> = instance.pieces.iter().map(|p| &*p.writer).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "nobody".into(),
        n if n <= NAMED => names.join(", "),
        n => format!("{} and {} more", names[..NAMED].join(", "), n - NAMED),
    }
}

/// That a version is past, in words.
pub(super) fn past(variable: &Variable, get: &Get, version: Version) -> String {
    let keep = variable.definition.keep_last.map_or(String::new(), |n| format!(", keep_last is {n}"));
    let newest = variable.newest().map_or(String::new(), |v| format!(", the newest complete one is {}", v.0));
    format!(
        "version {} of {:?} is past: it was released or dropped{keep}{newest}",
        version.0,
        get.place.1.as_str()
    )
}
