//! What components have written of a file's variables, so that none takes for values what nobody wrote.

use super::super::message::{Hole, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::array::Region;
use thalweg_foundation::base::Name;

/// The most parts that are kept of a variable, and variables of a file; what is beyond counts as written.
const PARTS_MAX: usize = 1 << 12;
const VARIABLES_MAX: usize = 1 << 16;
/// The most parts that are looked for when one is put beside those that are there.
const FRAGMENTS_MAX: usize = 1 << 8;

/// The parts of a file that were written, as far as its writers told.
#[derive(Clone, Debug, Default)]
pub struct Written {
    by: BTreeSet<Name>,
    /// A writer did not tell what it wrote.
    unknown: bool,
    variables: BTreeMap<u32, Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    whole: Region,
    /// They do not meet.
    parts: Vec<Region>,
}

impl Written {
    /// A process of `component` has it open for writing.
    pub fn opened_by(&mut self, component: &Name) {
        if !self.by.contains(component) {
            self.by.insert(component.clone());
        }
    }

    /// Whoever closes a file without a word may have written all of it.
    pub fn unknown(&mut self) {
        self.unknown = true;
        self.variables.clear();
    }

    /// Parts of a variable were written.
    pub fn add(&mut self, wrote: &Wrote) {
        if self.unknown
            || (self.variables.len() >= VARIABLES_MAX && !self.variables.contains_key(&wrote.variable))
        {
            return;
        }
        let fresh = || Variable { whole: wrote.whole, parts: Vec::new() };
        let variable = self.variables.entry(wrote.variable).or_insert_with(fresh);
        match variable.whole.hull(&wrote.whole) {
            Some(hull) => variable.whole = hull,
            None => *variable = fresh(), // it is another one now
        }
        for part in &wrote.parts {
            let beside = part.outside(variable.parts.iter(), FRAGMENTS_MAX);
            if beside.len() >= FRAGMENTS_MAX || variable.parts.len() + beside.len() > PARTS_MAX {
                variable.parts = vec![variable.whole];
                return;
            }
            variable.parts.extend(beside);
        }
    }

    /// What nobody has written, at most `most` regions; none for a component that wrote some of it itself and knows better.
    pub fn holes(&self, reader: &Name, most: usize) -> Vec<Hole> {
        if self.unknown || self.by.contains(reader) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (number, variable) in &self.variables {
            let covered: u128 = variable.parts.iter().map(Region::cells).sum();
            if covered < variable.whole.cells() {
                let left = joined(variable.whole.outside(variable.parts.iter(), most - found.len()));
                found.extend(left.into_iter().map(|region| Hole { variable: *number, region }));
            }
            if found.len() >= most {
                break;
            }
        }
        found
    }
}

/// Regions that do not meet, with those in one that are one box together.
fn joined(pieces: Vec<Region>) -> Vec<Region> {
    let mut result: Vec<Region> = Vec::new();
    for mut piece in pieces {
        while let Some(at) = result.iter().position(|other| together(other, &piece).is_some()) {
            piece = together(&result.swap_remove(at), &piece).unwrap_or(piece);
        }
        result.push(piece);
    }
    result.sort();
    result
}

fn together(a: &Region, b: &Region) -> Option<Region> {
    a.hull(b).filter(|hull| hull.cells() == a.cells() + b.cells())
}
