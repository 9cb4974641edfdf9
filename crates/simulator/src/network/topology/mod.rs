//! Topologies: how routers and terminals are joined. One topology, one file, and one line of each match here.
//!
//! Routers, terminals, and ports through all routers are numbered from zero; `router · radix + index` is the number of a port.

mod dragonfly;
mod fat_tree;
mod torus;

pub use dragonfly::{Dragonfly, Gateway};
pub use fat_tree::{FatTree, Way};
pub use torus::Torus;

use super::counters::LinkKind;
use thalweg_foundation::{Error, Kind, Result};

/// Where the link of a port leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nowhere.
    Nothing,
    /// To a terminal.
    Terminal(u32),
    /// To a port of another router.
    Router {
        /// What kind of link it is.
        kind: LinkKind,
        /// The number of the port at its far end.
        port: u32,
    },
}

/// One of the topologies.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Groups of fully connected routers, and links between all pairs of groups.
    Dragonfly(Dragonfly),
    /// Levels of routers, each with links down and up.
    FatTree(FatTree),
    /// A grid whose ends are joined.
    Torus(Torus),
}

impl From<Dragonfly> for Topology {
    fn from(dragonfly: Dragonfly) -> Topology {
        Topology::Dragonfly(dragonfly)
    }
}

impl From<FatTree> for Topology {
    fn from(tree: FatTree) -> Topology {
        Topology::FatTree(tree)
    }
}

impl From<Torus> for Topology {
    fn from(torus: Torus) -> Topology {
        Topology::Torus(torus)
    }
}

/// What `$body` gives for whichever topology it is.
macro_rules! each {
    ($topology:expr, $known:ident => $body:expr) => {
        match $topology {
            Topology::Dragonfly($known) => $body,
            Topology::FatTree($known) => $body,
            Topology::Torus($known) => $body,
        }
    };
}

impl Topology {
    /// One switch with `terminals` terminals.
    ///
    /// # Errors
    /// `Invalid` for no terminals, or more than 65,535.
    pub fn single_switch(terminals: u32) -> Result<Topology> {
        Ok(FatTree::new(&[terminals], &[])?.into())
    }

    /// Routers in all.
    pub fn router_count(&self) -> u32 {
        each!(self, known => known.router_count())
    }

    /// Terminals in all.
    pub fn terminal_count(&self) -> u32 {
        each!(self, known => known.terminal_count())
    }

    /// Ports of the router that has most; the others leave theirs unused.
    pub fn radix(&self) -> u32 {
        each!(self, known => known.radix())
    }

    /// The router of a terminal. Of two terminals the one with the lower number has no higher router.
    #[inline]
    pub fn router_of(&self, terminal: u32) -> u32 {
        each!(self, known => known.router_of(terminal))
    }

    /// Where the port `index` of a router leads.
    pub fn end(&self, router: u32, index: u32) -> End {
        each!(self, known => known.end(router, index))
    }

    /// Whether it has links of a kind.
    pub fn has(&self, kind: LinkKind) -> bool {
        kind == LinkKind::Terminal || each!(self, known => known.has(kind))
    }

    /// Terminals that lie close together: those of a dragonfly's group, below a top of a tree, in a slab of a torus.
    pub fn group_size(&self) -> u32 {
        each!(self, known => known.group_size())
    }

    /// How many groups there are.
    pub fn groups(&self) -> u32 {
        self.terminal_count() / self.group_size()
    }

    /// The first routers of its groups, in order; routers that belong to none, such as a tree's tops, come last, each a group.
    pub(super) fn firsts(&self) -> Vec<u32> {
        each!(self, known => known.firsts())
    }
}

/// Refuses a number that is out of range, with its name.
fn within(topology: &str, name: &str, value: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(refused(topology, format!("{name} = {value}; accepted are {least} to {most}")))
}

fn refused(topology: &str, detail: String) -> Error {
    Error::new(Kind::Invalid, &format!("topology: {topology}"), detail)
}

/// The most ports that can be numbered.
const MOST_PORTS: u64 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_back_and_every_terminal_hangs_at_its_router() {
        let machines: Vec<Topology> = vec![
            Dragonfly::new(9, 4, 2, 2).unwrap().into(),
            Dragonfly::new(2, 1, 1, 1).unwrap().into(),
            Dragonfly::new(1, 4, 2, 0).unwrap().into(),
            FatTree::new(&[4, 4, 4], &[4, 4]).unwrap().into(),
            FatTree::new(&[6, 3, 2], &[3, 2]).unwrap().into(),
            FatTree::new(&[2, 3, 2, 2], &[1, 3, 2]).unwrap().into(),
            Topology::single_switch(5).unwrap(),
            Torus::new(&[4, 3, 2], 2).unwrap().into(),
            Torus::new(&[1, 5], 1).unwrap().into(),
        ];
        for machine in machines {
            let radix = machine.radix();
            let mut hung = vec![0; machine.terminal_count() as usize];
            let mut kinds = vec![LinkKind::Terminal];
            for router in 0..machine.router_count() {
                for index in 0..radix {
                    match machine.end(router, index) {
                        End::Nothing => {}
                        End::Terminal(terminal) => {
                            hung[terminal as usize] += 1;
                            assert_eq!(machine.router_of(terminal), router);
                        }
                        End::Router { kind, port } => {
                            kinds.push(kind);
                            let back = machine.end(port / radix, port % radix);
                            assert_eq!(
                                back,
                                End::Router { kind, port: router * radix + index },
                                "{machine:?}"
                            );
                        }
                    }
                }
            }
            assert!(hung.iter().all(|times| *times == 1), "{machine:?}");
            for kind in [LinkKind::Terminal, LinkKind::Local, LinkKind::Global] {
                assert_eq!(machine.has(kind), kinds.contains(&kind), "{machine:?} {kind:?}");
            }
            let firsts = machine.firsts();
            assert!(firsts[0] == 0 && firsts.is_sorted_by(|a, b| a < b));
            assert_eq!(machine.terminal_count() % machine.group_size(), 0);
        }
    }
}
