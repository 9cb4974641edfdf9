//! What must hold after every step.

use super::catalog::Streams;
use std::result::Result;

impl Streams {
    /// Checks it; the adversarial world does so after every step.
    ///
    /// # Errors
    /// What does not hold.
    pub fn invariants(&self) -> Result<(), String> {
        for (name, topic) in &self.topics {
            let named = |e: String| format!("topic {name}: {e}");
            topic.partitions.iter().try_for_each(|partition| partition.invariants()).map_err(named)?;
            let mut consumers = topic.consumers.values();
            consumers.try_for_each(|consumer| consumer.invariants(&topic.partitions)).map_err(named)?;
        }
        match (self.next_deadline(), self.next_of_all()) {
            (soonest, Some(next)) if soonest.is_none_or(|at| at > next) => {
                Err(format!("something is to be done at {next:?}, the clock rings at {soonest:?}"))
            }
            _ => Ok(()),
        }
    }
}
