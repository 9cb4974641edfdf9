//! Identifiers: what a variable, a namespace or a client may be called.

use super::{Error, Kind, Result, Version};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The longest name in bytes.
pub const NAME_MAX: usize = 250;

/// A name of 1 to 250 bytes of UTF-8 without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Name(Arc<str>);

impl Name {
    /// Checks and takes `text`; `what` names it in the error, as in `stage.put: name`.
    ///
    /// # Errors
    /// `Invalid` when it is empty, longer than 250 bytes, or holds a control character.
    pub fn new(what: &str, text: &str) -> Result<Name> {
        if text.is_empty() || text.len() > NAME_MAX {
            let detail = format!("a name of {} bytes; accepted are 1 to {NAME_MAX} bytes", text.len());
            return Err(Error::new(Kind::Invalid, what, detail));
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            let detail = format!("name {text:?} holds the control character {c:?}; remove it");
            return Err(Error::new(Kind::Invalid, what, detail));
        }
        Ok(Name(text.into()))
    }

    /// A name that stands before every other one in order; nothing has it.
    pub fn first() -> Name {
        Name("".into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Name, D::Error> {
        let text = <&str>::deserialize(from)?;
        Name::new("name", text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One version of one variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The variable's name.
    pub name: Name,
    /// Its version (time step).
    pub version: Version,
}

impl Key {
    /// A key that stands before every other one in order; no version has it.
    pub fn first() -> Key {
        Key { name: Name::first(), version: Version(0) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} version {}", self.name.as_str(), self.version.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_refused_with_the_value_met() {
        assert_eq!(
            Name::new("stage.put", "").unwrap_err().to_string(),
            "stage.put: a name of 0 bytes; accepted are 1 to 250 bytes"
        );
        assert_eq!(
            Name::new("stage.put", "a\0b").unwrap_err().to_string(),
            "stage.put: name \"a\\0b\" holds the control character '\\0'; remove it"
        );
        assert!(Name::new("stage.put", &"x".repeat(250)).is_ok());
        assert!(Name::new("stage.put", &"x".repeat(251)).is_err());
    }
}
