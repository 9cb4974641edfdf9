//! Who reads: taking part in a consumer, moving its position, taking part no more.

use super::super::message::{Begin, Place, Reply};
use super::catalog::{encoded, no_consumer, no_partition, no_topic, Streams, Topic, WAITING_MAX};
use super::consumer::HANDOVER;
use super::partition::{Asker, Partition};
use super::{Fact, Output};
use std::collections::BTreeSet;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Result};

/// A client that wants to take part.
#[derive(Clone, Debug)]
pub(super) struct Joining {
    pub consumer: Name,
    pub only: Option<BTreeSet<u32>>,
    pub begin: Begin,
}

impl Streams {
    pub(super) fn join(
        &mut self,
        asker: Asker,
        name: Name,
        joining: Joining,
        out: &mut Vec<Output>,
    ) -> Result<()> {
        let now = self.now;
        self.sooner(Some(now.after(HANDOVER)));
        let most = self.config.consumers;
        let topic =
            self.topics.get_mut(&name).filter(|topic| topic.known > 0).ok_or_else(|| no_topic(&name))?;
        if topic.partitions.iter().any(Partition::is_opening) {
            if topic.joining.len() >= WAITING_MAX {
                let detail =
                    format!("{WAITING_MAX} clients wait for topic \"{name}\" to open; try again later");
                return Err(Error::new(Kind::Full, "stream.join", detail));
            }
            // Where it begins is known when they are open.
            topic.joining.push((asker, joining));
            return Ok(());
        }
        let Joining { consumer, only, begin } = joining;
        if !topic.consumers.contains_key(&consumer) && topic.consumers.len() >= most {
            let detail = format!("{most} named consumers of topic \"{name}\"; no more are accepted");
            return Err(Error::new(Kind::Full, "stream.join", detail));
        }
        let Topic { consumers, partitions, .. } = topic;
        let state = consumers.entry(consumer.clone()).or_default();
        let fresh = state.join(asker.0, only, begin, (now, partitions), out)?;
        let reply = state.news(asker.0, partitions);
        if fresh.is_empty() {
            out.push(Output::Send { to: asker.0, id: asker.1, reply });
            return Ok(());
        }
        for partition in fresh {
            let next = state.positions.get(&partition).copied().unwrap_or(0);
            let place = Place { topic: name.clone(), partition };
            self.news.insert(Fact::Position(place, consumer.clone()), encoded(&next));
        }
        self.wait_news.push((asker, reply));
        Ok(())
    }

    pub(super) fn part(
        &mut self,
        asker: Asker,
        name: &Name,
        consumer: &Name,
        forget: bool,
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        let now = self.now;
        self.sooner(Some(now.after(HANDOVER)));
        let topic = self.topic(name)?;
        let left = topic.consumers.get_mut(consumer).ok_or_else(|| no_consumer(consumer))?;
        left.leave(asker.0, now, &topic.partitions, out);
        if !forget || !left.is_empty() {
            return Ok(Some(Reply::Done));
        }
        let Some(forgotten) = topic.consumers.remove(consumer) else { return Ok(Some(Reply::Done)) };
        for partition in forgotten.positions.into_keys() {
            let place = Place { topic: name.clone(), partition };
            self.news.insert(Fact::Position(place, consumer.clone()), None);
        }
        self.wait_news.push((asker, Reply::Done));
        Ok(None)
    }

    pub(super) fn acknowledge(
        &mut self,
        asker: Asker,
        place: Place,
        consumer: Name,
        next: u64,
    ) -> Result<()> {
        let topic = self.topic(&place.topic)?;
        let partitions = topic.partitions.len();
        let Some(partition) = topic.partitions.get(place.partition as usize) else {
            return Err(no_partition(&place, partitions));
        };
        if !partition.is_open() {
            let detail = format!("partition {} is being opened; try again", place.partition);
            return Err(Error::new(Kind::Interrupted, "stream.acknowledge", detail));
        }
        let events = partition.events.clone();
        let state = topic.consumers.get_mut(&consumer).ok_or_else(|| no_consumer(&consumer))?;
        if next > events.end {
            let detail =
                format!("event {next} of partition {}; accepted are 0 to {}", place.partition, events.end);
            return Err(Error::new(Kind::Invalid, "stream.acknowledge", detail));
        }
        let position = state.positions.entry(place.partition).or_insert(events.start);
        *position = next.max(*position);
        let value = encoded(position);
        self.news.insert(Fact::Position(place, consumer), value);
        self.wait_news.push((asker, Reply::Done));
        Ok(())
    }
}
