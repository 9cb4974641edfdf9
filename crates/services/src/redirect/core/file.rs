//! One file: who has it open, whose turn it is, and who may open it now.

use super::super::message::Access;
use super::super::rule::Rule;
use super::written::Written;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Error, Kind};

/// A process that has the file open.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Who.
    pub peer: PeerId,
    /// One of which component.
    pub component: Name,
    /// What for.
    pub access: Access,
    /// It is no turn.
    pub glance: bool,
    /// It was told what is written through it.
    pub told: bool,
}

/// Whether a file can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Now.
    Now,
    /// Not yet; for whom it waits, as in "waits for …".
    Wait(String),
    /// Not by this process.
    No(Error),
}

/// Why a file cannot be used.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Whose process did not close it.
    pub by: Name,
    /// What its users hear.
    pub error: Error,
}

/// The bytes of a file.
#[derive(Clone, Debug)]
pub struct Content {
    /// Their number.
    pub number: u64,
    /// What was written of them.
    pub written: Written,
}

/// A file that is redirected.
#[derive(Clone, Debug)]
pub struct File {
    /// The rule that it matched.
    pub rule: Rule,
    /// Where its bytes are; none: there is no file.
    pub content: Option<Content>,
    /// Who has it open.
    pub openings: BTreeMap<u64, Opening>,
    /// Why it cannot be used any more.
    pub failed: Option<Failure>,
    turn: u64,
    /// Processes who have done with this turn, or, without turns, with making the file, while others of their component have not.
    served: BTreeSet<PeerId>,
}

impl File {
    /// One that nobody has made.
    pub fn new(rule: Rule) -> File {
        File {
            rule,
            content: None,
            openings: BTreeMap::new(),
            failed: None,
            turn: 0,
            served: BTreeSet::new(),
        }
    }

    /// Whether nothing need be remembered of it.
    pub fn is_forgotten(&self) -> bool {
        self.content.is_none()
            && self.openings.is_empty()
            && self.failed.is_none()
            && self.served.is_empty()
            && self.rule.begins(self.turn)
    }

    /// The component whose turn it is.
    pub fn holder(&self) -> Option<&Name> {
        self.rule.component(self.turn)
    }

    /// Whether a process of `component` may open it for `access`; `at_once`: only its turn is waited for.
    pub fn admit(
        &self,
        path: &str,
        peer: PeerId,
        component: &Name,
        access: Access,
        at_once: bool,
    ) -> Verdict {
        let missing = || Verdict::No(none(path));
        if access == Access::Look {
            return if self.content.is_some() { Verdict::Now } else { missing() };
        }
        if !matches!(access, Access::Create { .. }) || self.holder().is_some() {
            if let Some(failed) = &self.failed {
                return Verdict::No(failed.error.clone());
            }
        }
        let mut at_once = at_once;
        if let Some(holder) = self.holder() {
            if !self.rule.turns.contains(component) {
                return Verdict::No(self.strange(path, component));
            }
            if holder != component {
                return Verdict::Wait(format!("component {:?}, whose turn it is", holder.as_str()));
            }
            at_once = true;
        }
        // Who is ahead of the others of its component would else find what they are still making, and unmake it.
        let anew = matches!(access, Access::Create { truncate: true, .. }) && self.is_written_by(component);
        if self.served.contains(&peer) && (anew || self.holder().is_some()) {
            let others = "the other processes of this component, which have not closed it";
            return Verdict::Wait(others.into());
        }
        let other = self.openings.values().find(|o| o.access.writes() && o.component != *component);
        match (access, &self.content) {
            (_, Some(_)) if other.is_some() => {
                let name = other.map_or("", |o| o.component.as_str());
                Verdict::Wait(format!("component {name:?}, which is writing it"))
            }
            (Access::Create { exclusive: true, .. }, Some(_)) => {
                let detail = format!("{path:?} is there already");
                Verdict::No(Error::new(Kind::Exists, "redirect.open", detail))
            }
            (Access::Create { .. }, _) | (_, Some(_)) => Verdict::Now,
            (_, None) if at_once => missing(),
            (_, None) => Verdict::Wait("a component that writes it".into()),
        }
    }

    fn strange(&self, path: &str, component: &Name) -> Error {
        let turns: Vec<&str> = self.rule.turns.iter().map(Name::as_str).collect();
        let detail = format!(
            "component {:?} has no turn with {path:?}; its turns are {}",
            component.as_str(),
            turns.join(", ")
        );
        Error::new(Kind::Access, "redirect.open", detail)
    }

    /// Whether a process of `component` has it open for writing.
    pub fn is_written_by(&self, component: &Name) -> bool {
        self.openings.values().any(|o| o.access.writes() && o.component == *component)
    }

    /// Whether it is open for writing.
    pub fn is_written(&self) -> bool {
        self.openings.values().any(|o| o.access.writes())
    }

    /// A process has done with it; true when a round of turns is over, so that nobody needs its content any more.
    pub fn closed(&mut self, opening: &Opening) -> bool {
        if opening.glance || opening.access == Access::Look {
            return false;
        }
        if self.rule.turns.is_empty() {
            if opening.access.writes() && self.is_written_by(&opening.component) {
                self.served.insert(opening.peer);
            } else if !self.is_written() {
                self.served.clear();
            }
            return false;
        }
        self.served.insert(opening.peer);
        if self.is_in_turn() {
            return false;
        }
        self.ends_turn();
        self.rule.begins(self.turn)
    }

    fn is_in_turn(&self) -> bool {
        self.openings.values().any(|o| !o.glance && o.access != Access::Look)
    }

    fn ends_turn(&mut self) {
        self.served.clear();
        self.turn += 1;
    }

    /// A process of `component` has given another file this one's name: who makes a file so has had its turn.
    pub fn renamed_by(&mut self, component: &Name) {
        if self.holder() == Some(component) && !self.is_in_turn() {
            self.ends_turn();
        }
    }

    /// A first process of `component` has come, all of whose processes had gone: what they did not close can be used again. In its turn,
    /// it finds what it left; any other file is made anew, and what was there of it is given back.
    pub fn began_again(&mut self, component: &Name) -> Option<Content> {
        self.failed.take_if(|failed| failed.by == *component)?;
        self.served.clear();
        self.content.take_if(|_| self.rule.turns.is_empty())
    }
}

/// What files are called that are made again and again: the name without its digits.
pub fn kind(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// There is no such file.
pub fn none(path: &str) -> Error {
    Error::new(Kind::NotFound, "redirect.open", format!("there is no {path:?}"))
}
