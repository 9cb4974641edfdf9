//! The service's state: its topics with their partitions and consumers, and what each request does to them.

use super::super::definition::{Partition as Definition, Topic as Described, PARTITIONS_MAX};
use super::super::message::{Begin, Place, Reply, Request, RECORDS_MAX};
use super::consumer::Consumer;
use super::partition::{Asker, Partition};
use super::{Fact, Input, Outcome, Output, PartitionId, Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// How often it is looked at what can be let go of.
const RETAIN_EVERY: Nanos = Nanos(1_000_000_000);
/// Requests that may wait until something is remembered, or a topic is open.
const WAITING_MAX: usize = 1 << 16;
/// How long to wait after facts could not be remembered.
const NOTE_AGAIN: Nanos = Nanos(100_000_000);

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
struct Remembered {
    number: u64,
    topic: Described,
}

#[derive(Debug)]
pub(super) struct Topic {
    number: u64,
    described: Described,
    pub(super) partitions: Vec<Partition>,
    pub(super) consumers: BTreeMap<Name, Consumer>,
    /// Who waits until its partitions are open.
    making: Vec<Asker>,
    /// Who wants to take part when they are.
    joining: Vec<(Asker, Joining)>,
    /// It is removed again when a partition cannot be opened.
    fresh: bool,
    /// How many of its partitions are remembered: only these can be used, as others may be gone after a crash.
    known: usize,
}

/// A partition that is gone.
#[derive(Debug)]
struct Leaving {
    /// The number of what is still being done with it.
    busy: Option<u64>,
    /// Nobody will find it again.
    forgotten: bool,
}

/// Facts that are being remembered.
#[derive(Debug)]
struct Noting {
    number: u64,
    facts: BTreeMap<Fact, Value>,
    /// Who waits for it, and what is answered then.
    waiting: Vec<(Asker, Reply)>,
    /// Partitions that are forgotten with it.
    forgotten: Vec<PartitionId>,
}

/// A client that wants to take part.
#[derive(Clone, Debug)]
struct Joining {
    consumer: Name,
    only: Option<BTreeSet<u32>>,
    begin: Begin,
}

/// The stream service.
#[derive(Debug)]
pub struct Streams {
    config: Config,
    now: Nanos,
    pub(super) topics: BTreeMap<Name, Topic>,
    /// Their names by their numbers.
    names: BTreeMap<u64, Name>,
    peers: BTreeSet<PeerId>,
    number: u64,
    next_topic: u64,
    retain_at: Nanos,
    /// Facts to be remembered next, and who waits for it.
    news: BTreeMap<Fact, Value>,
    wait_news: Vec<(Asker, Reply)>,
    /// What is being remembered.
    noting: Option<Noting>,
    /// Nothing is remembered before this time.
    note_at: Nanos,
    /// Nothing is to be done by itself before this time.
    soonest: Option<Nanos>,
    /// Partitions that are gone, to be removed when nothing is done with them any more and nobody remembers them.
    leaving: BTreeMap<PartitionId, Leaving>,
    /// Those that are forgotten with the next facts.
    forgetting: Vec<PartitionId>,
}

fn refuse(askers: impl Iterator<Item = Asker>, e: &Error, out: &mut Vec<Output>) {
    out.extend(askers.map(|(to, id)| Output::Send { to, id, reply: Reply::Failed(e.clone()) }));
}

fn no_topic(name: &Name) -> Error {
    Error::new(Kind::NotFound, "stream", format!("there is no topic \"{name}\"; create it first"))
}

fn no_partition(place: &Place, partitions: usize) -> Error {
    let detail = format!(
        "partition {} of topic \"{}\"; it has 0 to {}",
        place.partition,
        place.topic,
        partitions.saturating_sub(1)
    );
    Error::new(Kind::Invalid, "stream", detail)
}

fn encoded<T: Serialize>(value: &T) -> Value {
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

    fn add(
        &mut self,
        name: Name,
        number: u64,
        described: Described,
        maker: Option<Asker>,
        out: &mut Vec<Output>,
    ) {
        let partitions = described.partitions.iter().zip(0..).map(|(definition, partition)| {
            self.number += 1;
            Partition::new(PartitionId { topic: number, partition }, definition.clone(), self.number, out)
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
            Input::Tick => self.tick(out),
        }
        self.remember(out);
        debug_assert_eq!(self.invariants(), Ok(()));
    }

    fn topic(&mut self, name: &Name) -> Result<&mut Topic> {
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
                let reply = consumer.poll(asker, generation, known, deadline, &topic.partitions)?;
                self.sooner(Some(deadline));
                Ok(reply)
            }
            Request::Acknowledge { place, consumer, next } => {
                self.move_to(asker, place, consumer, next, false).map(|()| None)
            }
            Request::Seek { place, consumer, next } => {
                self.move_to(asker, place, consumer, next, true).map(|()| None)
            }
            Request::Leave { topic, consumer } => {
                let topic = self.topic(&topic)?;
                let left = topic.consumers.get_mut(&consumer).ok_or_else(|| no_consumer(&consumer))?;
                left.leave(asker.0, &topic.partitions, out);
                Ok(Some(Reply::Done))
            }
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
        topic.partitions.push(Partition::new(id, definition, number, out));
        topic.making.push(asker);
        let known = Remembered { number: topic.number, topic: topic.described.clone() };
        self.news.insert(Fact::Topic(name.clone()), encoded(&known));
        Ok(())
    }

    fn join(&mut self, asker: Asker, name: Name, joining: Joining, out: &mut Vec<Output>) -> Result<()> {
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
        let fresh = state.join(asker.0, only, begin, partitions, out)?;
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

    fn move_to(&mut self, asker: Asker, place: Place, consumer: Name, next: u64, back: bool) -> Result<()> {
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
        if next > events.end || (back && next < events.start) {
            let (what, first) = if back { ("stream.seek", events.start) } else { ("stream.acknowledge", 0) };
            let detail = format!(
                "event {next} of partition {}; accepted are {first} to {}",
                place.partition, events.end
            );
            return Err(Error::new(Kind::Invalid, what, detail));
        }
        let position = state.positions.entry(place.partition).or_insert(events.start);
        *position = if back { next } else { next.max(*position) };
        let value = encoded(position);
        self.news.insert(Fact::Position(place, consumer), value);
        self.wait_news.push((asker, Reply::Done));
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
                consumer.leave(peer, partitions, out);
            }
        }
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
        if let Some((id, leaving)) = partition.and_then(|id| Some((id, self.leaving.get_mut(&id)?))) {
            leaving.busy.take_if(|busy| *busy == number);
            self.leave(id, out);
            return;
        }
        let (now, mut last) = (self.now, self.number);
        let name = partition.and_then(|id| self.names.get(&id.topic)).cloned();
        let (Some(id), Some(name)) = (partition, name) else { return };
        let Some(Topic { partitions, consumers, .. }) = self.topics.get_mut(&name) else { return };
        let Some(partition) = partitions.get_mut(id.partition as usize) else { return };
        let (before, opening) = (partition.events.end, partition.is_opening());
        if !partition.done(now, number, outcome, out) {
            return;
        }
        partition.advance(now, &mut last, out);
        let (more, deadline) = (before != partition.events.end, partition.next_deadline());
        if more {
            consumers.values_mut().for_each(|consumer| consumer.more(id.partition, partitions, out));
        }
        let all_open = !partitions.iter().any(Partition::is_opening);
        if opening {
            for (consumer, state) in consumers {
                // Events in memory, or never synchronised, may be gone: who had acknowledged them gets those that come in
                // their place.
                if let Some(next) = state.at_most(id.partition, partitions) {
                    let place = Place { topic: name.clone(), partition: id.partition };
                    self.news.insert(Fact::Position(place, consumer.clone()), encoded(&next));
                }
                state.share(partitions, out);
            }
        }
        self.number = last;
        self.sooner(deadline);
        if opening && all_open {
            self.opened(name, out);
        }
    }

    /// Something is to be done by itself at this time, if not before.
    fn sooner(&mut self, at: Option<Nanos>) {
        self.soonest = [self.soonest, at].into_iter().flatten().min();
    }

    fn remove(&mut self, partitions: Vec<Partition>, out: &mut Vec<Output>) {
        for partition in partitions {
            let id = partition.id;
            let busy = partition.removed(out);
            self.leaving.insert(id, Leaving { busy, forgotten: false });
            self.forgetting.push(id);
        }
    }

    /// Removes what is left of a partition, if it is time.
    fn leave(&mut self, partition: PartitionId, out: &mut Vec<Output>) {
        if self.leaving.get(&partition).is_some_and(|leaving| leaving.busy.is_none() && leaving.forgotten) {
            self.leaving.remove(&partition);
            out.push(Output::Close { partition, remove: true });
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

    /// Hands over the facts that are new, one lot at a time.
    fn remember(&mut self, out: &mut Vec<Output>) {
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

    fn noted(&mut self, outcome: &Result<Outcome>, out: &mut Vec<Output>) {
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

    fn tick(&mut self, out: &mut Vec<Output>) {
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
                    partition.tick(now, before, &mut number, out);
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

fn no_consumer(name: &Name) -> Error {
    Error::new(Kind::NotFound, "stream", format!("there is no consumer \"{name}\" of this topic; join first"))
}
