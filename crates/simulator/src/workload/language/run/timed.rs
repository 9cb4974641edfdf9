//! Loops over a time: all tasks repeat equally often, because task 0's clock decides and it tells the others.
//!
//! Before each repetition all tasks synchronize; then task 0 looks at its clock and broadcasts whether there is time left.

use super::super::diagnostic::Diagnostic;
use super::super::evaluate::Outcome;
use super::super::source::Span;
use super::super::tree::StatementId;
use super::{Frame, Performer};
use crate::engine::Picos;
use crate::workload::operation::{Collective, Group, Operation};

/// Bytes of task 0's word: how many repetitions it has granted.
const WORD_BYTES: u64 = 8;

/// Where a task is in such a loop.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub body: StatementId,
    /// Repetitions begin until so much time has passed.
    pub limit: Picos,
    pub span: Span,
    /// How many such loops began before this one, once it has begun.
    pub number: Option<usize>,
    /// Repetitions so far.
    pub laps: u64,
    /// When the first and the last repetition began, on task 0.
    pub began: Picos,
    pub last: Picos,
    pub step: Step,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All tasks synchronize.
    Meet,
    /// Task 0 tells the others.
    Tell,
    /// A repetition, or the end.
    Go,
}

impl Timed {
    /// A loop that has not begun.
    pub fn new(body: StatementId, limit: Picos, span: Span) -> Timed {
        let zero = Picos::ZERO;
        Timed { body, limit, span, number: None, laps: 0, began: zero, last: zero, step: Step::Meet }
    }
}

/// Task 0's word to all.
fn word() -> Operation {
    Operation::Collective { kind: Collective::Bcast, root: 0, bytes: WORD_BYTES, group: Group::All }
}

impl Performer {
    /// The next step of the innermost frame, a loop over a time: the statement that it repeats, if it is to be begun now.
    pub(super) fn lap(&mut self, mut timed: Timed) -> Outcome<Option<StatementId>> {
        let number = timed.number.unwrap_or(self.timed);
        if timed.number.is_none() {
            self.timed += 1;
            timed.number = Some(number);
        }
        let mut next = None;
        match timed.step {
            Step::Meet => {
                self.push(Operation::barrier(), 1);
                timed.step = Step::Tell;
            }
            Step::Tell => {
                if self.task == 0 && self.given.is_none() {
                    self.grant(&mut timed, number)?;
                }
                self.push(word(), 1);
                self.tells = true;
                timed.step = Step::Go;
            }
            Step::Go => {
                let granted = match &self.given {
                    Some(given) => given.get(number).copied().unwrap_or(1),
                    None => self.bound.granted(number),
                };
                if granted <= timed.laps {
                    self.stack.pop();
                    return Ok(None);
                }
                timed.laps += 1;
                timed.step = Step::Meet;
                next = Some(timed.body);
            }
        }
        if let Some(frame) = self.stack.last_mut() {
            *frame = Frame::Timed(timed);
        }
        Ok(next)
    }

    /// Task 0 grants another repetition while there is time.
    fn grant(&self, timed: &mut Timed, number: usize) -> Outcome<()> {
        let now = self.seen.now;
        if timed.laps == 0 {
            timed.began = now;
            self.bound.forget_loops_from(number);
        } else if timed.last == now {
            return Err(Diagnostic::new(
                timed.span,
                "a repetition of this loop takes no time, so it would never end",
                "expected something in it that takes time, such as `all tasks compute for 1 microsecond`",
            ));
        }
        timed.last = now;
        let more = now - timed.began < timed.limit;
        self.bound.grant(number, timed.laps + u64::from(more));
        Ok(())
    }

    /// How many repetitions task 0 has granted to a loop over a time, if the operation that was given last is the broadcast that
    /// tells it. Where tasks do not share this program, whoever performs that broadcast carries the number, and the others
    /// [`hear`](Performer::hear) it.
    pub fn word(&self) -> Option<u64> {
        self.tells.then(|| self.told().map_or(0, |number| self.bound.granted(number)))
    }

    /// Task 0's word has come.
    pub fn hear(&mut self, granted: u64) {
        if let Some(number) = self.told() {
            self.bound.grant(number, granted);
        }
    }

    /// The loop over a time that this task is in.
    fn told(&self) -> Option<usize> {
        match self.stack.last() {
            Some(Frame::Timed(timed)) => timed.number,
            _ => None,
        }
    }
}
