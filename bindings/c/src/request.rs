//! Requests: puts and gets that go on while the caller computes.

use crate::dtype::thalweg_dtype;
use crate::geometry::{thalweg_layout, thalweg_region};
use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, said, thalweg_status};
use crate::text::{place, within};
use crate::transfer::{Incoming, Looking, Outgoing};
use crate::variable::thalweg_variable;
use crate::view::{self, thalweg_view};
use crate::which::thalweg_which;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use thalweg::{Error, Kind, Nanos, Patience, RegionView, Result, Version};

/// A put or get that goes on in the background; made by `thalweg_iput`, `thalweg_iget` and `thalweg_iget_into`, ended
/// by `thalweg_request_release`.
pub struct thalweg_request {
    _opaque: (),
}

handle!(thalweg_request, "request", Running);

/// The most requests of a process that may go on at a time. Each has a thread: with fewer, gets that wait for a put
/// could stand in front of that very put.
pub const THALWEG_MAX_REQUESTS: usize = 256;

/// What a request came to.
struct Done {
    version: Version,
    view: Option<RegionView>,
}

#[derive(Default)]
struct State {
    outcome: Mutex<Option<Result<Done>>>,
    changed: Condvar,
    cancelled: AtomicBool,
}

impl State {
    fn outcome(&self) -> MutexGuard<'_, Option<Result<Done>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that goes on, or has ended.
pub struct Running {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Running {
    /// Waits until the thread has ended, which it does soon after its outcome.
    fn join(&self) {
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

/// How many requests go on.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Counts one request for as long as it lives.
struct Counted;

impl Counted {
    fn new(operation: &str) -> Result<Counted> {
        if RUNNING.fetch_add(1, Ordering::Relaxed) < THALWEG_MAX_REQUESTS {
            return Ok(Counted);
        }
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        let detail = format!("{THALWEG_MAX_REQUESTS} requests go on already; wait for one of them");
        Err(Error::new(Kind::Full, operation, detail))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does `work` in a thread of its own.
fn start(
    operation: &'static str,
    within: Nanos,
    work: impl FnOnce(Patience<'_>) -> Result<Done> + Send + 'static,
) -> Result<*mut thalweg_request> {
    let counted = Counted::new(operation)?;
    let state = Arc::new(State::default());
    let theirs = state.clone();
    let body = move || {
        let tick = || match theirs.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(Kind::Interrupted, operation, "cancelled")),
            false => Ok(()),
        };
        let done = catch_unwind(AssertUnwindSafe(|| work(Patience { within, tick: &tick })));
        let done = done.unwrap_or_else(|panic| Err(Error::new(Kind::Protocol, operation, said(&*panic))));
        drop(counted);
        *theirs.outcome() = Some(done);
        theirs.changed.notify_all();
    };
    let thread =
        Builder::new().name("thalweg-request".into()).spawn(body).map_err(|e| Error::io(operation, e))?;
    Ok(hold(Running { state, thread: Mutex::new(Some(thread)) }))
}

/// Begins a `thalweg_put`; `*request` says what became of it. `data` must not be changed until the request has ended.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_put`. Does not block.
///
/// # Safety
/// As `thalweg_put`, and `data` can be read until the request has ended.
#[no_mangle]
pub unsafe extern "C" fn thalweg_iput(
    variable: *const thalweg_variable,
    version: u64,
    region: *const thalweg_region,
    data: *const c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    timeout_s: f64,
    request: *mut *mut thalweg_request,
) -> thalweg_status {
    const OPERATION: &str = "stage.put";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let request = unsafe { place(OPERATION, "request", request) }?;
        // SAFETY: the caller's promise.
        let outgoing = unsafe { Outgoing::of(OPERATION, variable, version, region, data, dtype, layout) }?;
        let work = move |patience: Patience<'_>| {
            let outgoing = outgoing;
            outgoing.put(patience).map(|()| Done { version: Version(version), view: None })
        };
        *request = start(OPERATION, within(OPERATION, timeout_s)?, work)?;
        Ok(())
    })
}

/// Begins a `thalweg_get`; once the request has ended, `thalweg_request_view` gives the view.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_get`. Does not block.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_iget(
    variable: *const thalweg_variable,
    which: thalweg_which,
    region: *const thalweg_region,
    layout: *const thalweg_layout,
    strategy: u32,
    timeout_s: f64,
    request: *mut *mut thalweg_request,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let request = unsafe { place(OPERATION, "request", request) }?;
        // SAFETY: the caller's promise.
        let looking = unsafe { Looking::of(OPERATION, variable, which, region, layout, strategy) }?;
        let work = move |patience: Patience<'_>| {
            looking.get(patience).map(|view| Done { version: view.version(), view: Some(view) })
        };
        *request = start(OPERATION, within(OPERATION, timeout_s)?, work)?;
        Ok(())
    })
}

