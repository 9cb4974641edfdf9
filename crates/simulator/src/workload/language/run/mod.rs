//! What one task of a program does: the next operation, whenever it is asked for.

mod communication;
mod record;
mod timed;

use self::timed::Timed;
use super::diagnostic::Diagnostic;
use super::evaluate::{Outcome, Values};
use super::progression::Progression;
use super::tree::{Action, Bytes, File, Statement, StatementId, Value, Verb};
use super::Bound;
use crate::engine::random::{below, bits, Purpose};
use crate::workload::operation::{Behaviour, Collective, Operation, Seen};
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_foundation::Result;

/// Where a task is in a statement that has others.
enum Frame {
    Block {
        id: StatementId,
        next: usize,
    },
    /// `before` is how much was done when the last round began.
    Repeat {
        body: StatementId,
        left: u64,
        before: Option<u64>,
    },
    /// A loop over a time.
    Timed(Timed),
    /// Behind warm-up rounds.
    Warm {
        synchronized: bool,
    },
    Each {
        id: StatementId,
        set: usize,
        numbers: Progression,
        place: u64,
        before: i64,
    },
}

/// One task of a program that runs.
pub struct Performer {
    bound: Arc<Bound>,
    task: u32,
    values: Values,
    stack: Vec<Frame>,
    /// What is to be done next, and how often.
    queue: VecDeque<(Operation, u64)>,
    request: u32,
    /// How much was done so far: what a loop compares to know whether it does anything.
    done: u64,
    /// Loops over a time that have begun; how often they repeat, if that is given instead of measured; and whether the
    /// operation that was given last is task 0's word.
    timed: usize,
    given: Option<Arc<[u64]>>,
    tells: bool,
    /// Within so many warm-up loops: nothing is logged.
    warming: u32,
    seen: Seen,
    /// What was seen when counters were last set to zero, and what was stored.
    zero: Seen,
    stored: Vec<Seen>,
}

impl Behaviour for Performer {
    fn next(&mut self, seen: &Seen) -> Result<Option<Operation>> {
        self.seen = *seen;
        self.tells = false;
        self.advance().map_err(|found| found.error(&self.bound.program.source))
    }
}

impl Performer {
    pub(super) fn new(bound: Arc<Bound>, task: u32, given: Option<Arc<[u64]>>) -> Performer {
        let mut values = Values::new(bound.program.tree.slots, bound.tasks, bound.seed);
        values.variables.clone_from(&bound.values);
        values.task = task;
        let mut performer = Performer {
            bound,
            task,
            values,
            stack: Vec::new(),
            queue: VecDeque::new(),
            request: 0,
            done: 0,
            timed: 0,
            given,
            tells: false,
            warming: 0,
            seen: Seen::default(),
            zero: Seen::default(),
            stored: Vec::new(),
        };
        performer.stack.push(Frame::Block { id: StatementId::MAX, next: 0 });
        performer
    }

    fn advance(&mut self) -> Outcome<Option<Operation>> {
        loop {
            if let Some(operation) = self.queued() {
                return Ok(Some(operation));
            }
            let Some(statement) = self.next_statement()? else {
                if self.stack.is_empty() {
                    return Ok(None);
                }
                continue;
            };
            self.begin(statement)?;
        }
    }

    /// The next operation in the queue; a request of its own for each that needs one.
    fn queued(&mut self) -> Option<Operation> {
        let (operation, left) = self.queue.front_mut()?;
        let mut operation = operation.clone();
        *left -= 1;
        if *left == 0 {
            self.queue.pop_front();
        }
        match &mut operation {
            Operation::Isend { request, .. } | Operation::Irecv { request, .. } => {
                *request = self.request;
                self.request = self.request.wrapping_add(1);
            }
            Operation::WaitAll => self.request = 0,
            _ => {}
        }
        Some(operation)
    }

    fn push(&mut self, operation: Operation, count: u64) {
        self.done += 1;
        if count > 0 {
            self.queue.push_back((operation, count));
        }
    }

