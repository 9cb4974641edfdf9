//! Relayout with threads: one plan, cut into a part for each of them.

use thalweg_foundation::array::{Part, Plan};
use thalweg_foundation::{Error, Kind, Result};

/// The most threads that one relayout may use.
pub const THREADS: usize = 1024;

/// Fewer bytes than this for each thread cost more to hand out than to copy.
const SHARE: u64 = 256 << 10;

#[derive(Clone, Copy)]
struct Ends(*const u8, *mut u8);
// SAFETY: the threads read the source, and write disjoint parts of the target.
unsafe impl Send for Ends {}

/// Runs `plan` with at most `threads` threads, this one among them; returns when all are done.
///
/// # Errors
/// `Invalid` unless there are 1 to `THREADS` threads.
///
/// # Safety
/// As for `Plan::run`.
pub unsafe fn relayout(plan: &Plan, from: *const u8, to: *mut u8, threads: usize) -> Result<()> {
    if !(1..=THREADS).contains(&threads) {
        let detail = format!("{threads} threads; accepted are 1 to {THREADS}");
        return Err(Error::new(Kind::Invalid, "relayout", detail));
    }
    let worthwhile = (plan.bytes().0 / SHARE).max(1);
    if threads == 1 || worthwhile == 1 {
        // SAFETY: the caller's promise.
        unsafe { plan.run(from, to) };
        return Ok(());
    }
    let parts = plan.split(threads.min(worthwhile.try_into().unwrap_or(threads)));
    side_by_side(parts, Ends(from, to), |part, Ends(from, to)| {
        // SAFETY: the caller's promise; parts write disjoint memory.
        unsafe { part.run(from, to) }
    });
    Ok(())
}

/// Works on each of `parts` in a thread of its own, the first in this one.
fn side_by_side(parts: Vec<Part>, ends: Ends, work: impl Fn(&Part, Ends) + Sync) {
    std::thread::scope(|scope| {
        let (parts, work) = (&parts, &work);
        for part in parts.iter().skip(1) {
            scope.spawn(move || work(part, ends));
        }
        parts.iter().take(1).for_each(|part| work(part, ends));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_threads_copies_the_same() {
        let (rows, columns) = (1031u64, 769u64);
        let source: Vec<u32> = (0..rows * columns).map(|i| i as u32).collect();
        let plan = Plan::new(4, &[rows, columns], &[4 * columns as i64, 4], &[4, 4 * rows as i64]).unwrap();
        for threads in [1, 2, 3, 8] {
            let mut target = vec![0u32; source.len()];
            // SAFETY: both hold all rows and columns.
            unsafe { relayout(&plan, source.as_ptr().cast(), target.as_mut_ptr().cast(), threads).unwrap() };
            let all = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
            assert!(all
                .into_iter()
                .all(|(r, c)| target[(c * rows + r) as usize] == source[(r * columns + c) as usize]));
        }
        // SAFETY: refused before anything is copied.
        assert!(unsafe { relayout(&plan, std::ptr::null(), std::ptr::null_mut(), 0) }.is_err());
    }
}
