//! Parts of one call that are done side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_transport::link::{now, Patience};

/// From this size on a copy is shared with more threads: starting one costs as much as 1 MiB.
pub(super) const WORTH_HELP: Bytes = Bytes(8 << 20);
/// Threads for one call, at most.
const THREADS_MAX: usize = 8;

/// An address that several threads may use side by side.
#[derive(Clone, Copy)]
pub(super) struct Shared<T>(pub T);

// SAFETY: who shares an address gives each thread bytes behind it that no other one writes.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub(super) fn address(&self) -> T {
        self.0
    }
}

/// Does `work` for each of `items`, side by side when they move `bytes` that are worth it; what it found, in their order.
///
/// # Errors
/// The first one that happened; then the others are given up.
pub(super) fn each<S: Sync, T: Send>(
    items: &[S],
    bytes: Bytes,
    patience: Patience<'_>,
    work: &(dyn Fn(&S, Patience<'_>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let deadline = now().after(patience.within);
    let next = AtomicUsize::new(0);
    let found: Mutex<Result<Vec<(usize, T)>>> = Mutex::new(Ok(Vec::new()));
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    let given_up = || match &*lock() {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::new(Kind::Interrupted, "stage", "another part of the call has failed")),
    };
    let some = |tick: &dyn Fn() -> Result<()>| {
        while given_up().is_ok() {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(n) else { return };
            let one = work(item, Patience { within: deadline.since(now()), tick });
            match (&mut *lock(), one) {
                (Ok(found), Ok(one)) => found.push((n, one)),
                (first @ Ok(_), Err(e)) => *first = Err(e),
                (Err(_), _) => {}
            }
        }
    };
    let helpers = if bytes < WORTH_HELP { 0 } else { items.len().min(THREADS_MAX).saturating_sub(1) };
    thread::scope(|scope| {
        for _ in 0..helpers {
            // Without a thread the others do its share.
            let _ =
                thread::Builder::new().name("thalweg-part".into()).spawn_scoped(scope, || some(&given_up));
        }
        some(&|| (patience.tick)().and_then(|()| given_up()));
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    found.sort_by_key(|(n, _)| *n);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}
