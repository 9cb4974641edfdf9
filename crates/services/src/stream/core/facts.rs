//! What the service remembers over its end: facts go out a lot at a time, and who waits for them is told.

use super::super::message::Reply;
use super::catalog::{refuse, Remembered, Streams};
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

/// A partition that is gone.
#[derive(Debug)]
pub(super) struct Leaving {
    /// The number of what is still being done with it.
    pub busy: Option<u64>,
    /// Nobody will find it again.
    pub forgotten: bool,
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
            let id = partition.id;
            let busy = partition.removed(out);
            self.leaving.insert(id, Leaving { busy, forgotten: false });
            self.forgetting.push(id);
        }
    }

    /// Removes what is left of a partition, if it is time.
    pub(super) fn leave(&mut self, partition: PartitionId, out: &mut Vec<Output>) {
        if self.leaving.get(&partition).is_some_and(|leaving| leaving.busy.is_none() && leaving.forgotten) {
            self.leaving.remove(&partition);
            out.push(Output::Close { partition, remove: true });
        }
    }
}