/// Begins a `thalweg_get_into`. `data` must be left alone until the request has ended.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_get_into`. Does not block.
///
/// # Safety
/// As `thalweg_get_into`, and `data` is left alone until the request has ended.
#[no_mangle]
pub unsafe extern "C" fn thalweg_iget_into(
    variable: *const thalweg_variable,
    which: thalweg_which,
    region: *const thalweg_region,
    data: *mut c_void,
    dtype: thalweg_dtype,
    layout: *const thalweg_layout,
    strategy: u32,
    timeout_s: f64,
    request: *mut *mut thalweg_request,
) -> thalweg_status {
    const OPERATION: &str = "stage.get";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let request = unsafe { place(OPERATION, "request", request) }?;
        // SAFETY: the caller's promise.
        let incoming =
            unsafe { Incoming::of(OPERATION, variable, which, region, data, dtype, layout, strategy) }?;
        let work = move |patience: Patience<'_>| {
            let incoming = incoming;
            incoming.get(patience).map(|version| Done { version, view: None })
        };
        *request = start(OPERATION, within(OPERATION, timeout_s)?, work)?;
        Ok(())
    })
}

/// Says in `*ended` whether the request has ended: 1 or 0; `thalweg_wait` then says how. Does not block.
///
/// # Safety
/// `ended` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_test(request: *const thalweg_request, ended: *mut i32) -> thalweg_status {
    const OPERATION: &str = "request.test";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let ended = unsafe { place(OPERATION, "ended", ended) }?;
        *ended = i32::from(held(OPERATION, request)?.state.outcome().is_some());
        Ok(())
    })
}

/// Waits until the request has ended, and returns what the put or get would have returned; `THALWEG_TIMEOUT` with a
/// message that begins with `request.wait` when it goes on. `*version`, which may be `NULL`, becomes the version that
/// was put or got.
///
/// # Safety
/// `version` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_wait(
    request: *const thalweg_request,
    timeout_s: f64,
    version: *mut u64,
) -> thalweg_status {
    const OPERATION: &str = "request.wait";
    guarded(OPERATION, || {
        let running = held(OPERATION, request)?;
        let within = within(OPERATION, timeout_s)?;
        let state = &running.state;
        let waiting = state.changed.wait_timeout_while(state.outcome(), within.duration(), |o| o.is_none());
        let (outcome, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        match &*outcome {
            None => Err(Error::new(Kind::Timeout, OPERATION, format!("the request goes on after {within}"))),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(done)) => {
                if !version.is_null() {
                    // SAFETY: the caller's promise.
                    unsafe { version.write(done.version.0) };
                }
                Ok(())
            }
        }
    })
}

/// Hands out the view of a `thalweg_iget` that has ended, once; it lives on after the request. Does not block.
///
/// Errors: `THALWEG_INVALID` when the request goes on, was no `thalweg_iget`, or has handed its view out; what the
/// get failed with.
///
/// # Safety
/// `view` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_request_view(
    request: *const thalweg_request,
    view: *mut *mut thalweg_view,
) -> thalweg_status {
    const OPERATION: &str = "request.view";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let view = unsafe { place(OPERATION, "view", view) }?;
        let running = held(OPERATION, request)?;
        let mut outcome = running.state.outcome();
        match &mut *outcome {
            None => Err(invalid(OPERATION, "the request goes on; wait for it")),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(done)) => {
                let found = done.view.take();
                let detail = "the request has no view: it was no iget, or has handed its view out";
                *view = view::of_region(found.ok_or_else(|| invalid(OPERATION, detail))?);
                Ok(())
            }
        }
    })
}

/// Asks the request to end soon, with `THALWEG_INTERRUPTED` unless it is done before. Does not block.
#[no_mangle]
pub extern "C" fn thalweg_cancel(request: *const thalweg_request) -> thalweg_status {
    const OPERATION: &str = "request.cancel";
    guarded(OPERATION, || {
        held(OPERATION, request)?.state.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// Forgets the request; one that goes on is cancelled first. After it the caller's array is its own again. Blocks for
/// a fraction of a second at most, unless a copy is under way. Nothing for `NULL`; `THALWEG_INVALID` when it was
/// released before.
#[no_mangle]
pub extern "C" fn thalweg_request_release(request: *mut thalweg_request) -> thalweg_status {
    const OPERATION: &str = "request.release";
    guarded(OPERATION, || {
        if let Some(running) = taken(OPERATION, request)? {
            running.state.cancelled.store(true, Ordering::Relaxed);
            running.join();
        }
        Ok(())
    })
}
