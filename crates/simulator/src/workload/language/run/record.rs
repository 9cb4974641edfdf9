//! What a task logs and puts out, and its counters.

use super::super::evaluate::{Outcome, Values};
use super::super::tree::{Expression, Logged, Part, Verb};
use super::Performer;
use crate::workload::operation::Seen;

impl Performer {
    /// Logs, outputs and counters: what is seen now.
    pub(super) fn record(&mut self, verb: &Verb) -> Outcome<()> {
        self.done += 1;
        self.values.counted = counted(&self.seen, &self.zero);
        match verb {
            Verb::Log(logged) if self.warming == 0 => {
                for Logged { aggregate, value, label } in logged {
                    let value = self.values.real(value)?;
                    self.bound.log().add(self.task, *aggregate, label, value);
                }
            }
            Verb::Output(parts) if self.warming == 0 => {
                let text =
                    self.text(parts, |values, part| values.real(part).map(|value| value.to_string()))?;
                self.bound.log().outputs.push((self.task, text));
            }
            Verb::Aggregate if self.warming == 0 => self.bound.log().flush(Some(self.task)),
            Verb::Reset => self.zero = self.seen,
            Verb::Store => self.stored.push(self.zero),
            Verb::Restore => self.zero = self.stored.pop().unwrap_or(self.zero),
            _ => {}
        }
        Ok(())
    }

    /// Text with values in it.
    pub(super) fn text(
        &self,
        parts: &[Part],
        shown: impl Fn(&Values, &Expression) -> Outcome<String>,
    ) -> Outcome<String> {
        parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Ok(text.clone()),
                Part::Value(value) => shown(&self.values, value),
            })
            .collect()
    }
}

/// What the language's counters show, in their order.
fn counted(seen: &Seen, zero: &Seen) -> [f64; 8] {
    let since = |now: (u64, u64), zero: (u64, u64)| ((now.0 - zero.0) as f64, (now.1 - zero.1) as f64);
    let (sent, received) = (since(seen.sent, zero.sent), since(seen.received, zero.received));
    let elapsed = (seen.now - zero.now).micros();
    [elapsed, sent.1, received.1, sent.0, received.0, sent.1 + received.1, sent.0 + received.0, 0.0]
}
