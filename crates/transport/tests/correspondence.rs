//! Several threads that wait over one link: each gets its own reply, and each can be interrupted.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{Correspondence, Patience, Post};

const LATE: Nanos = Nanos(20_000_000_000);

/// A link whose replies another thread delivers.
struct Delivered;

impl Post<u64> for Delivered {
    fn next(&self, _: Patience<'_>) -> Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

fn nobody_strays(reply: u64) {
    panic!("nobody expects {reply}");
}

#[test]
fn each_waiting_thread_gets_its_own_reply() {
    let letters = Correspondence::default();
    let ids: Vec<u64> = (0..8).map(|_| letters.open()).collect();
    thread::scope(|scope| {
        for &id in &ids {
            let letters = &letters;
            scope.spawn(move || {
                let reply = letters.wait(id, &Delivered, Patience::of(LATE), &nobody_strays);
                assert_eq!(reply.unwrap(), id * 10);
            });
        }
        for &id in ids.iter().rev() {
            assert_eq!(letters.deliver(id, id * 10), None);
        }
    });
}

#[test]
fn an_interrupt_ends_the_wait_of_every_thread_long_before_its_deadline() {
    let letters = Correspondence::default();
    let interrupted = AtomicBool::new(false);
    let tick = || match interrupted.load(Ordering::Relaxed) {
        true => Err(Error::new(Kind::Interrupted, "test", "interrupted")),
        false => Ok(()),
    };
    let ids = [letters.open(), letters.open(), letters.open()];
    thread::scope(|scope| {
        for id in ids {
            let (letters, tick) = (&letters, &tick);
            scope.spawn(move || {
                let patience = Patience { within: LATE, tick };
                let ended = letters.wait(id, &Delivered, patience, &nobody_strays);
                assert_eq!(ended.unwrap_err().kind, Kind::Interrupted);
            });
        }
        thread::sleep(Patience::SLICE.duration());
        interrupted.store(true, Ordering::Relaxed);
    });
    // Their replies come too late, and go back to the link.
    for id in ids {
        assert_eq!(letters.deliver(id, id), Some(id));
    }
}
