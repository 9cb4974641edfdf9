//! Where threads wait for each other: by looking for a while, then by leaving the processor to others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A barrier for a number of threads.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Whether one of them will never come.
    broken: AtomicBool,
}

/// How often a thread looks before it leaves the processor to others.
const LOOKS: u32 = 2000;

/// Breaks the barrier when its thread panics.
pub struct Alarm<'a>(&'a Barrier);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

impl Barrier {
    /// A barrier for `threads` threads.
    pub fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// What a thread holds while others may wait for it.
    pub fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }

    /// Blocks until all threads have come here; what each did before, all see behind it.
    ///
    /// # Panics
    /// When one of the others has panicked.
    #[inline]
    pub fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Acquire), "another thread of the simulation panicked");
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
