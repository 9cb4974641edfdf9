//! Where ranks and servers lie: compute nodes and burst buffers of a machine, and lists of nodes.

use crate::network::topology::Topology;
use crate::storage::Arrangement;
use std::collections::HashMap;
use thalweg_foundation::{Error, Kind, Result};

/// Which terminals are compute nodes, and which burst buffers: the last two of each group, as in the published artifact, or fewer
/// where groups are small, and none where nodes have storage of their own. The others are numbered through as compute nodes, and
/// share the burst buffers of their group evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    groups: u32,
    /// Compute nodes and burst buffers of a group.
    compute: u32,
    buffers: u32,
}

impl Layout {
    /// That of a machine whose storage is there.
    pub fn of(topology: &Topology, arrangement: Arrangement) -> Layout {
        let buffers = match arrangement {
            Arrangement::NodeLocal => 0,
            Arrangement::ComputeSide | Arrangement::StorageSide => (topology.group_size() / 2).min(2),
        };
        Layout { groups: topology.groups(), compute: topology.group_size() - buffers, buffers }
    }

    /// Compute nodes in all.
    pub fn nodes(&self) -> u32 {
        self.groups * self.compute
    }

    /// Burst buffers in all; none when groups are of one node.
    pub fn servers(&self) -> u32 {
        self.groups * self.buffers
    }

    /// The group of a compute node.
    pub fn group_of(&self, node: u32) -> u32 {
        node / self.compute
    }

    /// How many compute nodes of its group come before a compute node.
    pub fn place_in_group(&self, node: u32) -> u32 {
        node % self.compute
    }

    /// The terminal of a compute node, by its number among compute nodes.
    pub fn terminal_of(&self, node: u32) -> u32 {
        node / self.compute * (self.compute + self.buffers) + node % self.compute
    }

    /// The terminal of a burst buffer, by its number among burst buffers.
    pub fn server_terminal(&self, server: u32) -> u32 {
        (server / self.buffers + 1) * self.compute + server
    }

    /// The burst buffer of a compute node, where there are any: its number among burst buffers, and its terminal.
    pub fn burst_buffer_of(&self, node: u32) -> (u32, u32) {
        let within = node % self.compute * self.buffers / self.compute;
        let server = self.group_of(node) * self.buffers + within;
        (server, self.server_terminal(server))
    }
}

/// The node lists of a file: one application a line, numbers of compute nodes in the order of ranks.
///
/// # Errors
/// `Invalid`, with the line, for what is no number, and for a node that is named twice.
pub fn parse_nodes(text: &str) -> Result<Vec<Vec<u32>>> {
    let mut named = HashMap::new();
    let mut jobs = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let refused = |detail: String| Error::new(Kind::Invalid, &format!("placement: line {line}"), detail);
        let mut nodes = Vec::new();
        for word in content.split_whitespace() {
            let node: u32 = word.parse().map_err(|_| refused(format!("{word:?} is no node number")))?;
            if let Some(first) = named.insert(node, line) {
                return Err(refused(format!("node {node} is named twice, first in line {first}")));
            }
            nodes.push(node);
        }
        if !nodes.is_empty() {
            jobs.push(nodes);
        }
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::topology::Dragonfly;

    #[test]
    fn burst_buffers_are_the_last_two_terminals_of_a_group() {
        let paper = Dragonfly::paper().into();
        assert_eq!(Layout::of(&paper, Arrangement::NodeLocal).nodes(), 1056);
        let layout = Layout::of(&paper, Arrangement::ComputeSide);
        assert_eq!((layout.nodes(), layout.servers()), (990, 66));
        assert_eq!([0, 29, 30, 989].map(|node| layout.terminal_of(node)), [0, 29, 32, 32 * 32 + 29]);
        assert_eq!(
            [0, 14, 15, 29, 30, 989].map(|node| layout.burst_buffer_of(node)),
            [(0, 30), (0, 30), (1, 31), (1, 31), (2, 62), (65, 1055)]
        );
    }

    #[test]
    fn wrong_lists_are_refused_with_the_line() {
        assert_eq!(parse_nodes("1 2\n\n3\n").unwrap(), [vec![1, 2], vec![3]]);
        for (text, message) in [
            ("1 2\n3 2\n", "placement: line 2: node 2 is named twice, first in line 1"),
            ("7 -1", "placement: line 1: \"-1\" is no node number"),
            ("1 x", "placement: line 1: \"x\" is no node number"),
        ] {
            assert_eq!(parse_nodes(text).unwrap_err().message, message);
        }
    }
}
