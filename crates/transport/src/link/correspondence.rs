//! Requests and replies of many threads over one link: each caller gets the reply to its own request.

use super::{now, Patience};
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// The link under a correspondence.
pub trait Post<R> {
    /// Takes the next reply and the number of its request, or none where replies are delivered by another thread.
    ///
    /// # Errors
    /// As the link says; `Timeout` when none comes within the slice.
    fn next(&self, patience: Patience<'_>) -> Result<Option<(u64, R)>>;
}

/// Given-up requests that are remembered; the link has answered or lost older ones.
const GIVEN_UP_MAX: usize = 1024;

#[derive(Debug)]
struct State<R> {
    next: u64,
    expected: Vec<u64>,
    given_up: BTreeSet<u64>,
    arrived: Vec<(u64, R)>,
    reading: bool,
}

/// Numbers requests and hands replies to those who wait for them.
#[derive(Debug)]
pub struct Correspondence<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
}

// Few requests are under way at a time: lists are quicker than maps.
impl<R> State<R> {
    fn drop_expected(&mut self, id: u64) {
        self.expected.retain(|e| *e != id);
    }

    fn has_arrived(&self, id: u64) -> bool {
        self.arrived.iter().any(|(a, _)| *a == id)
    }

    fn take_arrived(&mut self, id: u64) -> Option<R> {
        let at = self.arrived.iter().position(|(a, _)| *a == id)?;
        Some(self.arrived.swap_remove(at).1)
    }

    fn take_in(&mut self, id: u64, reply: R) -> Option<R> {
        if self.expected.contains(&id) {
            if !self.has_arrived(id) {
                self.arrived.push((id, reply));
            }
            return None;
        }
        self.given_up.remove(&id).then_some(reply)
    }
}

impl<R> Default for Correspondence<R> {
    fn default() -> Self {
        let state = State {
            next: 1,
            expected: Vec::new(),
            given_up: BTreeSet::new(),
            arrived: Vec::new(),
            reading: false,
        };
        Correspondence { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<R> Correspondence<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number for a new request, whose reply is expected from now on.
    pub fn open(&self) -> u64 {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.expected.push(id);
        id
    }

    /// The reply to `id` has come another way.
    pub fn forget(&self, id: u64) {
        self.lock().drop_expected(id);
    }

    /// Nobody waits for the reply to `id` any more; gives it back if it has come.
    pub fn close(&self, id: u64) -> Option<R> {
        let mut state = self.lock();
        state.drop_expected(id);
        let arrived = state.take_arrived(id);
        if arrived.is_none() {
            state.given_up.insert(id);
            if state.given_up.len() > GIVEN_UP_MAX {
                state.given_up.pop_first();
            }
        }
        arrived
    }

    /// A reply has come; gives it back when the caller has given up waiting for it, so that what it carries can be
    /// returned. A second copy of a reply is nobody's.
    pub fn deliver(&self, id: u64, reply: R) -> Option<R> {
        let stray = self.lock().take_in(id, reply);
        self.changed.notify_all();
        stray
    }

    /// Waits for the reply to `id`. One waiting thread reads from `post` for all of them. Replies that nobody expects go
    /// to `stray`.
    ///
    /// # Errors
    /// `Timeout` after the patience, or what the link or the tick says; then the request is closed.
    pub fn wait(&self, id: u64, post: &dyn Post<R>, patience: Patience<'_>, stray: &dyn Fn(R)) -> Result<R> {
        match self.wait_open(id, post, patience, stray) {
            Ok(reply) => Ok(reply),
            Err(e) => self.close(id).ok_or(e),
        }
    }

    /// Sleeps until another thread has brought something, or for a slice; ticks when a slice has passed since it last did,
    /// however often it was woken meanwhile.
    fn doze<'s>(
        &'s self,
        state: MutexGuard<'s, State<R>>,
        slice: Nanos,
        patience: Patience<'_>,
        ticked: &mut Nanos,
    ) -> Result<MutexGuard<'s, State<R>>> {
        let slept = self.changed.wait_timeout(state, slice.duration());
        let (state, _) = slept.unwrap_or_else(PoisonError::into_inner);
        if now().since(*ticked) < slice {
            return Ok(state);
        }
        drop(state);
        *ticked = now();
        (patience.tick)()?;
        Ok(self.lock())
    }

    fn wait_open(&self, id: u64, post: &dyn Post<R>, patience: Patience<'_>, stray: &dyn Fn(R)) -> Result<R> {
        let mut ticked = now();
        let deadline = ticked.after(patience.within);
        let mut state = self.lock();
        loop {
            if let Some(reply) = state.take_arrived(id) {
                state.drop_expected(id);
                return Ok(reply);
            }
            let left = deadline.since(now());
            if left == Nanos(0) {
                return Err(Error::new(Kind::Timeout, "link", "no answer in time"));
            }
            let slice = left.min(Patience::SLICE);
            if state.reading {
                state = self.doze(state, slice, patience, &mut ticked)?;
                continue;
            }
            state.reading = true;
            drop(state);
            let got = post.next(Patience { within: slice, ..patience });
            state = self.lock();
            state.reading = false;
            // With no reply to be read here nobody else needs to try: two threads would wake each other for ever.
            if !matches!(got, Ok(None)) {
                self.changed.notify_all();
            }
            match got {
                Ok(Some((theirs, reply))) => {
                    if let Some(reply) = state.take_in(theirs, reply) {
                        drop(state);
                        stray(reply);
                        state = self.lock();
                    }
                }
                Ok(None) => {
                    // Replies come through `deliver`: wait there like everybody else.
                    if !state.has_arrived(id) {
                        state = self.doze(state, slice, patience, &mut ticked)?;
                    }
                }
                Err(e) if e.kind == Kind::Timeout => {
                    drop(state);
                    (patience.tick)()?;
                    state = self.lock();
                }
                Err(e) => return Err(e),
            }
        }
    }
}
