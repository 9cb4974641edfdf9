//! Where ranks and servers lie: compute nodes and burst buffers of the paper's machine, and lists of nodes.

use thalweg_foundation::{Error, Kind, Result};

/// Compute nodes of a group; the two terminals behind them are burst buffers.
const COMPUTE: u32 = 30;
/// Terminals of a group.
const GROUP: u32 = 32;
/// Compute nodes that share a burst buffer.
const CLIENTS: u32 = 15;
/// Compute nodes in all: 30 in each of 33 groups.
pub const COMPUTE_NODES: u32 = 33 * COMPUTE;

/// The terminal of a compute node, by its number among compute nodes.
pub fn terminal_of(node: u32) -> u32 {
    node / COMPUTE * GROUP + node % COMPUTE
}

/// The burst buffer of a compute node: its number among burst buffers, and its terminal.
pub fn burst_buffer_of(node: u32) -> (u32, u32) {
    let server = node / CLIENTS;
    (server, server / 2 * GROUP + COMPUTE + server % 2)
}

/// The node lists of a file: one application a line, numbers of compute nodes in the order of ranks.
///
/// # Errors
/// `Invalid`, with the line, for what is no number, for a node that does not exist, and for one that is named twice.
pub fn parse_nodes(text: &str) -> Result<Vec<Vec<u32>>> {
    let mut named = vec![0; COMPUTE_NODES as usize];
    let mut jobs = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let refused = |detail: String| Error::new(Kind::Invalid, &format!("placement: line {line}"), detail);
        let mut nodes = Vec::new();
        for word in content.split_whitespace() {
            let node: u32 = word.parse().map_err(|_| refused(format!("{word:?} is no node number")))?;
            let place = named.get_mut(node as usize).ok_or_else(|| {
                refused(format!("there is no compute node {node}; accepted are 0 to {}", COMPUTE_NODES - 1))
            })?;
            if *place != 0 {
                return Err(refused(format!("node {node} is named twice, first in line {place}")));
            }
            *place = line;
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

    #[test]
    fn burst_buffers_are_the_last_two_terminals_of_a_group() {
        assert_eq!([0, 29, 30, 989].map(terminal_of), [0, 29, 32, 32 * 32 + 29]);
        assert_eq!(
            [0, 14, 15, 29, 30, 989].map(burst_buffer_of),
            [(0, 30), (0, 30), (1, 31), (1, 31), (2, 62), (65, 1055)]
        );
    }

    #[test]
    fn wrong_lists_are_refused_with_the_line() {
        assert_eq!(parse_nodes("1 2\n\n3\n").unwrap(), [vec![1, 2], vec![3]]);
        for (text, message) in [
            ("1 2\n3 2\n", "placement: line 2: node 2 is named twice, first in line 1"),
            ("990", "placement: line 1: there is no compute node 990; accepted are 0 to 989"),
            ("1 x", "placement: line 1: \"x\" is no node number"),
        ] {
            assert_eq!(parse_nodes(text).unwrap_err().message, message);
        }
    }
}
