//! Machines described by names and numbers, as they stand in a scenario's file.

use super::model::Model;
use crate::engine::Picos;
use crate::network::routing::Routing;
use crate::network::topology::{Dragonfly, FatTree, Topology, Torus};
use crate::network::{LinkKind, LinkParameters, Parameters};
use thalweg_foundation::{Error, Kind, Result};

/// Named numbers.
pub type Shape = Vec<(String, Vec<u32>)>;

/// What a topology's numbers are called, and how many there are of each; none says any number of them.
type Wanted = &'static [(&'static str, Option<usize>)];

/// The topologies.
const SHAPES: [(&str, Wanted); 5] = [
    (
        "dragonfly",
        &[("groups", Some(1)), ("routers", Some(1)), ("nodes", Some(1)), ("global_links", Some(1))],
    ),
    ("fat-tree", &[("down", None), ("up", None)]),
    ("k-ary-tree", &[("arity", Some(1)), ("levels", Some(1))]),
    ("torus", &[("extents", None), ("nodes", Some(1))]),
    ("single-switch", &[("nodes", Some(1))]),
];

/// The topology of a name and its numbers. A dragonfly without numbers is the paper's.
///
/// # Errors
/// `Invalid` for a name that there is not, a number that is missing or that the topology does not have, and for what cannot be
/// joined.
pub fn topology(name: &str, shape: &Shape) -> Result<Topology> {
    let refused = |detail: String| Error::new(Kind::Invalid, "scenario: topology", detail);
    let known = SHAPES.iter().find(|(known, _)| *known == name);
    let (_, wanted) = known.ok_or_else(|| {
        let names: Vec<_> = SHAPES.iter().map(|(name, _)| *name).collect();
        refused(format!("there is no topology {name:?}; accepted are {}", names.join(", ")))
    })?;
    if name == "dragonfly" && shape.is_empty() {
        return Ok(Dragonfly::paper().into());
    }
    let names: Vec<_> = wanted.iter().map(|(name, _)| *name).collect();
    if let Some((other, _)) = shape.iter().find(|(other, _)| !names.contains(&other.as_str())) {
        return Err(refused(format!("a {name} has no {other}; it has {}", names.join(", "))));
    }
    let mut numbers = Vec::new();
    for (wanted, count) in *wanted {
        let found = shape.iter().find(|(name, _)| name == wanted).map(|(_, numbers)| numbers.as_slice());
        let found =
            found.ok_or_else(|| refused(format!("a {name} needs {wanted}; it has {}", names.join(", "))))?;
        if count.is_some_and(|count| found.len() != count) {
            return Err(refused(format!("{wanted} = {found:?}; a {name} has one number of them")));
        }
        numbers.push(found);
    }
    Ok(match (name, numbers.as_slice()) {
        ("dragonfly", [groups, routers, nodes, links]) => {
            Dragonfly::new(groups[0], routers[0], nodes[0], links[0])?.into()
        }
        ("fat-tree", [down, up]) => FatTree::new(down, up)?.into(),
        ("k-ary-tree", [arity, levels]) => FatTree::k_ary(arity[0], levels[0])?.into(),
        ("torus", [extents, nodes]) => Torus::new(extents, nodes[0])?.into(),
        (_, [nodes, ..]) => Topology::single_switch(nodes[0])?,
        _ => unreachable!("every topology has numbers"),
    })
}

/// A model's parameters with changes by name: `packet_bytes`, `router_delay_ns`, `interface_delay_ns`, and for each of `terminal`,
/// `local` and `global` links `bandwidth_gib_per_s`, `delay_ns`, `credit_delay_ns` and `buffer_bytes`, as in `local.delay_ns`.
///
/// What depends on a change follows it, unless it is changed as well: in the paper's models a link's delay is a packet's time on it,
/// in the default model a credit takes as long as the link.
///
/// # Errors
/// `Invalid` for another name, for links that `topology` does not have, and for a value that is negative, not a number or too large.
pub fn parameters(
    topology: &Topology,
    model: Model,
    routing: Routing,
    changes: &[(String, f64)],
) -> Result<Parameters> {
    let mut parameters = model.parameters(routing);
    let mut ordered: Vec<_> = changes.iter().collect();
    ordered.sort_by_key(|(name, _)| rank(name));
    for (name, value) in ordered {
        let refused =
            |detail: String| Error::new(Kind::Invalid, &format!("scenario: network.{name}"), detail);
        if !(0.0..=1e12).contains(value) {
            return Err(refused(format!("is {value}; accepted are 0 to 1e12")));
        }
        let (kind, field) = name.split_once('.').unwrap_or(("", name));
        match (kind, field) {
            ("", "packet_bytes") => {
                parameters.packet_bytes = whole(*value, 65_535).map_err(refused)? as u16;
                for kind in ["terminal", "local", "global"] {
                    follow(model, &mut parameters, kind);
                }
            }
            ("", "router_delay_ns") => parameters.router_delay = Picos::from_nanos(*value),
            ("", "interface_delay_ns") => parameters.interface_delay = Picos::from_nanos(*value),
            _ => {
                let has = LINKS.iter().filter(|(_, kind)| topology.has(*kind)).map(|(name, _)| *name);
                let has: Vec<_> = has.collect();
                let link = link(&mut parameters, kind).filter(|_| has.contains(&kind)).ok_or_else(|| {
                    refused(format!("this topology has no {kind} links; it has {}", has.join(", ")))
                })?;
                match field {
                    "bandwidth_gib_per_s" => link.bandwidth_gib_per_s = *value,
                    "delay_ns" => link.delay = Picos::from_nanos(*value),
                    "credit_delay_ns" => link.credit_delay = Picos::from_nanos(*value),
                    "buffer_bytes" => link.buffer_bytes = whole(*value, u32::MAX).map_err(refused)?,
                    _ => return Err(refused("there is no such parameter".into())),
                }
                match field {
                    "bandwidth_gib_per_s" => follow(model, &mut parameters, kind),
                    "delay_ns" if model == Model::Right => link.credit_delay = link.delay,
                    _ => {}
                }
            }
        }
    }
    // Links that there are none of are like those of terminals: nothing can be wrong with them.
    for (name, _) in LINKS.iter().filter(|(_, kind)| !topology.has(*kind)) {
        let terminal = parameters.terminal;
        if let Some(absent) = link(&mut parameters, name) {
            *absent = terminal;
        }
    }
    parameters.check()?;
    Ok(parameters)
}

