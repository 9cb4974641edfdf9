//! What is done by itself when its time has come.

use super::catalog::{Streams, Topic};
use super::consumer::Consumer;
use super::partition::Partition;
use super::Output;
use thalweg_foundation::Nanos;

/// How often it is looked at what can be let go of.
const RETAIN_EVERY: Nanos = Nanos(1_000_000_000);

impl Streams {
    /// Something is to be done by itself at this time, if not before.
    pub(super) fn sooner(&mut self, at: Option<Nanos>) {
        self.soonest = [self.soonest, at].into_iter().flatten().min();
    }

    pub(super) fn tick(&mut self, out: &mut Vec<Output>) {
        let (now, mut number) = (self.now, self.number);
        let retain = self.retain_at <= now;
        if retain {
            self.retain_at = now.after(RETAIN_EVERY);
        }
        for Topic { partitions, consumers, .. } in self.topics.values_mut() {
            for partition in partitions.iter_mut() {
                let position = |consumer: &Consumer| consumer.positions.get(&partition.id.partition).copied();
                let before = consumers.values().map(position).min().flatten();
                let due = retain || partition.next_deadline().is_some_and(|at| at <= now);
                if due {
                    let age = partition.definition.retention.age;
                    let since = age.and_then(|age| self.wall_clock.before(now, age));
                    partition.tick(now, (since, before), &mut number, out);
                }
            }
            consumers.values_mut().for_each(|consumer| consumer.tick(now, partitions, out));
        }
        self.number = number;
        self.soonest = self.next_of_all();
    }

    /// When `Tick` is wanted next; it may be before there is anything to do.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.soonest
    }

    /// When something is to be done by itself.
    pub(super) fn next_of_all(&self) -> Option<Nanos> {
        let topics = || self.topics.values();
        let partitions = topics().flat_map(|topic| &topic.partitions).filter_map(Partition::next_deadline);
        let waits = topics().flat_map(|topic| topic.consumers.values()).filter_map(Consumer::next_deadline);
        let retain = (!self.topics.is_empty()).then_some(self.retain_at);
        let note = (!self.news.is_empty() && self.noting.is_none()).then_some(self.note_at);
        partitions.chain(waits).chain(retain).chain(note).min()
    }
}
