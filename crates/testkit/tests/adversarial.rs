//! Thousands of lives of the staging service in the adversarial world.
//!
//! `THALWEG_WORLDS=100000` lives more of them; `THALWEG_SEED=7` replays one.
#![allow(clippy::unwrap_used)] // a test's way to fail

use thalweg_testkit::World;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn the_service_keeps_its_promises_in_every_life() {
    if let Some(seed) = number("THALWEG_SEED") {
        World::run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        return;
    }
    let lives = number("THALWEG_WORLDS").unwrap_or(6000);
    let mut puts = 0;
    for seed in 0..lives {
        puts += World::run(seed).unwrap_or_else(|failure| {
            panic!("{failure}replay: THALWEG_SEED={} cargo test -p thalweg-testkit", failure.seed)
        });
    }
    assert!(puts > lives, "the world is too hostile to test anything: {puts} puts in {lives} lives");
    println!("{lives} lives, {puts} puts");
}

#[test]
fn the_same_seed_is_the_same_life() {
    for seed in [1, 2, 3] {
        let lives: Vec<Option<u64>> = (0..2).map(|_| World::run(seed).ok()).collect();
        assert_eq!(lives[0], lives[1]);
    }
}