    /// The statement that the innermost frame comes to next; none when that frame is left.
    fn next_statement(&mut self) -> Outcome<Option<StatementId>> {
        let program = Arc::clone(&self.bound.program);
        let Some(frame) = self.stack.last_mut() else { return Ok(None) };
        let next = match frame {
            Frame::Block { id, next } => {
                let statements = match program.tree.statements.get(*id as usize) {
                    Some(Statement::Block(statements)) => statements,
                    _ => &program.tree.top,
                };
                *next += 1;
                statements.get(*next - 1).copied()
            }
            Frame::Repeat { body, left, before } => {
                // A round in which this task did nothing is like the next one, unless random numbers decide.
                let idle = *before == Some(self.done) && !program.random;
                *before = Some(self.done);
                if *left == 0 || idle {
                    None
                } else {
                    *left -= 1;
                    Some(*body)
                }
            }
            Frame::Timed(timed) => {
                let timed = *timed;
                return self.lap(timed);
            }
            Frame::Warm { synchronized } => {
                self.warming -= 1;
                if *synchronized {
                    self.push(Operation::barrier(), 1);
                }
                None
            }
            Frame::Each { id, set, numbers, place, before } => {
                let Statement::Each { variable, sets, body } = &program.tree.statements[*id as usize] else {
                    return Ok(None);
                };
                loop {
                    if let Some(number) = numbers.next(*place, *before) {
                        (*place, *before) = (*place + 1, number);
                        self.values.variables[variable.slot as usize] = number;
                        break Some(*body);
                    }
                    *set += 1;
                    let Some(next) = sets.get(*set) else { break None };
                    (*numbers, *place) = (self.values.progression(next)?, 0);
                }
            }
        };
        if next.is_none() {
            self.stack.pop();
        }
        Ok(next)
    }

    /// Begins a statement: what it does goes to the queue, what it consists of onto the stack.
    fn begin(&mut self, mut id: StatementId) -> Outcome<()> {
        let program = Arc::clone(&self.bound.program);
        loop {
            self.values.step += 1;
            match &program.tree.statements[id as usize] {
                Statement::Block(_) => self.stack.push(Frame::Block { id, next: 0 }),
                Statement::Repeat { count, warmup, synchronized, body } => {
                    let left = self.values.count(count, "a number of repetitions")?;
                    self.stack.push(Frame::Repeat { body: *body, left, before: None });
                    if let Some(warmup) = warmup {
                        let left = self.values.count(warmup, "a number of repetitions")?;
                        self.warming += 1;
                        self.stack.push(Frame::Warm { synchronized: *synchronized });
                        self.stack.push(Frame::Repeat { body: *body, left, before: None });
                    } else if *synchronized {
                        self.push(Operation::barrier(), 1);
                    }
                }
                Statement::Timed { time, warmup, synchronized, body } => {
                    let frame = Timed::new(*body, self.values.time(time)?, time.span);
                    self.stack.push(Frame::Timed(frame));
                    if let Some(warmup) = warmup {
                        let frame = Timed::new(*body, self.values.time(warmup)?, warmup.span);
                        self.warming += 1;
                        self.stack.push(Frame::Warm { synchronized: *synchronized });
                        self.stack.push(Frame::Timed(frame));
                    } else if *synchronized {
                        self.push(Operation::barrier(), 1);
                    }
                }
                Statement::Each { sets, .. } => {
                    let numbers = self.values.progression(&sets[0])?;
                    self.stack.push(Frame::Each { id, set: 0, numbers, place: 0, before: 0 });
                }
                Statement::Let { bindings, body } => {
                    let numbers = bindings.iter().filter(|(_, value)| !matches!(value, Value::Group(_)));
                    for (name, value) in numbers {
                        self.values.variables[name.slot as usize] = self.value(value)?;
                    }
                    id = *body;
                    continue;
                }
                Statement::If { condition, then, otherwise } => {
                    let chosen = if self.values.holds(condition)? { Some(*then) } else { *otherwise };
                    if let Some(chosen) = chosen {
                        id = chosen;
                        continue;
                    }
                }
                Statement::Assert { claim, condition, span } => {
                    if !self.values.holds(condition)? {
                        let message = format!("the assertion does not hold: {claim}");
                        let label = format!("with {} tasks", self.values.tasks());
                        return Err(Diagnostic::new(*span, message, label));
                    }
                }
                Statement::Action(action) => self.perform(id, action)?,
            }
            return Ok(());
        }
    }

