//! Fat trees: every router of a level has the same number of links down, and of links up.
//!
//! Source: S. R. Öhring et al., On generalized fat trees, IPPS 1995 (extended generalized fat trees); a k-ary n-tree is the one
//! whose routers have k links each way. Routers are numbered subtree by subtree, those of the top level last; a router's ports
//! are first those that lead down.

use super::super::counters::LinkKind;
use super::{refused, within, End, MOST_PORTS};
use thalweg_foundation::Result;

/// A fat tree by its numbers.
#[derive(Clone, Debug)]
pub struct FatTree {
    levels: Vec<Level>,
    /// Routers of a subtree below the top level, and of all subtrees.
    subtree: u32,
    below: u32,
    terminals: u32,
    radix: u32,
    /// The level of each router of a subtree.
    level_in_subtree: Vec<u8>,
}

/// One level of routers, the lowest first.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Links of a router down and up.
    down: u32,
    up: u32,
    /// Terminals below a router, and below one of its links.
    reach: u32,
    step: u32,
    /// Routers that reach the same terminals.
    replicas: u32,
    /// Where the level begins within a subtree.
    first: u32,
}

/// Where a router is: its level, which terminals it reaches (counted in such sets), and which of those that reach them it is.
#[derive(Clone, Copy, Debug)]
struct Spot {
    level: usize,
    set: u32,
    replica: u32,
}

impl FatTree {
    /// A tree whose routers of level i (from the terminals up) have `down[i]` links down, and `up[i]` links up; those of the top
    /// level have none, so `up` is shorter by one.
    ///
    /// # Errors
    /// `Invalid` when a number is zero or too large, or there is no or more than eight levels, or not one `up` fewer than `down`.
    pub fn new(down: &[u32], up: &[u32]) -> Result<FatTree> {
        within("fat tree", "levels", down.len() as u64, 1, 8)?;
        if up.len() + 1 != down.len() {
            let detail = format!(
                "{} levels of links up for {} levels down; needed is one less: the top has none",
                up.len(),
                down.len()
            );
            return Err(refused("fat tree", detail));
        }
        for (name, links) in [("down", down), ("up", up)] {
            for (level, links) in links.iter().enumerate() {
                within("fat tree", &format!("{name}[{level}]"), u64::from(*links), 1, 65_535)?;
            }
        }
        let terminals = down.iter().try_fold(1u32, |all, links| all.checked_mul(*links));
        let terminals = terminals.filter(|all| u64::from(*all) <= MOST_PORTS);
        let terminals =
            terminals.ok_or_else(|| refused("fat tree", format!("down = {down:?}: too many terminals")))?;
        let mut levels: Vec<Level> = Vec::new();
        let (mut reach, mut replicas) = (1u64, 1u64);
        for (index, links) in down.iter().enumerate() {
            let step = reach;
            reach *= u64::from(*links);
            if index > 0 {
                replicas *= u64::from(up[index - 1]);
            }
            let up = up.get(index).copied().unwrap_or(0);
            let routers = u64::from(terminals) / reach * replicas;
            if routers * u64::from(links + up) > MOST_PORTS {
                let detail = format!(
                    "level {index} has {routers} routers; at most {MOST_PORTS} ports can be numbered"
                );
                return Err(refused("fat tree", detail));
            }
            levels.push(Level {
                down: *links,
                up,
                reach: reach as u32,
                step: step as u32,
                replicas: replicas as u32,
                first: 0,
            });
        }
        let top = levels.len() - 1;
        // All but the top level lie in subtrees, one for each link of a top router.
        let (mut level_in_subtree, mut subtree) = (Vec::new(), 0);
        let under = levels[top].step;
        for (index, level) in levels[..top].iter_mut().enumerate() {
            level.first = subtree;
            let routers = under / level.reach * level.replicas;
            subtree += routers;
            level_in_subtree.extend(std::iter::repeat_n(index as u8, routers as usize));
        }
        let below = subtree * levels[top].down;
        let radix = levels.iter().map(|level| level.down + level.up).max().unwrap_or(0);
        let routers = u64::from(below) + u64::from(levels[top].replicas);
        if routers * u64::from(radix) > MOST_PORTS {
            let detail =
                format!("{routers} routers of {radix} ports; at most {MOST_PORTS} ports can be numbered");
            return Err(refused("fat tree", detail));
        }
        Ok(FatTree { levels, subtree, below, terminals, radix, level_in_subtree })
    }

    /// The k-ary n-tree: `levels` levels of routers with `arity` links down and as many up.
    ///
    /// # Errors
    /// As [`FatTree::new`].
    pub fn k_ary(arity: u32, levels: u32) -> Result<FatTree> {
        within("fat tree", "levels", u64::from(levels), 1, 8)?;
        FatTree::new(&vec![arity; levels as usize], &vec![arity; levels as usize - 1])
    }

    pub(super) fn router_count(&self) -> u32 {
        self.below + self.levels[self.levels.len() - 1].replicas
    }

    pub(super) fn terminal_count(&self) -> u32 {
        self.terminals
    }

    pub(super) fn radix(&self) -> u32 {
        self.radix
    }

    pub(super) fn has(&self, kind: LinkKind) -> bool {
        match kind {
            LinkKind::Local => self.levels.len() > 2,
            _ => self.levels.len() > 1,
        }
    }

    pub(super) fn group_size(&self) -> u32 {
        if self.levels.len() == 1 {
            self.terminals
        } else {
            self.levels[self.levels.len() - 1].step
        }
    }

