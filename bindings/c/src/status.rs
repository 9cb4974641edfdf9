//! Status codes, and the message of the calling thread's last failure.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use thalweg::{Error, Kind, Result};

/// What a call came to.
///
/// Anything but `THALWEG_OK` leaves a message for `thalweg_last_error`, which says what failed, the value that was
/// met and what is accepted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum thalweg_status {
    /// It did what it says.
    THALWEG_OK = 0,
    /// A variable or version does not exist.
    THALWEG_NOT_FOUND = 1,
    /// A version is already there.
    THALWEG_EXISTS = 2,
    /// An argument is outside what is accepted; also a handle that was released.
    THALWEG_INVALID = 3,
    /// Extents, regions or dimensions do not agree.
    THALWEG_SHAPE = 4,
    /// Element types do not agree, or one is not supported.
    THALWEG_DTYPE = 5,
    /// A memory or count limit is reached.
    THALWEG_FULL = 6,
    /// The deadline passed.
    THALWEG_TIMEOUT = 7,
    /// The server, or another process, cannot be reached any more.
    THALWEG_GONE = 8,
    /// The token is wrong, or the operation is not allowed.
    THALWEG_ACCESS = 9,
    /// A message could not be understood: two releases that do not fit.
    THALWEG_PROTOCOL = 10,
    /// The operating system refused.
    THALWEG_IO = 11,
    /// `thalweg_cancel` ended it.
    THALWEG_INTERRUPTED = 12,
    /// Stored bytes are not what was written.
    THALWEG_CORRUPT = 13,
    /// A defect of Thalweg itself; please report it with the message.
    THALWEG_INTERNAL = 99,
}

use thalweg_status::*;

impl From<Kind> for thalweg_status {
    fn from(kind: Kind) -> thalweg_status {
        match kind {
            Kind::NotFound => THALWEG_NOT_FOUND,
            Kind::Exists => THALWEG_EXISTS,
            Kind::Invalid => THALWEG_INVALID,
            Kind::Shape => THALWEG_SHAPE,
            Kind::DType => THALWEG_DTYPE,
            Kind::Full => THALWEG_FULL,
            Kind::Timeout => THALWEG_TIMEOUT,
            Kind::Gone => THALWEG_GONE,
            Kind::Access => THALWEG_ACCESS,
            Kind::Protocol => THALWEG_PROTOCOL,
            Kind::Io => THALWEG_IO,
            Kind::Interrupted => THALWEG_INTERRUPTED,
            Kind::Corrupt => THALWEG_CORRUPT,
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Keeps `message` for `thalweg_last_error`.
fn remember(message: &str) {
    let text: Vec<u8> = message.bytes().filter(|b| *b != 0).collect();
    LAST.with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// Runs `work`; its error, or its panic, becomes a status and a message.
pub fn guarded(operation: &str, work: impl FnOnce() -> Result<()>) -> thalweg_status {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => THALWEG_OK,
        Ok(Err(error)) => {
            remember(&error.message);
            error.kind.into()
        }
        Err(panic) => {
            remember(&format!("{operation}: a defect of Thalweg: {}", said(&*panic)));
            THALWEG_INTERNAL
        }
    }
}

/// What a panic said.
pub fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// An argument outside what is accepted.
pub fn invalid(operation: &str, detail: impl std::fmt::Display) -> Error {
    Error::new(Kind::Invalid, operation, detail)
}

/// The message of the last call of this thread that did not return `THALWEG_OK`; empty when there was none.
///
/// The text belongs to Thalweg, and stays until the thread's next failing call. Never `NULL`.
#[no_mangle]
pub extern "C" fn thalweg_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// The name of a status, such as `"THALWEG_TIMEOUT"`; `"THALWEG_UNKNOWN"` for any other number.
#[no_mangle]
pub extern "C" fn thalweg_status_name(status: i32) -> *const c_char {
    macro_rules! names {
        ($($name:ident $text:literal),* $(,)?) => {
            match status {
                $(n if n == $name as i32 => $text,)*
                _ => c"THALWEG_UNKNOWN",
            }
        };
    }
    let name = names!(
        THALWEG_OK c"THALWEG_OK",
        THALWEG_NOT_FOUND c"THALWEG_NOT_FOUND",
        THALWEG_EXISTS c"THALWEG_EXISTS",
        THALWEG_INVALID c"THALWEG_INVALID",
        THALWEG_SHAPE c"THALWEG_SHAPE",
        THALWEG_DTYPE c"THALWEG_DTYPE",
        THALWEG_FULL c"THALWEG_FULL",
        THALWEG_TIMEOUT c"THALWEG_TIMEOUT",
        THALWEG_GONE c"THALWEG_GONE",
        THALWEG_ACCESS c"THALWEG_ACCESS",
        THALWEG_PROTOCOL c"THALWEG_PROTOCOL",
        THALWEG_IO c"THALWEG_IO",
        THALWEG_INTERRUPTED c"THALWEG_INTERRUPTED",
        THALWEG_CORRUPT c"THALWEG_CORRUPT",
        THALWEG_INTERNAL c"THALWEG_INTERNAL",
    );
    name.as_ptr()
}

/// The release of the library that runs, such as `"0.1.0"`.
#[no_mangle]
pub extern "C" fn thalweg_library_version() -> *const c_char {
    // SAFETY: the literal ends with a NUL and has no other.
    unsafe {
        std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes())
    }
    .as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the message is a C string of this thread.
        unsafe { CStr::from_ptr(thalweg_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn an_error_becomes_a_status_and_a_message_of_its_thread() {
        assert_eq!(guarded("stage.put", || Ok(())), THALWEG_OK);
        let failing = || guarded("stage.put", || Err(Error::new(Kind::Shape, "stage.put", "too large")));
        assert_eq!(failing(), THALWEG_SHAPE);
        assert_eq!(last(), "stage.put: too large");
        std::thread::spawn(|| assert_eq!(last(), "")).join().unwrap();
    }

    #[test]
    fn a_panic_does_not_leave() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let status = guarded("stage.get", || panic!("of {}", 1));
        std::panic::set_hook(hook);
        assert_eq!(status, THALWEG_INTERNAL);
        assert_eq!(last(), "stage.get: a defect of Thalweg: of 1");
    }

    #[test]
    fn a_status_has_a_name() {
        // SAFETY: names are C strings that live for ever.
        let name = |status| unsafe { CStr::from_ptr(thalweg_status_name(status)) }.to_str().unwrap();
        assert_eq!(name(7), "THALWEG_TIMEOUT");
        assert_eq!(name(1000), "THALWEG_UNKNOWN");
    }
}
