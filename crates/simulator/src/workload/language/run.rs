//! What one task of a program does: the next operation, whenever it is asked for.

use super::backend;
use super::diagnostic::Diagnostic;
use super::evaluate::{overflow, Outcome, Values};
use super::plan::{described, not_to_itself, Gathering, Messaged};
use super::progression::Progression;
use super::tree::{
    Action, BackendCall, BackendKind, Bytes, File, Logged, Messages, Part, Receive, Statement, StatementId,
    Tasks, Value, Verb,
};
use super::Bound;
use crate::engine::random::{below, bits, Purpose};
use crate::engine::Picos;
use crate::workload::operation::{Behaviour, Collective, Group, Operation, Seen, Source};
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_foundation::Result;

/// The tag of all messages: the language has none, messages between two tasks are received in the order of sending.
const TAG: u32 = 0;

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
        self.advance().map_err(|found| found.error(&self.bound.program.source))
    }
}

impl Performer {
    pub(super) fn new(bound: Arc<Bound>, task: u32) -> Performer {
        let mut values = Values::new(bound.program.tree.slots, bound.tasks, bound.seed);
        values.variables.clone_from(&bound.values);
        let mut performer = Performer {
            bound,
            task,
            values,
            stack: Vec::new(),
            queue: VecDeque::new(),
            request: 0,
            done: 0,
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
                Statement::Each { sets, .. } => {
                    let numbers = self.values.progression(&sets[0])?;
                    self.stack.push(Frame::Each { id, set: 0, numbers, place: 0, before: 0 });
                }
                Statement::Let { bindings, body } => {
                    for (name, value) in bindings {
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
            Verb::Delay { time, unit } => {
                let time = self
                    .values
                    .count(time, "a time")?
                    .checked_mul(*unit)
                    .ok_or_else(|| overflow(time.span))?;
                self.push(Operation::Compute { time: Picos(time) }, 1);
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

    /// Receives that do not block come first, receives that do come last: so that both sides of an exchange can send.
    fn exchange(
        &mut self,
        id: StatementId,
        action: &Action,
        messages: &Messages,
        asynchronous: bool,
        to: &Tasks,
        receive: Receive,
    ) -> Outcome<()> {
        if receive == Receive::Nobody {
            if self.values.takes_part(&action.tasks, self.task)? {
                let (count, bytes) = described(messages, &self.values)?;
                for target in self.values.members(to, Some(self.task))? {
                    not_to_itself(self.task, target, action.span)?;
                    self.send(Messaged { other: target, count, bytes }, asynchronous);
                }
            }
            return Ok(());
        }
        let plan = self.bound.plan(id, action, &mut self.values)?;
        let (sends, receives) = &plan.shares[self.task as usize];
        if receive == Receive::Asynchronous {
            receives.iter().for_each(|message| self.receive(*message, true));
        }
        sends.iter().for_each(|message| self.send(*message, asynchronous));
        if receive == Receive::Blocking {
            receives.iter().for_each(|message| self.receive(*message, false));
        }
        Ok(())
    }

    /// Receives from each source; where who receives follows from who sends, from those that send to this task.
    fn take(
        &mut self,
        action: &Action,
        messages: &Messages,
        asynchronous: bool,
        from: &Tasks,
    ) -> Outcome<()> {
        let follows = matches!(action.tasks, Tasks::One(_));
        if !follows && !self.values.takes_part(&action.tasks, self.task)? {
            return Ok(());
        }
        for source in self.values.members(from, Some(self.task))? {
            self.values.bind_member(from, source);
            if follows && !self.values.takes_part(&action.tasks, self.task)? {
                continue;
            }
            not_to_itself(source, self.task, action.span)?;
            let (count, bytes) = described(messages, &self.values)?;
            self.receive(Messaged { other: source, count, bytes }, asynchronous);
        }
        Ok(())
    }

    fn send(&mut self, message: Messaged, asynchronous: bool) {
        let Messaged { other: to, count, bytes } = message;
        let operation = if asynchronous {
            Operation::Isend { to, bytes, tag: TAG, request: 0 }
        } else {
            Operation::Send { to, bytes, tag: TAG }
        };
        self.push(operation, count);
    }

    fn receive(&mut self, message: Messaged, asynchronous: bool) {
        let (from, tag) = (Source::Rank(message.other), Some(TAG));
        let bytes = message.bytes;
        let operation = if asynchronous {
            Operation::Irecv { from, bytes, tag, request: 0 }
        } else {
            Operation::Recv { from, bytes, tag }
        };
        self.push(operation, message.count);
    }

    /// The collectives of a statement in which this task is.
    fn gather(
        &mut self,
        id: StatementId,
        action: &Action,
        kind: impl Fn(&Gathering) -> Collective,
    ) -> Outcome<()> {
        let plan = self.bound.plan(id, action, &mut self.values)?;
        let task = self.task;
        for gathering in plan.groups.iter().filter(|gathering| gathering.includes(task)) {
            let kind = kind(gathering);
            let Gathering { root, group, count, bytes } = gathering.clone();
            let root = if matches!(kind, Collective::Bcast | Collective::Reduce) { root } else { 0 };
            self.push(Operation::Collective { kind, root, bytes, group }, count);
        }
        Ok(())
    }

    /// One group is an allreduce; two are a reduction to the root, and its word to others.
    fn reduce(&mut self, id: StatementId, action: &Action) -> Outcome<()> {
        let plan = self.bound.plan(id, action, &mut self.values)?;
        let all = plan.all_reduce;
        let first = plan.groups.first().cloned();
        self.gather(id, action, |gathering| match all {
            true => Collective::Allreduce,
            false if Some(gathering) == first.as_ref() => Collective::Reduce,
            false => Collective::Bcast,
        })
    }

    fn backend(&mut self, action: &Action, parts: &[Part], call: BackendCall) -> Outcome<()> {
        let kind = match call.kind {
            BackendKind::Barrier => Collective::Barrier,
            BackendKind::Allreduce => Collective::Allreduce,
            BackendKind::Reduce => Collective::Reduce,
            BackendKind::Bcast => Collective::Bcast,
            BackendKind::Allgather => Collective::Allgather,
            BackendKind::Alltoall => Collective::Alltoall,
        };
        let (mut bytes, mut root) = (0, 0);
        if kind != Collective::Barrier {
            let code =
                self.text(parts, |values, part| values.integer(part).map(|value| value.to_string()))?;
            let refused = |message: &str, label: &str| Err(Diagnostic::new(action.span, message, label));
            let Some((count, behind)) = backend::arguments(&code) else {
                return refused("a call of MPI without a count", "expected a number before the datatype");
            };
            let size = count.checked_mul(call.element).and_then(|size| u64::try_from(size).ok());
            let Some(size) = size else {
                return refused(&format!("a call of MPI with the count {count}"), "accepted are 0 and more");
            };
            bytes = size;
            if matches!(kind, Collective::Bcast | Collective::Reduce) {
                let named = behind.unwrap_or(0);
                match u32::try_from(named).ok().filter(|root| *root < self.values.tasks()) {
                    Some(named) => root = named,
                    None => {
                        let label = format!("accepted are 0 to {}", self.values.tasks() - 1);
                        return refused(&format!("a call of MPI with the root {named}"), &label);
                    }
                }
            }
        }
        self.push(Operation::Collective { kind, root, bytes, group: Group::All }, 1);
        Ok(())
    }

    /// Text with values in it.
    fn text(
        &self,
        parts: &[Part],
        shown: impl Fn(&Values, &super::tree::Expression) -> Outcome<String>,
    ) -> Outcome<String> {
        parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Ok(text.clone()),
                Part::Value(value) => shown(&self.values, value),
            })
            .collect()
    }

    /// Logs, outputs and counters: what is seen now.
    fn record(&mut self, verb: &Verb) -> Outcome<()> {
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
}

/// What the language's counters show, in their order.
fn counted(seen: &Seen, zero: &Seen) -> [f64; 8] {
    let since = |now: (u64, u64), zero: (u64, u64)| ((now.0 - zero.0) as f64, (now.1 - zero.1) as f64);
    let (sent, received) = (since(seen.sent, zero.sent), since(seen.received, zero.received));
    let elapsed = (seen.now - zero.now).micros();
    [elapsed, sent.1, received.1, sent.0, received.0, sent.1 + received.1, sent.0 + received.0, 0.0]
}