    #[inline]
    pub(super) fn router_of(&self, terminal: u32) -> u32 {
        self.number(Spot { level: 0, set: terminal / self.levels[0].reach, replica: 0 })
    }

    pub(super) fn firsts(&self) -> Vec<u32> {
        let subtrees = (0..self.below).step_by(self.subtree.max(1) as usize);
        subtrees.chain(self.below..self.router_count()).collect()
    }

    pub(super) fn end(&self, router: u32, index: u32) -> End {
        let spot = self.spot(router);
        let level = &self.levels[spot.level];
        if index < level.down {
            if spot.level == 0 {
                return End::Terminal(spot.set * level.down + index);
            }
            let lower = &self.levels[spot.level - 1];
            let child = Spot {
                level: spot.level - 1,
                set: spot.set * level.down + index,
                replica: spot.replica % lower.replicas,
            };
            let port = self.number(child) * self.radix + lower.down + spot.replica / lower.replicas;
            return End::Router { kind: self.kind(spot.level), port };
        }
        if index < level.down + level.up {
            let upper = &self.levels[spot.level + 1];
            let parent = Spot {
                level: spot.level + 1,
                set: spot.set / upper.down,
                replica: (index - level.down) * level.replicas + spot.replica,
            };
            let port = self.number(parent) * self.radix + spot.set % upper.down;
            return End::Router { kind: self.kind(spot.level + 1), port };
        }
        End::Nothing
    }

    /// Links to the top level are the long ones.
    fn kind(&self, upper: usize) -> LinkKind {
        if upper + 1 == self.levels.len() {
            LinkKind::Global
        } else {
            LinkKind::Local
        }
    }

    /// The way to a terminal: the port down, or all the ports up and the one of them that the terminal's number chooses (d-mod-k:
    /// E. Zahavi et al., Optimized InfiniBand fat-tree routing, CCPE 22 (2010)).
    #[inline]
    pub(in super::super) fn toward(&self, router: u32, terminal: u32) -> Way {
        let spot = self.spot(router);
        let level = &self.levels[spot.level];
        if terminal / level.reach == spot.set {
            return Way::Down((terminal / level.step % level.down) as u16);
        }
        let first = level.down as u16;
        Way::Up {
            first,
            count: level.up as u16,
            usual: first + (terminal / level.replicas % level.up) as u16,
        }
    }

    #[inline]
    fn spot(&self, router: u32) -> Spot {
        let top = self.levels.len() - 1;
        if router >= self.below {
            return Spot { level: top, set: 0, replica: router - self.below };
        }
        let (subtree, inside) = (router / self.subtree, router % self.subtree);
        let number = usize::from(self.level_in_subtree[inside as usize]);
        let level = &self.levels[number];
        let sets = self.levels[top].step / level.reach;
        let inside = inside - level.first;
        Spot {
            level: number,
            set: subtree * sets + inside / level.replicas,
            replica: inside % level.replicas,
        }
    }

    fn number(&self, spot: Spot) -> u32 {
        let top = self.levels.len() - 1;
        if spot.level == top {
            return self.below + spot.replica;
        }
        let level = &self.levels[spot.level];
        let sets = self.levels[top].step / level.reach;
        spot.set / sets * self.subtree + level.first + spot.set % sets * level.replicas + spot.replica
    }
}

/// How a router of a tree reaches a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By this port down.
    Down(u16),
    /// By any of `count` ports up from `first`; by `usual` when nothing speaks against it.
    Up {
        /// The first port up.
        first: u16,
        /// How many there are.
        count: u16,
        /// The one that the terminal's number chooses.
        usual: u16,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_ends_at_its_terminal_whichever_port_up_is_taken() {
        for tree in [FatTree::k_ary(3, 3).unwrap(), FatTree::new(&[4, 2, 3], &[3, 2]).unwrap()] {
            for (from, to) in (0..tree.terminals).flat_map(|a| (0..tree.terminals).map(move |b| (a, b))) {
                for choice in 0..3 {
                    let (mut router, mut hops) = (tree.router_of(from), 1);
                    loop {
                        let port = match tree.toward(router, to) {
                            Way::Down(port) => port,
                            Way::Up { first, count, usual } => {
                                assert!((first..first + count).contains(&usual));
                                first + choice % count
                            }
                        };
                        match tree.end(router, u32::from(port)) {
                            End::Terminal(terminal) => break assert_eq!(terminal, to),
                            End::Router { port, .. } => router = port / tree.radix,
                            End::Nothing => panic!("port {port} of router {router} leads nowhere"),
                        }
                        hops += 1;
                        assert!(hops <= 5, "at most twice up, and as often down");
                    }
                }
            }
        }
    }

    #[test]
    fn a_k_ary_tree_has_as_many_routers_on_every_level() {
        let tree = FatTree::k_ary(4, 3).unwrap();
        assert_eq!((tree.terminals, tree.router_count(), tree.group_size()), (64, 48, 16));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let message = |down: &[u32], up: &[u32]| FatTree::new(down, up).unwrap_err().message;
        assert_eq!(message(&[], &[]), "topology: fat tree: levels = 0; accepted are 1 to 8");
        assert_eq!(message(&[4, 0], &[4]), "topology: fat tree: down[1] = 0; accepted are 1 to 65535");
        assert_eq!(
            message(&[4, 4], &[]),
            "topology: fat tree: 0 levels of links up for 2 levels down; needed is one less: the top has none"
        );
        assert_eq!(
            message(&[60_000, 60_000], &[1]),
            "topology: fat tree: down = [60000, 60000]: too many terminals"
        );
    }
}
