//! Who exchanges what with whom in one statement: worked out once for all tasks, because each one has to know who sends to it.

use super::diagnostic::Diagnostic;
use super::evaluate::{Outcome, Values};
use super::source::Span;
use super::tree::{Action, Messages, Receive, Tasks, Verb};
use crate::workload::operation::Group;

/// Messages of one size: with whom, how many, how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messaged {
    pub other: u32,
    pub count: u64,
    pub bytes: u64,
}

/// What the tasks of one statement do with each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// For each task, what it sends and what it receives.
    pub shares: Vec<(Vec<Messaged>, Vec<Messaged>)>,
    /// Groups that do something together: root, members, how often, and bytes.
    pub groups: Vec<Gathering>,
    /// Whether all who give to a reduction have its result.
    pub all_reduce: bool,
}

/// A group that does something together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathering {
    pub root: u32,
    pub group: Group,
    pub count: u64,
    pub bytes: u64,
}

impl Gathering {
    /// Whether a task is in it.
    pub fn includes(&self, task: u32) -> bool {
        match &self.group {
            Group::All => true,
            Group::Of(members) => members.binary_search(&task).is_ok(),
        }
    }
}

impl Plan {
    /// How much it holds: messages, and members of groups.
    pub fn size(&self) -> usize {
        let messages: usize =
            self.shares.iter().map(|(sends, receives)| 1 + sends.len() + receives.len()).sum();
        let members: usize = self
            .groups
            .iter()
            .map(|gathering| match &gathering.group {
                Group::All => 1,
                Group::Of(members) => members.len(),
            })
            .sum();
        messages + members + 1
    }

    /// The plan of an action that concerns several tasks.
    pub fn of(action: &Action, values: &mut Values) -> Outcome<Plan> {
        match &action.verb {
            Verb::Send { messages, to, receive, .. } if *receive != Receive::Nobody => {
                Plan::of_messages(action, messages, to, values)
            }
            Verb::Multicast { messages, to } => Plan::of_multicast(action, messages, to, values),
            Verb::Reduce { messages, to } => Plan::of_reduction(action, messages, to.as_ref(), values),
            _ => {
                let members = values.members(&action.tasks, None)?;
                let groups = gathering(members, None, 1, 0, values.tasks()).into_iter().collect();
                Ok(Plan { groups, ..Plan::default() })
            }
        }
    }

    fn of_messages(action: &Action, messages: &Messages, to: &Tasks, values: &mut Values) -> Outcome<Plan> {
        let mut shares = vec![(Vec::new(), Vec::new()); values.tasks() as usize];
        for source in values.members(&action.tasks, None)? {
            values.bind_member(&action.tasks, source);
            let (count, bytes) = described(messages, values)?;
            for target in values.members(to, Some(source))? {
                not_to_itself(source, target, action.span)?;
                shares[source as usize].0.push(Messaged { other: target, count, bytes });
                shares[target as usize].1.push(Messaged { other: source, count, bytes });
            }
        }
        Ok(Plan { shares, ..Plan::default() })
    }

    fn of_multicast(action: &Action, messages: &Messages, to: &Tasks, values: &mut Values) -> Outcome<Plan> {
        let mut groups = Vec::new();
        for root in values.members(&action.tasks, None)? {
            values.bind_member(&action.tasks, root);
            let (count, bytes) = described(messages, values)?;
            let mut members = values.members(to, Some(root))?;
            if let Err(place) = members.binary_search(&root) {
                members.insert(place, root);
            }
            groups.extend(gathering(members, Some(root), count, bytes, values.tasks()));
        }
        Ok(Plan { groups, ..Plan::default() })
    }

    /// To all that give, if nobody else is named: an allreduce. To others: a reduction to the first of them, who tells the rest.
    fn of_reduction(
        action: &Action,
        messages: &Messages,
        to: Option<&Tasks>,
        values: &mut Values,
    ) -> Outcome<Plan> {
        let sources = values.members(&action.tasks, None)?;
        let Some(first) = sources.first() else { return Ok(Plan::default()) };
        values.bind_member(&action.tasks, *first);
        let (count, bytes) = described(messages, values)?;
        let targets = match to {
            Some(to) => values.members(to, None)?,
            None => sources.clone(),
        };
        let Some(root) = targets.first().copied() else { return Ok(Plan::default()) };
        let everyone = values.tasks();
        if targets == sources {
            let groups = gathering(sources, None, count, bytes, everyone).into_iter().collect();
            return Ok(Plan { groups, all_reduce: true, ..Plan::default() });
        }
        let mut members = sources;
        if let Err(place) = members.binary_search(&root) {
            members.insert(place, root);
        }
        let reduced = gathering(members, Some(root), count, bytes, everyone);
        let told = gathering(targets, Some(root), count, bytes, everyone);
        Ok(Plan { groups: reduced.into_iter().chain(told).collect(), ..Plan::default() })
    }
}

/// How many messages, and how large.
pub fn described(messages: &Messages, values: &Values) -> Outcome<(u64, u64)> {
    let count = match &messages.count {
        Some(count) => values.count(count, "a number of messages")?,
        None => 1,
    };
    Ok((count, values.bytes(&messages.size)?))
}

/// A task cannot exchange messages with itself.
pub fn not_to_itself(source: u32, target: u32, span: Span) -> Outcome<()> {
    if source == target {
        let message = format!("task {source} sends to itself");
        return Err(Diagnostic::new(span, message, "expected another task"));
    }
    Ok(())
}

/// A group of more than one; the root is the first member where nobody else is.
fn gathering(members: Vec<u32>, root: Option<u32>, count: u64, bytes: u64, tasks: u32) -> Option<Gathering> {
    let first = *members.first()?;
    let root = root.unwrap_or(first);
    let group =
        if members.len() == tasks as usize { Group::All } else { Group::Of(members.as_slice().into()) };
    (members.len() > 1).then_some(Gathering { root, group, count, bytes })
}
