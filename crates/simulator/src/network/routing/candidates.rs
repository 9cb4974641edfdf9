//! Ports that lead towards a group, and the choice between them.

use super::super::topology::Dragonfly;
use super::dragonfly::Place;
use super::Loads;

/// The global ports of `router` that lead to `group`; when it has none, the ports to those routers beside it that do.
pub fn toward(dragonfly: &Dragonfly, router: u32, group: u16) -> impl Iterator<Item = u16> + Clone + '_ {
    let gateways = dragonfly.gateways(dragonfly.group(router), group);
    let member = dragonfly.member(router);
    let direct = gateways.iter().any(|gateway| gateway.member == member);
    gateways.iter().filter(move |gateway| !direct || gateway.member == member).map(move |gateway| {
        if direct {
            gateway.port
        } else {
            gateway.member
        }
    })
}

/// One of them at random.
pub fn any(place: &mut Place<'_>, mut ports: impl Iterator<Item = u16> + Clone) -> u16 {
    let count = ports.clone().count() as u32;
    let chosen = if count > 1 { place.draw(count) } else { 0 };
    ports.nth(chosen as usize).unwrap_or(u16::MAX)
}

/// The one with the least load, at random between equals; of global ports only two, picked at random, are looked at.
pub fn best<L: Loads>(
    place: &mut Place<'_>,
    ports: impl Iterator<Item = u16> + Clone,
    loads: &mut L,
) -> (u16, u32) {
    let count = ports.clone().count() as u32;
    let at = |index: u32| ports.clone().nth(index as usize).unwrap_or(u16::MAX);
    let global = u32::from(at(0)) >= place.dragonfly.routers;
    if count == 1 {
        let port = at(0);
        return (port, loads.load(port));
    }
    if global {
        let first = place.draw(count);
        let second = (first + 1 + place.draw(count - 1)) % count;
        let (a, b) = (at(first), at(second));
        let (load_a, load_b) = (loads.load(a), loads.load(b));
        let first_wins = load_a < load_b || load_a == load_b && place.draw(2) == 0;
        return if first_wins { (a, load_a) } else { (b, load_b) };
    }
    let mut least = (u32::MAX, 0);
    for port in ports.clone() {
        let load = loads.load(port);
        match load.cmp(&least.0) {
            std::cmp::Ordering::Less => least = (load, 1),
            std::cmp::Ordering::Equal => least.1 += 1,
            std::cmp::Ordering::Greater => {}
        }
    }
    let chosen = if least.1 > 1 { place.draw(least.1) } else { 0 };
    let port = ports.filter(|port| loads.load(*port) == least.0).nth(chosen as usize).unwrap_or(u16::MAX);
    (port, least.0)
}

/// A group that is neither this one nor the destination's, all equally likely; `None` when there are only two.
pub fn third_group(place: &mut Place<'_>) -> Option<u16> {
    let others = place.dragonfly.groups - 2;
    if others == 0 {
        return None;
    }
    let (low, high) = (place.group.min(place.destination_group), place.group.max(place.destination_group));
    let mut group = place.draw(others) as u16;
    if group >= low {
        group += 1;
    }
    if group >= high {
        group += 1;
    }
    Some(group)
}
