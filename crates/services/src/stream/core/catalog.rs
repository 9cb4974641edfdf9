//! The service's state: its topics with their partitions and consumers, and what each request does to them.

use super::super::definition::{Partition as Definition, Topic as Described, PARTITIONS_MAX};
use super::super::message::{Place, Reply, Request, RECORDS_MAX};
use super::consumer::{Consumer, HANDOVER};
use super::facts::{Leaving, Noting};
use super::partition::{Asker, Partition};
use super::reading::Joining;
use super::wall_clock::WallClock;
use super::{Fact, Input, Outcome, Output, Owner, PartitionId, Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// Requests that may wait until something is remembered, or a topic is open.
pub(super) const WAITING_MAX: usize = 1 << 16;

/// Limits of the service.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The most topics.
    pub topics: usize,
    /// The most named consumers of a topic.
    pub consumers: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { topics: 10_000, consumers: 1_000 }
    }
}

/// A topic as it is remembered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub number: u64,
    pub topic: Described,
}

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) number: u64,
    pub(super) described: Described,
    pub(super) partitions: Vec<Partition>,
    pub(super) consumers: BTreeMap<Name, Consumer>,
    /// Who waits until its partitions are open.
    pub(super) making: Vec<Asker>,
    /// Who wants to take part when they are.
    pub(super) joining: Vec<(Asker, Joining)>,
    /// It is removed again when a partition cannot be opened.
    pub(super) fresh: bool,
    /// How many of its partitions are remembered: only these can be used, as others may be gone after a crash.
    pub(super) known: usize,
}

/// The stream service.
#[derive(Debug)]
pub struct Streams {
    pub(super) config: Config,
    pub(super) now: Nanos,
    pub(super) wall_clock: WallClock,
    pub(super) topics: BTreeMap<Name, Topic>,
    /// Their names by their numbers.
    pub(super) names: BTreeMap<u64, Name>,
    pub(super) peers: BTreeSet<PeerId>,
    pub(super) number: u64,
    pub(super) next_topic: u64,
    pub(super) retain_at: Nanos,
    /// Facts to be remembered next, and who waits for it.
    pub(super) news: BTreeMap<Fact, Value>,
    pub(super) wait_news: Vec<(Asker, Reply)>,
    /// What is being remembered.
    pub(super) noting: Option<Noting>,
    /// Nothing is remembered before this time.
    pub(super) note_at: Nanos,
    /// Nothing is to be done by itself before this time.
    pub(super) soonest: Option<Nanos>,
    /// Partitions that are gone, to be removed when nothing is done with them any more and nobody remembers them.
    pub(super) leaving: BTreeMap<PartitionId, Leaving>,
    /// Those that are forgotten with the next facts.
    pub(super) forgetting: Vec<PartitionId>,
}

pub(super) fn refuse(askers: impl Iterator<Item = Asker>, e: &Error, out: &mut Vec<Output>) {
    out.extend(askers.map(|(to, id)| Output::Send { to, id, reply: Reply::Failed(e.clone()) }));
}

pub(super) fn no_topic(name: &Name) -> Error {
    Error::new(Kind::NotFound, "stream", format!("there is no topic \"{name}\"; create it first"))
}

pub(super) fn no_partition(place: &Place, partitions: usize) -> Error {
    let detail = format!(
        "partition {} of topic \"{}\"; it has 0 to {}",
        place.partition,
        place.topic,
        partitions.saturating_sub(1)
    );
    Error::new(Kind::Invalid, "stream", detail)
}

pub(super) fn encoded<T: Serialize>(value: &T) -> Value {
    postcard::to_stdvec(value).ok()
}

impl Streams {
    /// A service that remembers `facts`; what is to be done first is appended to `out`.
    ///
    /// # Errors
    /// `Corrupt` when a fact cannot be understood.
    pub fn new(config: Config, facts: &BTreeMap<Fact, Vec<u8>>, out: &mut Vec<Output>) -> Result<Streams> {
        let mut streams = Streams {
            config,
            now: Nanos(0),
            wall_clock: WallClock::default(),
            topics: BTreeMap::new(),
            names: BTreeMap::new(),
            peers: BTreeSet::new(),
            number: 0,
            next_topic: 1,
            retain_at: Nanos(0),
            news: BTreeMap::new(),
            wait_news: Vec::new(),
            noting: None,
            note_at: Nanos(0),
            soonest: None,
            leaving: BTreeMap::new(),
            forgetting: Vec::new(),
        };
        let wrong =
            |fact: &Fact| Error::new(Kind::Corrupt, "stream.open", format!("{fact:?} is not understood"));
        if let Some(value) = facts.get(&Fact::Next) {
            streams.next_topic = postcard::from_bytes(value).map_err(|_| wrong(&Fact::Next))?;
        }
        for (fact, value) in facts {
            if let Fact::Topic(name) = fact {
                let known: Remembered = postcard::from_bytes(value).map_err(|_| wrong(fact))?;
                streams.add(name.clone(), known.number, known.topic, None, out);
            }
        }
        for (fact, value) in facts {
            if let Fact::Removing(id) = fact {
                let rest = postcard::from_bytes(value).map_err(|_| wrong(fact))?;
                streams.leaving.insert(*id, Leaving { rest, busy: None, forgotten: true, removing: false });
                streams.leave(*id, out);
            }
            if let Fact::Position(place, consumer) = fact {
                let next: u64 = postcard::from_bytes(value).map_err(|_| wrong(fact))?;
                if let Some(topic) = streams.topics.get_mut(&place.topic) {
                    let consumer = topic.consumers.entry(consumer.clone()).or_default();
                    consumer.positions.insert(place.partition, next);
                }
            }
        }
        Ok(streams)
    }

