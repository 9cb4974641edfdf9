//! Minimal routing: straight to the destination's group, at random where several links lead there.

use super::candidates::{any, toward};
use super::dragonfly::Place;

pub fn port(place: &mut Place<'_>) -> u16 {
    if let [gateway] = place.dragonfly.gateways(place.group, place.destination_group) {
        let here = gateway.member == place.dragonfly.member(place.router);
        return if here { gateway.port } else { gateway.member };
    }
    let ports = toward(place.dragonfly, place.router, place.destination_group);
    any(place, ports)
}