/// What others follow comes before them.
fn rank(name: &str) -> usize {
    let order = ["packet_bytes", "bandwidth_gib_per_s", "delay_ns", "credit_delay_ns", "buffer_bytes"];
    let field = name.rsplit('.').next().unwrap_or(name);
    order.iter().position(|known| *known == field).unwrap_or(order.len())
}

/// Kinds of links, with their names.
const LINKS: [(&str, LinkKind); 3] =
    [("terminal", LinkKind::Terminal), ("local", LinkKind::Local), ("global", LinkKind::Global)];

fn link<'a>(parameters: &'a mut Parameters, kind: &str) -> Option<&'a mut LinkParameters> {
    match kind {
        "terminal" => Some(&mut parameters.terminal),
        "local" => Some(&mut parameters.local),
        "global" => Some(&mut parameters.global),
        _ => None,
    }
}

/// In the paper's models the delay of a link is a packet's time on it.
fn follow(model: Model, parameters: &mut Parameters, kind: &str) {
    let packet = u32::from(parameters.packet_bytes);
    if let Some(link) = link(parameters, kind).filter(|_| model != Model::Right) {
        link.delay = link.service(packet);
    }
}

fn whole(value: f64, most: u32) -> std::result::Result<u32, String> {
    if value.fract() == 0.0 && value <= f64::from(most) {
        Ok(value as u32)
    } else {
        Err(format!("is {value}; accepted are whole numbers up to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(numbers: &[(&str, &[u32])]) -> Shape {
        numbers.iter().map(|(name, numbers)| ((*name).to_owned(), numbers.to_vec())).collect()
    }

    #[test]
    fn topologies_have_their_numbers() {
        let count =
            |name, numbers: &[(&str, &[u32])]| topology(name, &shape(numbers)).unwrap().terminal_count();
        assert_eq!(count("dragonfly", &[]), 1056);
        let small: [(&str, &[u32]); 4] =
            [("groups", &[9]), ("routers", &[4]), ("nodes", &[2]), ("global_links", &[2])];
        assert_eq!(count("dragonfly", &small), 72);
        assert_eq!(count("fat-tree", &[("down", &[4, 3, 2]), ("up", &[2, 2])]), 24);
        assert_eq!(count("k-ary-tree", &[("arity", &[4]), ("levels", &[3])]), 64);
        assert_eq!(count("torus", &[("extents", &[4, 4, 2]), ("nodes", &[3])]), 96);
        assert_eq!(count("single-switch", &[("nodes", &[17])]), 17);
    }

    #[test]
    fn numbers_that_a_topology_lacks_or_needs_are_named() {
        let message = |name, numbers: &[(&str, &[u32])]| topology(name, &shape(numbers)).unwrap_err().message;
        assert_eq!(
            message("ring", &[]),
            "scenario: topology: there is no topology \"ring\"; accepted are dragonfly, fat-tree, k-ary-tree, torus, single-switch"
        );
        assert_eq!(
            message("torus", &[("extents", &[4]), ("arity", &[2])]),
            "scenario: topology: a torus has no arity; it has extents, nodes"
        );
        assert_eq!(
            message("torus", &[("nodes", &[2])]),
            "scenario: topology: a torus needs extents; it has extents, nodes"
        );
        assert_eq!(
            message("single-switch", &[("nodes", &[2, 3])]),
            "scenario: topology: nodes = [2, 3]; a single-switch has one number of them"
        );
    }

    #[test]
    fn what_depends_on_a_change_follows_it() {
        let found = |model, changes: &[(&str, f64)]| {
            let changes: Vec<_> = changes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            parameters(&Dragonfly::paper().into(), model, Routing::Minimal, &changes)
        };
        let right =
            found(Model::Right, &[("global.delay_ns", 500.0), ("local.credit_delay_ns", 7.0)]).unwrap();
        assert_eq!((right.global.delay, right.global.credit_delay), (Picos(500_000), Picos(500_000)));
        assert_eq!((right.local.delay, right.local.credit_delay), (Picos(20_000), Picos(7_000)));
        let artifact = found(Model::Artifact, &[("local.bandwidth_gib_per_s", 10.5)]).unwrap();
        assert_eq!(artifact.local.delay, artifact.local.service(4096));
        assert_eq!(artifact.local.credit_delay, Parameters::artifact(Routing::Minimal).local.credit_delay);
        for (name, value, message) in [
            (
                "local.bandwidth_gib_per_s",
                0.0,
                "network: a local link of 0 GiB/s; the bandwidth must be above 0",
            ),
            ("local.delay_ns", -1.0, "scenario: network.local.delay_ns: is -1; accepted are 0 to 1e12"),
            (
                "packet_bytes",
                0.5,
                "scenario: network.packet_bytes: is 0.5; accepted are whole numbers up to 65535",
            ),
            ("lokal.delay_ns", 1.0, "scenario: network.lokal.delay_ns: this topology has no lokal links; it has terminal, local, global"),
        ] {
            assert_eq!(found(Model::Right, &[(name, value)]).unwrap_err().message, message);
        }
    }
}
