//! Thousands of lives of the stream service in the adversarial world.
//!
//! `THALWEG_WORLDS=100000` lives more of them; `THALWEG_SEED=7` replays one.

use thalweg_testkit::{Readers, StreamWorld};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_promise_holds_whatever_the_world_does() {
    if let Some(seed) = number("THALWEG_SEED") {
        StreamWorld::run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        return;
    }
    let lives = number("THALWEG_WORLDS").unwrap_or(3000);
    let mut events = 0;
    for seed in 0..lives {
        events += StreamWorld::run(seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
    assert!(
        events > lives * 20,
        "the world is too hostile to test anything: {events} events in {lives} lives"
    );
    println!("{lives} lives, {events} events");
}

#[test]
fn consumers_skip_no_event_wherever_their_links_break() {
    if let Some(seed) = number("THALWEG_SEED") {
        Readers::run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        return;
    }
    let lives = number("THALWEG_WORLDS").unwrap_or(300);
    let delivered: usize =
        (0..lives).map(|seed| Readers::run(seed).unwrap_or_else(|failure| panic!("{failure}"))).sum();
    assert!(delivered as u64 > lives * 20, "the world is too hostile: {delivered} events in {lives} lives");
}
