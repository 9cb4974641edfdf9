//! Minimal routing: straight to the destination's group, at random where several links lead there.

use super::candidates::{any, toward};
use super::dragonfly::Place;

pub fn port(place: &mut Place<'_>) -> u16 {
    let ports = toward(place.dragonfly, place.router, place.destination_group);
    any(place, ports)
}
