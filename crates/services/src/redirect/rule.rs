//! The rule of a file: where its bytes are kept, and who uses it after whom.

use serde::{Deserialize, Serialize};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// The longest list of turns.
pub const TURNS_MAX: usize = 64;

/// Where the bytes of a file are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// In memory, and never in a file.
    Memory,
    /// In memory, and behind it in the file.
    Both,
}

/// How a file is redirected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Where its bytes are kept.
    pub mode: Mode,
    /// The components that use it, one after the other and then again from the first; empty: a file is read when it is complete,
    /// as often as one likes.
    pub turns: Vec<Name>,
    /// How long to wait for another component.
    pub deadline: Nanos,
}

impl Rule {
    /// Whether a service can follow it.
    ///
    /// # Errors
    /// `Invalid` for more turns than there may be.
    pub fn check(&self) -> Result<()> {
        if self.turns.len() <= TURNS_MAX {
            return Ok(());
        }
        let detail = format!("a rule of {} turns; accepted are at most {TURNS_MAX}", self.turns.len());
        Err(Error::new(Kind::Invalid, "redirect.open", detail))
    }

    /// The component whose turn has this number, counted from the first turn of all.
    pub fn component(&self, turn: u64) -> Option<&Name> {
        let count = self.turns.len() as u64;
        (count > 0).then(|| &self.turns[(turn % count) as usize])
    }

    /// Whether this turn begins a new round.
    pub fn begins(&self, turn: u64) -> bool {
        turn.is_multiple_of(self.turns.len().max(1) as u64)
    }
}
