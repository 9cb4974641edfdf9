//! Waiting without the GIL, and still hearing Ctrl-C.

use crate::failure::raised;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use thalweg::{Error, Kind, Nanos, Patience, Result};

/// A time-out in seconds as Python gives it.
pub fn seconds(operation: &str, timeout_s: f64) -> PyResult<Nanos> {
    if timeout_s.is_finite() && (0.0..=1e9).contains(&timeout_s) {
        return Ok(Nanos((timeout_s * 1e9) as u64));
    }
    let detail = format!("timeout_s = {timeout_s}; accepted are 0 to 1e9 seconds");
    Err(raised(Error::new(Kind::Invalid, operation, detail)))
}

/// Looks at what `mutex` guards. Where threads with the GIL wait for this lock, `look` must not touch Python, not even to
/// make an exception: that may give up the GIL to one of them, and then each waits for the other.
pub fn guarded<T, R>(mutex: &Mutex<T>, look: impl FnOnce(&mut T) -> R) -> R {
    look(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs `work` without the GIL; Ctrl-C ends its waits, and what it raised is raised here.
pub fn waiting<T: Send>(
    py: Python<'_>,
    within: Nanos,
    work: impl FnOnce(Patience<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    waiting_while(py, within, &|| Ok(()), work)
}

/// As `waiting`; an error of `check`, which is asked a few times a second, ends the wait too.
pub fn waiting_while<T: Send>(
    py: Python<'_>,
    within: Nanos,
    check: &(dyn Fn() -> PyResult<()> + Sync),
    work: impl FnOnce(Patience<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let signal: Mutex<Option<PyErr>> = Mutex::new(None);
    let tick = || {
        Python::attach(|py| py.check_signals().and_then(|()| check())).map_err(|e| {
            guarded(&signal, |signal| *signal = Some(e));
            Error::new(Kind::Interrupted, "stage", "interrupted")
        })
    };
    let done = py.detach(|| work(Patience { within, tick: &tick }));
    done.map_err(|e| guarded(&signal, Option::take).unwrap_or_else(|| raised(e)))
}
