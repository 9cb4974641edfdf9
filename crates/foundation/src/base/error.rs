//! The one error type: a closed set of kinds, and a message that instructs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What went wrong, as a caller can act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A variable or version that does not exist.
    NotFound,
    /// A version that is already there.
    Exists,
    /// An argument outside what is accepted.
    Invalid,
    /// Extents that do not agree.
    Shape,
    /// Element types that do not agree, or one that is not supported.
    DType,
    /// A memory or count limit is reached and the policy is to fail.
    Full,
    /// A deadline passed.
    Timeout,
    /// The peer cannot be reached any more.
    Gone,
    /// A wrong token, or an operation that is not allowed.
    Access,
    /// A message that cannot be understood.
    Protocol,
    /// The operating system refused.
    Io,
    /// The caller asked to stop waiting.
    Interrupted,
    /// Stored bytes that are not what was written.
    Corrupt,
}

impl Kind {
    /// Whether the same call can succeed later without any change by the caller.
    pub fn may_retry(self) -> bool {
        matches!(self, Kind::Full | Kind::Timeout | Kind::Interrupted)
    }
}

/// An error: kind, operation, and a message with the value met and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What a caller can act on.
    pub kind: Kind,
    /// What failed, the value that it met, and what is accepted; begins with the operation.
    pub message: String,
}

/// A result with the one error type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `operation`; `detail` says the value met and what is accepted.
    pub fn new(kind: Kind, operation: &str, detail: impl fmt::Display) -> Error {
        Error { kind, message: format!("{operation}: {detail}") }
    }

    /// An error of the operating system met by `operation`.
    pub fn io(operation: &str, source: impl Into<std::io::Error>) -> Error {
        let source: std::io::Error = source.into();
        Error::new(Kind::Io, operation, source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