    /// The partitions that there are, and of which topic they are.
    pub fn partitions(&self) -> impl Iterator<Item = (&Name, PartitionId)> {
        self.topics.iter().flat_map(|(name, topic)| topic.partitions.iter().map(move |p| (name, p.id)))
    }

    /// The number of a partition that can be read, and its events.
    ///
    /// # Errors
    /// `NotFound` or `Invalid` when it is not there, `Interrupted` when it is being opened, or why it cannot be used.
    pub fn readable(&mut self, place: &Place) -> Result<(PartitionId, Range<u64>)> {
        let partition = self.partition(place)?;
        match partition.failure() {
            Some(e) => Err(e.clone()),
            None if partition.is_open() => Ok((partition.id, partition.events.clone())),
            None => {
                let detail = format!("partition {} is being opened; try again", place.partition);
                Err(Error::new(Kind::Interrupted, "stream.read", detail))
            }
        }
    }

    fn add(
        &mut self,
        name: Name,
        number: u64,
        described: Described,
        maker: Option<Asker>,
        out: &mut Vec<Output>,
    ) {
        let owner = Arc::new(Owner::of(&name, &described));
        let partitions = described.partitions.iter().zip(0..).map(|(definition, partition)| {
            self.number += 1;
            let id = PartitionId { topic: number, partition };
            Partition::new(id, definition.clone(), owner.clone(), self.number, out)
        });
        let partitions = partitions.collect();
        let (fresh, making) = (maker.is_some(), maker.into_iter().collect());
        let (consumers, joining) = (BTreeMap::new(), Vec::new());
        let known = if fresh { 0 } else { described.partitions.len() };
        self.names.insert(number, name.clone());
        self.sooner(Some(self.retain_at));
        self.topics
            .insert(name, Topic { number, described, partitions, consumers, making, joining, fresh, known });
    }

    /// Takes one input at time `now` and appends what is to be done. Time never goes backwards; inputs from clients that
    /// never joined, or have gone, are ignored.
    pub fn step(&mut self, now: Nanos, input: Input, out: &mut Vec<Output>) {
        self.now = self.now.max(now);
        match input {
            Input::Joined(peer) => drop(self.peers.insert(peer)),
            Input::Gone(peer) => self.gone(peer, out),
            Input::Request { from, id, body } if self.peers.contains(&from) => {
                let reply = match self.request((from, id), body, out) {
                    Ok(reply) => reply,
                    Err(e) => Some(Reply::Failed(e)),
                };
                out.extend(reply.map(|reply| Output::Send { to: from, id, reply }));
            }
            Input::Request { .. } => {}
            Input::Done { number, partition, outcome } => self.done(number, partition, &outcome, out),
            Input::Tick { wall } => {
                self.wall_clock.look(self.now, wall);
                self.tick(out);
            }
        }
        self.remember(out);
        debug_assert_eq!(self.invariants(), Ok(()));
    }

    pub(super) fn topic(&mut self, name: &Name) -> Result<&mut Topic> {
        self.topics.get_mut(name).filter(|topic| topic.known > 0).ok_or_else(|| no_topic(name))
    }

    fn partition(&mut self, place: &Place) -> Result<&mut Partition> {
        let topic = self.topic(&place.topic)?;
        let partitions = topic.known;
        let known = topic.partitions.get_mut(..partitions).unwrap_or_default();
        known.get_mut(place.partition as usize).ok_or_else(|| no_partition(place, partitions))
    }

