//! A task's part of messages and collectives.

use super::super::backend;
use super::super::diagnostic::Diagnostic;
use super::super::evaluate::Outcome;
use super::super::plan::{described, not_to_itself, Gathering, Messaged};
use super::super::tree::{Action, BackendCall, BackendKind, Messages, Part, Receive, StatementId, Tasks};
use super::Performer;
use crate::workload::operation::{Collective, Group, Operation, Source};

/// The tag of all messages: the language has none, messages between two tasks are received in the order of sending.
const TAG: u32 = 0;

impl Performer {
    /// Receives that do not block come first, receives that do come last: so that both sides of an exchange can send.
    pub(super) fn exchange(
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
    pub(super) fn take(
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

    pub(super) fn send(&mut self, message: Messaged, asynchronous: bool) {
        let Messaged { other: to, count, bytes } = message;
        let operation = if asynchronous {
            Operation::Isend { to, bytes, tag: TAG, request: 0 }
        } else {
            Operation::Send { to, bytes, tag: TAG }
        };
        self.push(operation, count);
    }

    pub(super) fn receive(&mut self, message: Messaged, asynchronous: bool) {
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
    pub(super) fn gather(
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
    pub(super) fn reduce(&mut self, id: StatementId, action: &Action) -> Outcome<()> {
        let plan = self.bound.plan(id, action, &mut self.values)?;
        let all = plan.all_reduce;
        let first = plan.groups.first().cloned();
        self.gather(id, action, |gathering| match all {
            true => Collective::Allreduce,
            false if Some(gathering) == first.as_ref() => Collective::Reduce,
            false => Collective::Bcast,
        })
    }

    pub(super) fn backend(&mut self, action: &Action, parts: &[Part], call: BackendCall) -> Outcome<()> {
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
}
