//! What becomes of events that were pushed.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience};

type Callback = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    outcome: Option<Result<u64>>,
    callbacks: Vec<Callback>,
}

/// Who gathers a batch, and sends it sooner when somebody waits for it.
pub trait Gatherer: Send + Sync {
    /// Somebody waits for what has been gathered for `partition`.
    fn urge(&self, partition: u32);
    /// Whether the calling thread is the one that tells what has become of batches.
    fn is_told_here(&self) -> bool;
}

/// A callback waits for what only its return can bring.
pub(super) fn waits_for_itself(operation: &str) -> Error {
    let detail = "a callback that waits for its own producer would wait for itself; do it on another thread";
    Error::new(Kind::Invalid, operation, detail)
}

/// What becomes of a batch: the number of its first event, or an error.
pub struct Promise {
    state: Mutex<State>,
    kept: Condvar,
    gatherer: Weak<dyn Gatherer>,
    partition: u32,
}

impl Promise {
    /// Of a batch that `gatherer` gathers for `partition`.
    pub fn new(gatherer: Weak<dyn Gatherer>, partition: u32) -> Promise {
        Promise { state: Mutex::default(), kept: Condvar::new(), gatherer, partition }
    }

    fn urge(&self) {
        if let Some(gatherer) = self.gatherer.upgrade() {
            gatherer.urge(self.partition);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has come to its end; the first end counts.
    pub fn keep(&self, outcome: Result<u64>) {
        let callbacks = {
            let mut state = self.lock();
            if state.outcome.is_some() {
                return;
            }
            state.outcome = Some(outcome);
            self.kept.notify_all();
            std::mem::take(&mut state.callbacks)
        };
        callbacks.into_iter().for_each(|call| call());
    }

    /// What became of it, if it has come to its end.
    pub fn outcome(&self) -> Option<Result<u64>> {
        self.lock().outcome.clone()
    }

    /// Calls `call` when it comes to its end, on whatever thread, or at once when it has.
    fn when_kept(&self, call: Callback) {
        let mut state = self.lock();
        if state.outcome.is_none() {
            state.callbacks.push(call);
            drop(state);
            return self.urge();
        }
        drop(state);
        call();
    }

    /// Waits for it.
    pub fn wait(&self, patience: Patience<'_>) -> Result<u64> {
        let deadline = now().after(patience.within);
        if let Some(outcome) = self.outcome() {
            return outcome;
        }
        if self.gatherer.upgrade().is_some_and(|gatherer| gatherer.is_told_here()) {
            return Err(waits_for_itself("stream.produce"));
        }
        self.urge();
        let mut state = self.lock();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            let left = deadline.since(now());
            if left == Nanos(0) {
                let detail = format!("no acknowledgement within {}; it may still come", patience.within);
                return Err(Error::new(Kind::Timeout, "stream.produce", detail));
            }
            let slice = left.min(Patience::SLICE).duration();
            let waited = self.kept.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner);
            if waited.1.timed_out() {
                drop(waited.0);
                (patience.tick)()?;
                state = self.lock();
            } else {
                state = waited.0;
            }
        }
    }
}

/// An event that was pushed.
#[derive(Clone)]
pub struct Pushed {
    pub(super) batch: Arc<Promise>,
    /// Its partition.
    pub partition: u32,
    pub(super) at: u32,
}

impl Pushed {
    /// Waits until it is appended; its number.
    ///
    /// # Errors
    /// `Timeout`, or why it was not appended.
    pub fn wait(&self, patience: Patience<'_>) -> Result<u64> {
        self.batch.wait(patience).map(|first| first + u64::from(self.at))
    }

    /// Its number, or why it was not appended; none while nobody knows.
    pub fn outcome(&self) -> Option<Result<u64>> {
        self.batch.outcome().map(|outcome| outcome.map(|first| first + u64::from(self.at)))
    }

    /// Calls `call` when its end is known, on whatever thread.
    pub fn when_done(&self, call: Callback) {
        self.batch.when_kept(call);
    }
}

/// Events that were pushed together to one partition.
#[derive(Clone)]
pub struct PushedMany {
    pub(super) batches: Vec<(Arc<Promise>, u32)>,
    /// Their partition.
    pub partition: u32,
}

impl PushedMany {
    /// Waits until they are appended; their numbers.
    ///
    /// # Errors
    /// `Timeout`, or why some were not appended.
    pub fn wait(&self, patience: Patience<'_>) -> Result<Vec<Range<u64>>> {
        let deadline = now().after(patience.within);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (batch, events) in &self.batches {
            let left = Patience { within: deadline.since(now()), ..patience };
            let first = batch.wait(left)?;
            let end = first + u64::from(*events);
            match ranges.last_mut().filter(|last| last.end == first) {
                Some(last) => last.end = end,
                None => ranges.push(first..end),
            }
        }
        Ok(ranges)
    }

    /// Whether the end of all of them is known.
    pub fn is_done(&self) -> bool {
        self.batches.iter().all(|(batch, _)| batch.outcome().is_some())
    }

    /// Calls `call` when the end of the last of them is known, on whatever thread.
    pub fn when_done(&self, call: Callback) {
        match self.batches.last() {
            Some((batch, _)) => batch.when_kept(call),
            None => call(),
        }
    }
}
