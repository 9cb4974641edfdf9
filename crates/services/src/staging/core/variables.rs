//! Defining variables, asking how they are, and what is noted about them.

use super::super::message::Reply;
use super::super::Definition;
use super::get::Describing;
use super::state::{refused, Staging, VariablePlace};
use super::variable::Variable;
use super::waiting::Id;
use super::{Ground, Output, PeerId};
use std::ops::Bound;
use thalweg_foundation::array::Region;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};

/// Variables of one service.
const VARIABLES_MAX: usize = 4096;
/// Bytes of all that is noted about one variable.
const ATTRIBUTES_MAX: usize = 64 << 10;
const PAGE: usize = 512;

impl Staging {
    pub(super) fn variable(&self, place: &VariablePlace) -> Result<&Variable> {
        self.variables.get(place).ok_or_else(|| {
            let detail = format!("there is no variable {:?}; define it first", place.1.as_str());
            Error::new(Kind::NotFound, "stage", detail)
        })
    }

    fn defined(&self, place: &VariablePlace) -> Reply {
        match self.variable(place) {
            Ok(v) => Reply::Defined {
                definition: Box::new(v.definition.clone()),
                part: v.part,
                attributes: v.attributes.clone().into_iter().collect(),
            },
            Err(e) => Reply::Failed(e),
        }
    }

    pub(super) fn define(
        &mut self,
        place: VariablePlace,
        definition: Definition,
        part: Region,
        out: &mut Vec<Output>,
    ) -> Reply {
        if let Err(e) = definition.check() {
            return Reply::Failed(e);
        }
        if part.is_empty() || !definition.whole().contains(&part) {
            let detail = format!("part {part} of domain {}", definition.whole());
            return refused(Kind::Shape, "stage.define", detail);
        }
        if let Some(there) = self.variables.get_mut(&place) {
            return match differing(&there.definition, &definition, &there.part, &part) {
                Some(what) => {
                    let detail = format!("variable {:?} is there already with {what}", place.1.as_str());
                    refused(Kind::Exists, "stage.define", detail)
                }
                None => {
                    there.definition.register(&definition.layouts);
                    self.defined(&place)
                }
            };
        }
        if self.variables.len() >= VARIABLES_MAX {
            let detail = format!("{VARIABLES_MAX} variables are defined, which is the limit");
            return refused(Kind::Full, "stage.define", detail);
        }
        self.variables.insert(place.clone(), Variable::new(definition, part));
        let waiting: Vec<Id> =
            self.describing.iter().filter(|(_, d)| d.place == place).map(|(id, _)| *id).collect();
        for (peer, id) in waiting {
            if let Some(wait) = self.describing.remove(&(peer, id)) {
                self.deadlines.remove(&(wait.deadline, peer, id));
                out.push(Output::Send { to: peer, id, reply: self.defined(&place) });
            }
        }
        self.defined(&place)
    }

    pub(super) fn describe(
        &mut self,
        peer: PeerId,
        id: u64,
        place: VariablePlace,
        within: Nanos,
    ) -> Option<Reply> {
        if self.is_pending(peer, id) {
            return None;
        }
        if self.variables.contains_key(&place) {
            return Some(self.defined(&place));
        }
        if let Err(e) = self.may_wait(peer, "stage.open") {
            return Some(Reply::Failed(e));
        }
        let wait = Describing { place, asked: self.now, deadline: self.now.after(within) };
        if within == Nanos(0) {
            return Some(refused(Kind::Timeout, "stage.open", self.still_undefined(&wait, peer)));
        }
        self.deadlines.insert((wait.deadline, peer, id));
        self.describing.insert((peer, id), wait);
        None
    }

    pub(super) fn still_undefined(&self, wait: &Describing, peer: PeerId) -> String {
        let (space, name) = &wait.place;
        let others = self.others(peer, &|other| other == space);
        let within = wait.deadline.since(wait.asked);
        format!(
            "variable {:?} in namespace {:?} was not defined within {within}; connected: {others}",
            name.as_str(),
            space.as_str()
        )
    }