    fn value(&self, value: &Value) -> Outcome<i64> {
        match value {
            Value::Expression(expression) => self.values.integer(expression),
            // Where a group is named its tasks stand.
            Value::Group(_) => Ok(0),
            Value::RandomTask { from, to, without, span } => {
                let bound = |part: &Option<_>, default| {
                    part.as_ref().map_or(Ok(default), |part| self.values.integer(part))
                };
                let tasks = i64::from(self.values.tasks());
                let from = bound(from, 0)?.max(0);
                let to = bound(to, tasks - 1)?.min(tasks - 1);
                let without = without.as_ref().map(|part| self.values.integer(part)).transpose()?;
                let without = without.filter(|task| (from..=to).contains(task));
                let count = to - from + 1 - i64::from(without.is_some());
                if count < 1 {
                    return Err(Diagnostic::new(
                        *span,
                        "there is no such task",
                        "expected at least one to choose from",
                    ));
                }
                let drawn =
                    bits(self.values.seed, Purpose::Program, u64::from(span.start), self.values.step << 16);
                let chosen = from + i64::from(below(drawn, count as u32));
                Ok(chosen + i64::from(without.is_some_and(|without| chosen >= without)))
            }
        }
    }

    /// This task's part of an action.
    fn perform(&mut self, id: StatementId, action: &Action) -> Outcome<()> {
        match &action.verb {
            Verb::Send { messages, asynchronous, to, receive } => {
                return self.exchange(id, action, messages, *asynchronous, to, *receive)
            }
            Verb::Receive { messages, asynchronous, from } => {
                return self.take(action, messages, *asynchronous, from);
            }
            Verb::Multicast { .. } => return self.gather(id, action, |_| Collective::Bcast),
            Verb::Synchronize => return self.gather(id, action, |_| Collective::Barrier),
            Verb::Reduce { .. } => return self.reduce(id, action),
            _ => {}
        }
        if !self.values.takes_part(&action.tasks, self.task)? {
            return Ok(());
        }
        match &action.verb {
            Verb::Await => self.push(Operation::WaitAll, 1),
            Verb::Delay(time) => {
                let time = self.values.time(time)?;
                self.push(Operation::Compute { time }, 1);
            }
            Verb::Backend(parts, call) => self.backend(action, parts, *call)?,
            Verb::Open(file) => self.push(Operation::Open { file: file.number }, 1),
            Verb::Close(file) => self.push(Operation::Close { file: file.number }, 1),
            Verb::Sync(file) => self.push(Operation::Sync { file: file.number }, 1),
            Verb::Read(bytes, file) => {
                let (at, bytes) = self.extent(bytes, file)?;
                self.push(Operation::Read { file: file.number, at, bytes }, 1);
            }
            Verb::Write(bytes, file) => {
                let (at, bytes) = self.extent(bytes, file)?;
                self.push(Operation::Write { file: file.number, at, bytes }, 1);
            }
            Verb::Log(_) | Verb::Output(_) | Verb::Aggregate | Verb::Reset | Verb::Store | Verb::Restore => {
                self.record(&action.verb)?;
            }
            // Memory and processors are not modelled.
            _ => {}
        }
        Ok(())
    }

    fn extent(&self, bytes: &Bytes, file: &File) -> Outcome<(u64, u64)> {
        let at = file.at.as_ref().map_or(Ok(0), |at| self.values.bytes(at))?;
        Ok((at, self.values.bytes(bytes)?))
    }
}
