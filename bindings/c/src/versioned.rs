//! Structs that may grow: their first member is the size that the caller's header knows.

use crate::status::invalid;
use thalweg::Result;

/// A struct whose first member is `size`, in bytes; plain data, for which zero is a value.
///
/// # Safety
/// The first member is a `usize`, any bytes are a valid value, and there is no padding that matters.
pub unsafe trait Versioned: Copy {
    /// What it is called in messages.
    const WHAT: &'static str;
    /// Its initialiser, for messages.
    const INIT: &'static str;
    /// The size in its first release.
    const FIRST: usize;
}

/// The struct at `given`, whatever release its caller was compiled with: what an older one does not have is
/// `otherwise`'s, and what a newer one has besides must be zero.
///
/// # Safety
/// `given` is `NULL` or points to as many readable bytes as its first member says.
pub unsafe fn taken<T: Versioned>(operation: &str, given: *const T, otherwise: T) -> Result<T> {
    if given.is_null() {
        return Ok(otherwise);
    }
    // SAFETY: the first member is the size.
    let size = unsafe { given.cast::<usize>().read() };
    check::<T>(operation, size)?;
    let mut value = otherwise;
    let known = size.min(size_of::<T>());
    // SAFETY: `size` bytes are readable, and `known` of them fit.
    unsafe { std::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    // SAFETY: the rest of `size` bytes.
    let rest = unsafe { std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|b| *b != 0) {
        let detail = format!("{} of a newer release has set what this library does not know", T::WHAT);
        return Err(invalid(operation, detail));
    }
    Ok(value)
}

/// Fills the struct at `into`, as much of it as its caller knows.
///
/// # Safety
/// `into` is `NULL` or points to as many writable bytes as its first member says.
pub unsafe fn given<T: Versioned>(operation: &str, into: *mut T, value: T) -> Result<()> {
    if into.is_null() {
        return Err(invalid(operation, format!("{} is NULL", T::WHAT)));
    }
    // SAFETY: the first member is the size.
    let size = unsafe { into.cast::<usize>().read() };
    check::<T>(operation, size)?;
    // SAFETY: `size` bytes are writable; the size itself stays the caller's.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>(),
            into.cast::<u8>(),
            size.min(size_of::<T>()),
        );
        into.cast::<usize>().write(size);
    }
    Ok(())
}

fn check<T: Versioned>(operation: &str, size: usize) -> Result<()> {
    // Nothing of this face is near a page: a larger size is memory that was never initialised.
    if (T::FIRST..=4096).contains(&size) {
        return Ok(());
    }
    Err(invalid(operation, format!("{}.size = {size}; initialise it with {}", T::WHAT, T::INIT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Options {
        size: usize,
        old: u64,
        new: u64,
    }

    // SAFETY: three words.
    unsafe impl Versioned for Options {
        const WHAT: &'static str = "options";
        const INIT: &'static str = "OPTIONS_INIT";
        const FIRST: usize = 16;
    }

    const OTHERWISE: Options = Options { size: 24, old: 1, new: 2 };

    #[test]
    fn an_older_caller_gets_the_default_of_what_it_does_not_know() {
        let older = [16usize, 7];
        // SAFETY: sixteen bytes, as the first word says.
        let got = unsafe { taken("test", older.as_ptr().cast::<Options>(), OTHERWISE) }.unwrap();
        assert_eq!((got.old, got.new), (7, 2));
    }

    #[test]
    fn a_newer_caller_is_understood_as_long_as_it_asks_for_nothing_new() {
        let mut newer = [32usize, 7, 8, 0];
        // SAFETY: thirty-two bytes, as the first word says.
        let got = unsafe { taken("test", newer.as_ptr().cast::<Options>(), OTHERWISE) }.unwrap();
        assert_eq!((got.old, got.new), (7, 8));
        newer[3] = 1;
        // SAFETY: as above.
        assert!(unsafe { taken("test", newer.as_ptr().cast::<Options>(), OTHERWISE) }.is_err());
    }

    #[test]
    fn a_size_that_was_never_set_is_refused() {
        let zero = [0usize, 7, 8];
        // SAFETY: twenty-four bytes.
        let error = unsafe { taken("test", zero.as_ptr().cast::<Options>(), OTHERWISE) }.unwrap_err();
        assert_eq!(error.to_string(), "test: options.size = 0; initialise it with OPTIONS_INIT");
    }
}