    fn request(&mut self, asker: Asker, body: Request, out: &mut Vec<Output>) -> Result<Option<Reply>> {
        let waiting = self.wait_news.len() + self.noting.as_ref().map_or(0, |noting| noting.waiting.len());
        let remembers_nothing =
            matches!(body, Request::Produce { .. } | Request::Poll { .. } | Request::Cancel { .. });
        if waiting >= WAITING_MAX && !remembers_nothing {
            let detail = format!("{waiting} requests wait for the disk; try again later");
            return Err(Error::new(Kind::Full, "stream", detail));
        }
        match body {
            Request::Create { name, topic } => self.create(asker, name, topic, out).map(|()| None),
            Request::Delete { name } => self.delete(asker, &name, out).map(|()| None),
            Request::List => {
                let known = self.topics.iter().filter(|(_, topic)| topic.known > 0);
                Ok(Some(Reply::Topics(known.map(|(name, _)| name.clone()).collect())))
            }
            Request::Describe { name } => {
                let topic = self.topic(&name)?;
                let events = topic.partitions.iter().map(|p| p.events.clone()).collect();
                Ok(Some(Reply::Topic(topic.described.clone(), events)))
            }
            Request::AddPartition { name, partition } => {
                self.add_partition(asker, &name, partition, out).map(|()| None)
            }
            Request::Produce { place, batch } => {
                if !(1..=RECORDS_MAX).contains(&batch.events) {
                    let detail = format!("{} events; accepted are 1 to {RECORDS_MAX}", batch.events);
                    return Err(Error::new(Kind::Invalid, "stream.produce", detail));
                }
                let (now, mut number) = (self.now, self.number);
                let partition = self.partition(&place)?;
                let reply = partition.produce(asker, batch)?;
                partition.advance(now, &mut number, out);
                self.number = number;
                Ok(reply)
            }
            Request::Join { topic, consumer, only, begin } => {
                let only = only.map(|only| only.into_iter().collect());
                self.join(asker, topic, Joining { consumer, only, begin }, out).map(|()| None)
            }
            Request::Poll { topic, consumer, generation, known, within } => {
                let deadline = self.now.after(within);
                let topic = self.topic(&topic)?;
                let consumer = topic.consumers.get_mut(&consumer).ok_or_else(|| no_consumer(&consumer))?;
                let known = known.into_iter().collect();
                let reply = consumer.poll(asker, generation, known, deadline, &topic.partitions, out)?;
                self.sooner(Some(deadline));
                Ok(reply)
            }
            Request::Acknowledge { place, consumer, next } => {
                self.acknowledge(asker, place, consumer, next).map(|()| None)
            }
            Request::Leave { topic, consumer, forget } => self.part(asker, &topic, &consumer, forget, out),
            Request::Cancel { request } => {
                let consumers = self.topics.values_mut().flat_map(|topic| topic.consumers.values_mut());
                consumers.for_each(|consumer| consumer.cancel(asker.0, request));
                Ok(None)
            }
        }
    }

    fn create(&mut self, asker: Asker, name: Name, topic: Described, out: &mut Vec<Output>) -> Result<()> {
        topic.check()?;
        if self.topics.contains_key(&name) {
            let detail = format!("topic \"{name}\" is there; open it, or delete it first");
            return Err(Error::new(Kind::Exists, "stream.create", detail));
        }
        if self.topics.len() >= self.config.topics {
            let detail = format!("{} topics; no more are accepted", self.topics.len());
            return Err(Error::new(Kind::Full, "stream.create", detail));
        }
        let number = self.next_topic;
        self.next_topic += 1;
        let known = Remembered { number, topic: topic.clone() };
        self.news.insert(Fact::Next, encoded(&self.next_topic));
        self.news.insert(Fact::Topic(name.clone()), encoded(&known));
        self.add(name, number, topic, Some(asker), out);
        Ok(())
    }

    fn delete(&mut self, asker: Asker, name: &Name, out: &mut Vec<Output>) -> Result<()> {
        let topic = self.topics.remove(name).ok_or_else(|| no_topic(name))?;
        self.names.remove(&topic.number);
        self.news.insert(Fact::Topic(name.clone()), None);
        for (consumer, state) in topic.consumers {
            for partition in state.positions.keys() {
                let place = Place { topic: name.clone(), partition: *partition };
                self.news.insert(Fact::Position(place, consumer.clone()), None);
            }
            state.removed(out);
        }
        let e = Error::new(Kind::NotFound, "stream", "the topic has been deleted");
        refuse(topic.making.into_iter().chain(topic.joining.into_iter().map(|(asker, _)| asker)), &e, out);
        self.remove(topic.partitions, out);
        self.wait_news.push((asker, Reply::Done));
        Ok(())
    }

    fn add_partition(
        &mut self,
        asker: Asker,
        name: &Name,
        definition: Definition,
        out: &mut Vec<Output>,
    ) -> Result<()> {
        definition.check()?;
        self.number += 1;
        let number = self.number;
        let topic = self.topic(name)?;
        if topic.partitions.len() >= PARTITIONS_MAX {
            let detail = format!("topic \"{name}\" has {PARTITIONS_MAX} partitions; no more are accepted");
            return Err(Error::new(Kind::Full, "stream.partition", detail));
        }
        let id = PartitionId { topic: topic.number, partition: topic.partitions.len() as u32 };
        topic.described.partitions.push(definition.clone());
        let owner = Arc::new(Owner::of(name, &topic.described));
        topic.partitions.push(Partition::new(id, definition, owner, number, out));
        topic.making.push(asker);
        let known = Remembered { number: topic.number, topic: topic.described.clone() };
        self.news.insert(Fact::Topic(name.clone()), encoded(&known));
        Ok(())
    }

