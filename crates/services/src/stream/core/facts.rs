//! What the service remembers over its end: facts go out a lot at a time, and who waits for them is told.

use super::super::definition::Rest;
use super::super::message::Reply;
use super::catalog::{encoded, refuse, Remembered, Streams};
use super::partition::{Asker, Partition};
use super::{Fact, Outcome, Output, PartitionId, Value};
use std::collections::BTreeMap;
use thalweg_foundation::{Nanos, Result};

/// How long to wait after facts could not be remembered.
const NOTE_AGAIN: Nanos = Nanos(100_000_000);

/// Facts that are being remembered.
#[derive(Debug)]
pub(super) struct Noting {
    pub number: u64,
    pub facts: BTreeMap<Fact, Value>,
    /// Who waits for it, and what is answered then.
    pub waiting: Vec<(Asker, Reply)>,
    /// Partitions that are forgotten with it.
    pub forgotten: Vec<PartitionId>,
}

/// A partition whose topic was deleted.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Where it is stored.
    pub rest: Rest,
    /// The number of what is still being done with it.
    pub busy: Option<u64>,
    /// Nobody will find it again.
    pub forgotten: bool,
    /// Its files are being removed, under the number in `busy`.
    pub removing: bool,
}

impl Streams {
    /// Hands over the facts that are new, one lot at a time.
    pub(super) fn remember(&mut self, out: &mut Vec<Output>) {
        if self.noting.is_some() || self.now < self.note_at {
            return;
        }
        if self.news.is_empty() {
            // What they wait for has been remembered before.
            let waiting = std::mem::take(&mut self.wait_news);
            out.extend(waiting.into_iter().map(|((to, id), reply)| Output::Send { to, id, reply }));
            return;
        }
        self.number += 1;
        let (facts, waiting) = (std::mem::take(&mut self.news), std::mem::take(&mut self.wait_news));
        let listed = facts.iter().map(|(fact, value)| (fact.clone(), value.clone())).collect();
        out.push(Output::Remember { number: self.number, facts: listed });
        let forgotten = std::mem::take(&mut self.forgetting);
        self.noting = Some(Noting { number: self.number, facts, waiting, forgotten });
    }

    pub(super) fn noted(&mut self, outcome: &Result<Outcome>, out: &mut Vec<Output>) {
        let Some(Noting { facts, waiting, forgotten, .. }) = self.noting.take() else { return };
        match outcome {
            Ok(_) => {
                for id in forgotten {
                    if let Some(leaving) = self.leaving.get_mut(&id) {
                        leaving.forgotten = true;
                    }
                    self.leave(id, out);
                }
                for (fact, value) in facts {
                    let (Fact::Topic(name), Some(value)) = (fact, value) else { continue };
                    let remembered = postcard::from_bytes::<Remembered>(&value);
                    let (Some(topic), Ok(remembered)) = (self.topics.get_mut(&name), remembered) else {
                        continue;
                    };
                    // One of this name may have gone, and another come, meanwhile.
                    if topic.number == remembered.number {
                        topic.known = remembered.topic.partitions.len();
                    }
                }
                out.extend(waiting.into_iter().map(|((to, id), reply)| Output::Send { to, id, reply }));
            }
            Err(e) => {
                refuse(waiting.into_iter().map(|(asker, _)| asker), e, out);
                self.forgetting.extend(forgotten);
                // They are tried again later, unless news know better.
                self.note_at = self.now.after(NOTE_AGAIN);
                self.sooner(Some(self.note_at));
                for (fact, value) in facts {
                    self.news.entry(fact).or_insert(value);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, partitions: Vec<Partition>, out: &mut Vec<Output>) {
        for partition in partitions {
            let (id, rest) = (partition.id, partition.definition.rest.clone());
            // Where the server ends before the files are removed, the next one knows that they are to go.
            self.news.insert(Fact::Removing(id), encoded(&rest));
            let busy = partition.removed(out);
            self.leaving.insert(id, Leaving { rest, busy, forgotten: false, removing: false });
            self.forgetting.push(id);
        }
    }

    /// Removes what is left of a partition, if it is time.
    pub(super) fn leave(&mut self, partition: PartitionId, out: &mut Vec<Output>) {
        let Some(leaving) = self.leaving.get_mut(&partition) else { return };
        if leaving.busy.is_some() || !leaving.forgotten || leaving.removing {
            return;
        }
        self.number += 1;
        (leaving.busy, leaving.removing) = (Some(self.number), true);
        let rest = leaving.rest.clone();
        out.push(Output::Remove { number: self.number, partition, rest });
    }

    /// Something that was done with a partition whose topic was deleted has come to its end.
    pub(super) fn left(&mut self, partition: PartitionId, number: u64, done: bool, out: &mut Vec<Output>) {
        let Some(leaving) = self.leaving.get_mut(&partition) else { return };
        if leaving.busy != Some(number) {
            return;
        }
        leaving.busy = None;
        if !leaving.removing {
            return self.leave(partition, out);
        }
        self.leaving.remove(&partition);
        // What could not be removed is when the server starts next.
        if done {
            self.news.insert(Fact::Removing(partition), None);
        }
    }
}
