//! Which process this is, without a system call each time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;
use thalweg_foundation::{Error, Kind, Result};

static KNOWN: AtomicU32 = AtomicU32::new(0);

extern "C" fn forget() {
    KNOWN.store(0, Ordering::Relaxed);
}

/// The number of this process; a forked child gets its own.
pub fn id() -> u32 {
    static WATCH_FORKS: Once = Once::new();
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the handler only stores into an atomic, which a forked child may do.
            WATCH_FORKS.call_once(|| unsafe {
                libc::pthread_atfork(None, None, Some(forget));
            });
            let id = std::process::id();
            KNOWN.store(id, Ordering::Relaxed);
            id
        }
        known => known,
    }
}

/// That this is the process in which `what` was made; a forked child has none of its threads.
///
/// # Errors
/// `Invalid` in another one.
pub fn same(made_in: u32, operation: &str, what: &str) -> Result<()> {
    let here = id();
    if here == made_in {
        return Ok(());
    }
    let detail = format!(
        "this {what} was made in process {made_in} and cannot be used in process {here}, forked from it; make a new one"
    );
    Err(Error::new(Kind::Invalid, operation, detail))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_forked_child_knows_itself() {
        assert_eq!(super::id(), std::process::id());
        // SAFETY: the child only looks at its number and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let right = super::id() == std::process::id();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(super::id(), std::process::id());
    }
}