    pub(super) fn list_variables(&self, namespace: Name, after: Option<Name>) -> Reply {
        let from = match after {
            Some(name) => Bound::Excluded((namespace.clone(), name)),
            None => Bound::Included((namespace.clone(), Name::first())),
        };
        let mut rest =
            self.variables.range((from, Bound::Unbounded)).take_while(|((space, _), _)| *space == namespace);
        let names = rest.by_ref().take(PAGE).map(|((_, name), _)| name.clone()).collect();
        Reply::Variables { names, more: rest.next().is_some() }
    }

    pub(super) fn list_versions(&self, place: &VariablePlace, after: Option<Version>) -> Reply {
        let variable = match self.variable(place) {
            Ok(variable) => variable,
            Err(e) => return Reply::Failed(e),
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = variable.versions.range((from, Bound::Unbounded));
        let page = rest.by_ref().take(PAGE);
        let versions = page.map(|(v, i)| i.state(*v, &variable.definition, &variable.part)).collect();
        Reply::Versions { versions, more: rest.next().is_some() }
    }

    pub(super) fn annotate(&mut self, place: &VariablePlace, attribute: String, value: String) -> Reply {
        let Some(variable) = self.variables.get_mut(place) else { return self.defined(place) };
        let others = variable.attributes.iter().filter(|(a, _)| **a != attribute);
        let bytes = others.map(|(a, v)| a.len() + v.len()).sum::<usize>() + attribute.len() + value.len();
        if attribute.is_empty() || bytes > ATTRIBUTES_MAX {
            let detail = format!(
                "attribute {attribute:?} makes {bytes} bytes of attributes of {:?}; accepted are a name and at most {ATTRIBUTES_MAX}",
                place.1.as_str()
            );
            return refused(Kind::Invalid, "stage.attribute", detail);
        }
        match value.is_empty() {
            true => variable.attributes.remove(&attribute),
            false => variable.attributes.insert(attribute, value),
        };
        Reply::Done
    }

    /// Forgets all variables of a namespace; how many versions they had. Who waits for one is told.
    pub(super) fn drop_variables(
        &mut self,
        namespace: &Name,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> u64 {
        let places: Vec<VariablePlace> =
            self.variables.keys().filter(|(space, _)| space == namespace).cloned().collect();
        let mut dropped = 0;
        for place in places {
            let versions: Vec<Version> =
                self.variables.get(&place).into_iter().flat_map(|v| v.versions.keys().copied()).collect();
            dropped += versions.len() as u64;
            versions.into_iter().for_each(|version| {
                self.remove_instance(&place, version, ground);
            });
            let gets: Vec<Id> =
                self.variables.get(&place).into_iter().flat_map(|v| v.gets.iter().copied()).collect();
            for (peer, id) in gets {
                self.forget_get((peer, id));
                let detail = format!("variable {:?} was dropped with its namespace", place.1.as_str());
                let reply = refused(Kind::NotFound, "stage.get", detail);
                out.push(Output::Send { to: peer, id, reply });
            }
            self.variables.remove(&place);
        }
        dropped
    }
}

/// In what the definition that is there differs from a new one, in words.
fn differing(there: &Definition, new: &Definition, part: &Region, new_part: &Region) -> Option<String> {
    let dims = |d: &Definition| format!("{:?}", d.domain);
    let keep = |d: &Definition| d.keep_last.map_or("every version".to_string(), |n| n.to_string());
    if there.cell != new.cell {
        let fields = if there.cell.dtype() == new.cell.dtype() { " and other fields" } else { "" };
        return Some(format!("cells of {}{fields}, not {}", there.cell.dtype(), new.cell.dtype()));
    }
    let pairs = [
        ("domain", dims(there), dims(new)),
        ("strategy", there.strategy.to_string(), new.strategy.to_string()),
        ("keep_last", keep(there), keep(new)),
        ("writers", there.writers.to_string(), new.writers.to_string()),
        ("part", part.to_string(), new_part.to_string()),
    ];
    pairs.into_iter().find(|(_, a, b)| a != b).map(|(what, a, b)| format!("{what} {a}, not {b}"))
}
