//! Workers: threads of the service that reorganise, reduce and move bytes, started with the first task.

use super::super::core::{Outcome, Taken, Task};
use super::super::message::{Bins, Reduction};
use super::host::Host;
use super::together::{Shared, WORTH_HELP};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use thalweg_foundation::array::{transfers, Cell, Histogram, Shape, Side, Summary, Transfer};
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_transport::memory::Segment;

#[derive(Default)]
struct State {
    tasks: VecDeque<(u64, Task)>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// The tasks that wait, and the threads that do them.
#[derive(Default)]
pub(super) struct Workers {
    most: usize,
    state: Mutex<State>,
    wake: Condvar,
}

impl Workers {
    /// At most `most` threads, at least one.
    pub fn new(most: usize) -> Workers {
        Workers { most: most.max(1), ..Workers::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives `task` to a thread of `host`; the outcome at once when there can be none.
    pub fn give(&self, host: &Arc<Host>, number: u64, task: Task) -> Option<Outcome> {
        let mut state = self.lock();
        state.tasks.push_back((number, task));
        if state.idle == 0 && state.threads < self.most {
            let host = Arc::downgrade(host);
            let started = std::thread::Builder::new().name("thalweg-work".into()).spawn(move || work(&host));
            match started {
                Ok(_) => state.threads += 1,
                Err(e) if state.threads == 0 => {
                    state.tasks.pop_back();
                    return Some(Outcome::Failed(Error::io("stage: no thread for a task", e)));
                }
                Err(_) => {}
            }
        }
        self.wake.notify_one();
        None
    }

    /// How many threads have nothing to do, and could help.
    fn idle(&self) -> usize {
        let state = self.lock();
        let asleep = state.idle.saturating_sub(state.tasks.len());
        asleep + self.most.saturating_sub(state.threads)
    }

    /// Ends the threads; what they are doing is finished first.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.tasks.clear();
        self.wake.notify_all();
    }

    fn next(&self) -> Option<(u64, Task)> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(task) = state.tasks.pop_front() {
                return Some(task);
            }
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

/// Does tasks until the host is closed or gone.
fn work(host: &Weak<Host>) {
    loop {
        // While it sleeps a thread keeps the workers only, so that a host that nobody closes can go.
        let Some(workers) = host.upgrade().map(|h| h.workers().clone()) else { return };
        let Some((number, task)) = workers.next() else { return };
        drop(workers);
        let Some(host) = host.upgrade() else { return };
        // Who waits for the outcome is told, even where the task met a defect.
        let done = catch_unwind(AssertUnwindSafe(|| perform(&host, &task)));
        let outcome = done.unwrap_or_else(|_| Err(defect())).unwrap_or_else(Outcome::Failed);
        host.done(number, outcome);
    }
}

fn defect() -> Error {
    Error::new(Kind::Protocol, "stage.work", "a defect of the service; its standard error says where")
}

fn perform(host: &Host, task: &Task) -> Result<Outcome> {
    match task {
        Task::Reorganise { cell, parts, to, region, layout } => {
            let target = host.segment(to.segment)?;
            let to = target.at(to.offset, Bytes(to.bytes))?;
            for part in parts {
                let (_segment, from) = source(host, part)?;
                for cells in &part.cells {
                    let (from_side, to_side) =
                        (Side::Packed(&part.region, &part.layout), Side::Packed(region, layout));
                    for transfer in transfers(cell, cells, from_side, to_side)? {
                        // SAFETY: both packed arrays lie in extents of their sizes; the source is pinned and sealed, and
                        // no other task writes these cells of the target.
                        unsafe { run(transfer, from, to, host.workers().idle()) };
                    }
                }
            }
            Ok(Outcome::Written)
        }
        Task::Move { from, to, bytes } => {
            let source = host.segment(from.segment)?;
            let start = source.at(from.offset, *bytes)?;
            // SAFETY: sealed bytes, pinned until this task is done.
            let bytes = unsafe { std::slice::from_raw_parts(start.cast_const(), bytes.0 as usize) };
            host.segment(to.segment)?.write_at(bytes, to.offset)?;
            Ok(Outcome::Written)
        }
        Task::Summarise { cell, parts, bins } => reduce(host, cell, parts, bins.as_ref()).map(Outcome::Found),
    }
}

/// Runs `transfer`, a large one with up to `helpers` more threads.
///
/// # Safety
/// As for `Transfer::run`.
unsafe fn run(transfer: Transfer, from: *const u8, to: *mut u8, helpers: usize) {
    if helpers == 0 || transfer.bytes() < WORTH_HELP {
        // SAFETY: the caller's promise.
        return unsafe { transfer.run(from, to) };
    }
    let mut pieces = transfer.split(helpers + 1);
    let (from, to) = (Shared(from), Shared(to));
    let mine = pieces.pop();
    std::thread::scope(|scope| {
        for piece in &pieces {
            // SAFETY: the caller's promise; the pieces write disjoint memory.
            let copy = move || unsafe { piece.run(from.address(), to.address()) };
            if std::thread::Builder::new().spawn_scoped(scope, copy).is_err() {
                copy();
            }
        }
        if let Some(mine) = mine {
            // SAFETY: as above.
            unsafe { mine.run(from.address(), to.address()) };
        }
    });
}

fn source(host: &Host, part: &Taken) -> Result<(Arc<Segment>, *const u8)> {
    let segment = host.segment(part.extent.segment)?;
    let start = segment.at(part.extent.offset, Bytes(part.extent.bytes))?.cast_const();
    Ok((segment, start))
}

fn reduce(host: &Host, cell: &Cell, parts: &[Taken], bins: Option<&Bins>) -> Result<Reduction> {
    if !cell.fields().is_empty() {
        let detail = format!("records of {} bytes; accepted are plain numbers", cell.dtype().size());
        return Err(Error::new(Kind::DType, "stage.reduce", detail));
    }
    let histogram = bins.map(|b| Histogram::new(b.lower, b.upper, b.count as usize)).transpose()?;
    let mut found: Option<Reduction> = None;
    for part in parts {
        let (_segment, base) = source(host, part)?;
        for cells in &part.cells {
            let held = Shape::new(cell.dtype(), part.region.extents())?;
            let inside = cells.seen_from(part.region.lower());
            let shape = Shape::new(cell.dtype(), cells.extents())?;
            for place in cell.components(&held, &part.layout, &inside, false) {
                // SAFETY: the packed part holds these cells; it is pinned and sealed.
                let one = unsafe {
                    let start = base.offset(place.offset as isize);
                    let summary = Summary::of(&shape, start, &place.strides)?;
                    let mut histogram = histogram.clone();
                    if let Some(histogram) = &mut histogram {
                        histogram.add(&shape, start, &place.strides)?;
                    }
                    Reduction { summary, histogram }
                };
                found = Some(match found {
                    Some(before) => before.merge(&one)?,
                    None => one,
                });
            }
        }
    }
    found.ok_or_else(|| Error::new(Kind::Shape, "stage.reduce", "a region without cells"))
}