    fn gone(&mut self, peer: PeerId, out: &mut Vec<Output>) {
        if !self.peers.remove(&peer) {
            return;
        }
        for topic in self.topics.values_mut() {
            topic.making.retain(|(asker, _)| *asker != peer);
            topic.joining.retain(|((asker, _), _)| *asker != peer);
            topic.partitions.iter_mut().for_each(|partition| partition.gone(peer, out));
            let Topic { consumers, partitions, .. } = topic;
            for consumer in consumers.values_mut() {
                consumer.leave(peer, self.now, partitions, out);
            }
        }
        self.sooner(Some(self.now.after(HANDOVER)));
        self.wait_news.retain(|((asker, _), _)| *asker != peer);
        if let Some(Noting { waiting, .. }) = &mut self.noting {
            waiting.retain(|((asker, _), _)| *asker != peer);
        }
    }

    fn done(
        &mut self,
        number: u64,
        partition: Option<PartitionId>,
        outcome: &Result<Outcome>,
        out: &mut Vec<Output>,
    ) {
        if self.noting.as_ref().is_some_and(|noting| noting.number == number) {
            self.noted(outcome, out);
            return;
        }
        if let Some(id) = partition.filter(|id| self.leaving.contains_key(id)) {
            self.left(id, number, outcome.is_ok(), out);
            return;
        }
        let (now, mut last) = (self.now, self.number);
        let name = partition.and_then(|id| self.names.get(&id.topic)).cloned();
        let (Some(id), Some(name)) = (partition, name) else { return };
        let Some(Topic { partitions, consumers, .. }) = self.topics.get_mut(&name) else { return };
        let Some(partition) = partitions.get_mut(id.partition as usize) else { return };
        let (before, opening) = (partition.events.end, partition.is_opening());
        let mut answers = Vec::new();
        if !partition.done(now, number, outcome, &mut answers) {
            return;
        }
        partition.advance(now, &mut last, out);
        let (more, deadline) = (before != partition.events.end, partition.next_deadline());
        if more {
            consumers.values_mut().for_each(|consumer| consumer.more(id.partition, partitions, out));
        }
        // Who waits for events is told of them first: who made them has no hurry.
        out.append(&mut answers);
        let all_open = !partitions.iter().any(Partition::is_opening);
        if opening {
            for (consumer, state) in consumers {
                // Events in memory, or never synchronised, may be gone: who had acknowledged them gets those that come in
                // their place.
                if let Some(next) = state.at_most(id.partition, partitions) {
                    let place = Place { topic: name.clone(), partition: id.partition };
                    self.news.insert(Fact::Position(place, consumer.clone()), encoded(&next));
                }
                state.share(now, partitions, out);
            }
        }
        self.number = last;
        self.sooner(deadline);
        if opening {
            self.sooner(Some(now.after(HANDOVER)));
        }
        if opening && all_open {
            self.opened(name, out);
        }
    }

    /// The partitions of a topic are open, or cannot be.
    fn opened(&mut self, name: Name, out: &mut Vec<Output>) {
        let Some(topic) = self.topics.get_mut(&name) else { return };
        let making = std::mem::take(&mut topic.making);
        let joining = std::mem::take(&mut topic.joining);
        let failed = topic.partitions.iter().find_map(Partition::failure).cloned();
        match failed {
            // Known only when it is remembered.
            None => self.wait_news.extend(making.into_iter().map(|asker| (asker, Reply::Done))),
            Some(e) => {
                refuse(making.into_iter(), &e, out);
                if topic.fresh {
                    // A topic that could not be made is not there.
                    refuse(joining.into_iter().map(|(asker, _)| asker), &e, out);
                    if let Some(topic) = self.topics.remove(&name) {
                        self.names.remove(&topic.number);
                        topic.consumers.into_values().for_each(|consumer| consumer.removed(out));
                        self.remove(topic.partitions, out);
                    }
                    self.news.insert(Fact::Topic(name), None);
                    return;
                }
            }
        }
        topic.fresh = false;
        for (asker, joining) in joining {
            if let Err(e) = self.join(asker, name.clone(), joining, out) {
                refuse([asker].into_iter(), &e, out);
            }
        }
    }
}

pub(super) fn no_consumer(name: &Name) -> Error {
    Error::new(Kind::NotFound, "stream", format!("there is no consumer \"{name}\" of this topic; join first"))
}
