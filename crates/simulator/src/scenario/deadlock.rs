//! Programs that never end: who waits for what.

use super::machine::Machine;
use super::rank::Waits;
use thalweg_foundation::{Error, Kind, Result};

impl Machine {
    /// Checks that every rank's program has ended.
    ///
    /// # Errors
    /// `Invalid`, with the first ranks that wait and for what.
    pub(super) fn check_ended(&self) -> Result<()> {
        let mut waiting = Vec::new();
        for (number, rank, state) in self.ranks() {
            if state.waits == Waits::Ended {
                continue;
            }
            let receives: Vec<_> = state
                .matching
                .posted()
                .map(|posted| format!("{:?} with tag {:?}", posted.from, posted.tag))
                .collect();
            waiting.push(format!(
                "rank {rank} of application {number} waits for {:?}, messages from [{}]",
                state.waits,
                receives.join(", ")
            ));
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let shown = waiting[..waiting.len().min(5)].join("; ");
        let detail = format!("{} ranks wait for what never comes: {shown}", waiting.len());
        Err(Error::new(Kind::Invalid, "simulation: deadlock", detail))
    }
}
