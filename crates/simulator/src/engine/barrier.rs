//! Where threads wait for each other: by looking for a while, then asleep, so that others can have the processor.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A barrier for a number of threads.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Threads that sleep, or are about to.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    wakes: Condvar,
    /// Whether one of them will never come.
    broken: AtomicBool,
}

/// How often a thread looks before it sleeps: some ten microseconds.
const LOOKS: u32 = 2000;
/// How long it sleeps at most before it looks whether somebody will never come.
const NAP: Duration = Duration::from_millis(100);

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
            asleep: AtomicUsize::new(0),
            bed: Mutex::default(),
            wakes: Condvar::new(),
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
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            if self.asleep.load(Ordering::SeqCst) > 0 {
                drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
                self.wakes.notify_all();
            }
            return;
        }
        for _ in 0..LOOKS {
            if self.round.load(Ordering::Acquire) != round {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleep(round);
    }

    #[cold]
    fn sleep(&self, round: usize) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        while self.round.load(Ordering::SeqCst) == round {
            if self.broken.load(Ordering::Acquire) {
                drop(bed);
                panic!("another thread of the simulation panicked");
            }
            bed = self.wakes.wait_timeout(bed, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}
