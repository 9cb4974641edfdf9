//! Policies of placement: which free nodes the ranks of an application get.

use super::placement::Layout;
use crate::engine::random::{self, Purpose};
use crate::network::topology::Topology;
use thalweg_foundation::{Error, Kind, Result};

/// The nodes of an application's ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// These, in the order of ranks.
    Listed(Vec<u32>),
    /// Free ones, by a policy.
    Chosen(Policy),
}

/// In which order free nodes are given to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// By their numbers.
    Contiguous,
    /// All nodes at random.
    RandomNodes,
    /// Router after router, these at random.
    RandomRouters,
    /// One of each group in turn.
    RoundRobinGroups,
}

impl Policy {
    /// All, with their names.
    pub const NAMES: [(&'static str, Policy); 4] = [
        ("contiguous", Policy::Contiguous),
        ("random-nodes", Policy::RandomNodes),
        ("random-routers", Policy::RandomRouters),
        ("round-robin-groups", Policy::RoundRobinGroups),
    ];

    /// The policy of a name.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Policy> {
        Policy::NAMES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy).ok_or_else(|| {
            let known: Vec<_> = Policy::NAMES.iter().map(|(name, _)| *name).collect();
            let detail = format!("there is no placement {name:?}; accepted are {}", known.join(", "));
            Error::new(Kind::Invalid, "scenario: placement", detail)
        })
    }

    /// All nodes in the order in which they are given.
    fn order(self, layout: &Layout, topology: &Topology, seed: u64) -> Vec<u32> {
        let draw = |entity: u32| random::bits(seed, Purpose::Placement, u64::from(entity), self as u64);
        let router = |node: u32| topology.router_of(layout.terminal_of(node));
        let mut nodes: Vec<u32> = (0..layout.nodes()).collect();
        match self {
            Policy::Contiguous => {}
            Policy::RandomNodes => nodes.sort_by_key(|node| (draw(*node), *node)),
            Policy::RandomRouters => nodes.sort_by_key(|node| (draw(router(*node)), *node)),
            Policy::RoundRobinGroups => nodes.sort_by_key(|node| (layout.place_in_group(*node), *node)),
        }
        nodes
    }
}

/// The nodes of applications, each with a name, a number of ranks and a wish. What is listed is given first, the rest in turn.
///
/// # Errors
/// `Invalid` for a list of another length, and when there are too few free nodes.
pub fn place(
    wishes: &[(String, u32, Nodes)],
    layout: &Layout,
    topology: &Topology,
    seed: u64,
) -> Result<Vec<Vec<u32>>> {
    let refused = |detail: String| Error::new(Kind::Invalid, "scenario: placement", detail);
    let mut taken = vec![false; layout.nodes() as usize];
    for (name, ranks, nodes) in wishes {
        let Nodes::Listed(nodes) = nodes else { continue };
        if nodes.len() != *ranks as usize {
            let detail = format!(
                "{} nodes for {name}, an application of {ranks} ranks; each rank needs one",
                nodes.len()
            );
            return Err(refused(detail));
        }
        for node in nodes {
            if let Some(taken) = taken.get_mut(*node as usize) {
                *taken = true;
            }
        }
    }
    let mut placed = Vec::new();
    for (name, ranks, nodes) in wishes {
        placed.push(match nodes {
            Nodes::Listed(nodes) => nodes.clone(),
            Nodes::Chosen(policy) => {
                let order = policy.order(layout, topology, seed).into_iter();
                let free: Vec<u32> =
                    order.filter(|node| !taken[*node as usize]).take(*ranks as usize).collect();
                if free.len() < *ranks as usize {
                    let buffers = match layout.servers() {
                        0 => String::new(),
                        servers => format!(
                            "; {servers} others are burst buffers, {} in each group of {} nodes",
                            servers / topology.groups(),
                            topology.group_size()
                        ),
                    };
                    return Err(refused(format!(
                        "{name} has {ranks} ranks; {} of {} compute nodes are free{buffers}",
                        free.len(),
                        layout.nodes()
                    )));
                }
                free.iter().for_each(|node| taken[*node as usize] = true);
                free
            }
        });
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::topology::Dragonfly;
    use crate::storage::Arrangement;

    fn placed(wishes: &[(u32, Nodes)]) -> Result<Vec<Vec<u32>>> {
        let topology = Dragonfly::new(5, 4, 2, 1).unwrap().into();
        let wishes: Vec<_> =
            wishes.iter().map(|(ranks, nodes)| ("it".to_owned(), *ranks, nodes.clone())).collect();
        place(&wishes, &Layout::of(&topology, Arrangement::ComputeSide), &topology, 7)
    }

    #[test]
    fn policies_give_free_nodes_in_their_order() {
        // Five groups of eight terminals, six of them compute nodes: thirty.
        let listed = Nodes::Listed(vec![1, 6]);
        let chosen = Nodes::Chosen;
        let found =
            placed(&[(3, chosen(Policy::Contiguous)), (2, listed), (6, chosen(Policy::RoundRobinGroups))]);
        assert_eq!(found.unwrap(), [vec![0, 2, 3], vec![1, 6], vec![12, 18, 24, 7, 13, 19]]);
        let routers = placed(&[(30, chosen(Policy::RandomRouters))]).unwrap().remove(0);
        // Three of a group's four routers have two compute nodes each, which lie side by side.
        assert!(routers.chunks(2).all(|pair| pair[0] + 1 == pair[1]), "{routers:?}");
        assert!(!routers.is_sorted());
        let mut nodes = placed(&[(30, chosen(Policy::RandomNodes))]).unwrap().remove(0);
        assert_ne!(nodes, routers);
        nodes.sort_unstable();
        assert_eq!(nodes, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let message = |wishes: &[(u32, Nodes)]| placed(wishes).unwrap_err().message;
        assert_eq!(
            message(&[(20, Nodes::Chosen(Policy::RandomNodes)), (11, Nodes::Chosen(Policy::Contiguous))]),
            "scenario: placement: it has 11 ranks; 10 of 30 compute nodes are free; 10 others are burst buffers, 2 in each group of 8 nodes"
        );
        assert_eq!(
            message(&[(2, Nodes::Listed(vec![3]))]),
            "scenario: placement: 1 nodes for it, an application of 2 ranks; each rank needs one"
        );
    }
}
