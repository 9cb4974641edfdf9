//! One life of the stream service: producers that send again, consumers that share, deaths, full and torn disks.

use super::clients::{Member, Producer};
use super::store::{Mark, Store};
use crate::chance::Chance;
use crate::world::Failure;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{catch_unwind, AssertUnwindSafe};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Error, Kind, Nanos};
use thalweg_services::stream::core::{Config, Input, Outcome, Output, Streams};
use thalweg_services::stream::message::{Held, Place, Reply, Request};
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};

const TRACE: usize = 80;
const STEPS: u64 = 300;
/// A client that hears nothing for so long connects anew.
pub(super) const PATIENCE: Nanos = Nanos(3_000_000_000);

/// The world.
pub struct World {
    pub(super) chance: Chance,
    pub(super) now: Nanos,
    pub(super) service: Option<Streams>,
    pub(super) store: Store,
    pub(super) topic: Name,
    pub(super) other: Name,
    pub(super) definitions: Vec<Partition>,
    pub(super) producers: Vec<Producer>,
    pub(super) members: Vec<Member>,
    pub(super) peers: BTreeSet<PeerId>,
    pub(super) to_service: Vec<(Nanos, PeerId, u64, Request)>,
    pub(super) to_clients: Vec<(Nanos, PeerId, u64, Reply)>,
    pub(super) tasks: Vec<(Nanos, Output)>,
    /// The events that were acknowledged to their producer, by partition and number.
    pub(super) acknowledged: BTreeMap<(u32, u64), Mark>,
    /// The last position of each consumer that was confirmed, and the highest that was asked for.
    pub(super) confirmed: BTreeMap<(Name, u32), u64>,
    pub(super) asked: BTreeMap<(Name, u32), u64>,
    pub(super) acks: BTreeMap<(PeerId, u64), (Name, u32, u64)>,
    /// Up to where something was let go of.
    pub(super) retained: BTreeMap<u32, u64>,
    /// Who makes the topic, and whether it was told that it is there.
    pub(super) creator: Option<(PeerId, u64)>,
    pub(super) made: bool,
    pub(super) broken: Option<String>,
    pub(super) next_peer: u64,
    pub(super) next_id: u64,
    pub(super) trace: VecDeque<String>,
}

pub(super) type Step = Result<(), String>;

impl World {
    /// Lives one life; the number of events that were acknowledged.
    ///
    /// # Errors
    /// The first broken promise, with its seed.
    pub fn run(seed: u64) -> Result<u64, Box<Failure>> {
        let mut world = World::new(seed);
        let lived = catch_unwind(AssertUnwindSafe(|| world.live())).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string()));
            Err(format!("panic: {}", text.unwrap_or_else(|| "of unknown kind".into())))
        });
        lived.map_err(|broken| {
            Box::new(Failure { seed, broken, trace: world.trace.iter().cloned().collect() })
        })
    }

    fn new(seed: u64) -> World {
        let mut chance = Chance::new(seed);
        let name = |text: &str| Name::new("world", text).expect("a good name");
        let definitions: Vec<Partition> = (0..1 + chance.below(3))
            .map(|_| Partition {
                rest: Rest::Files,
                durability: [
                    Durability::None,
                    Durability::Always,
                    Durability::Always,
                    Durability::Interval(Nanos(50_000_000)),
                ][chance.below(4) as usize],
                retention: Retention { age: None, bytes: None, acknowledged: chance.percent(30) },
            })
            .collect();
        let topic = name("topic");
        let place = |chance: &mut Chance| Place {
            topic: topic.clone(),
            partition: chance.below(definitions.len() as u64) as u32,
        };
        let producers = (0..1 + chance.below(4))
            .map(|n| Producer {
                number: 100 + n,
                place: place(&mut chance),
                peer: None,
                next: 0,
                out: VecDeque::new(),
                heard: Nanos(0),
            })
            .collect();
        let members = (0..chance.below(5))
            .map(|n| Member {
                consumer: name(["one", "two"][n as usize % 2]),
                peer: None,
                waits: None,
                generation: 0,
                held: BTreeMap::new(),
                heard: Nanos(0),
            })
            .collect();
        World {
            chance,
            now: Nanos(1_000_000_000),
            service: None,
            store: Store::default(),
            topic,
            other: name("other"),
            definitions,
            producers,
            members,
            peers: BTreeSet::new(),
            to_service: Vec::new(),
            to_clients: Vec::new(),
            tasks: Vec::new(),
            acknowledged: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            asked: BTreeMap::new(),
            acks: BTreeMap::new(),
            retained: BTreeMap::new(),
            creator: None,
            made: false,
            broken: None,
            next_peer: 1,
            next_id: 1,
            trace: VecDeque::new(),
        }
    }

    pub(super) fn note(&mut self, line: String) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(format!("{:>7} {line}", self.now.0 / 1_000_000));
    }

    fn live(&mut self) -> Result<u64, String> {
        self.start()?;
        self.create();
        for _ in 0..STEPS {
            self.now = Nanos(self.now.0 + 1 + self.chance.below(20_000_000));
            self.happen()?;
            self.deliver()?;
            self.broken.take().map_or(Ok(()), Err)?;
        }
        self.settle()?;
        Ok(self.acknowledged.len() as u64)
    }

    /// Another topic comes and goes, and gets partitions; nobody ever writes to it.
    fn churn(&mut self) {
        let name = self.other.clone();
        let partition = self.definitions[0].clone();
        let body = match self.chance.below(4) {
            0 => Request::Delete { name },
            1 => Request::AddPartition { name, partition },
            2 => Request::Describe { name },
            _ => Request::Create { name, topic: Topic { partitions: vec![partition], ..self.described() } },
        };
        let peer = self.connect();
        self.say(peer, body);
    }

    fn described(&self) -> Topic {
        Topic {
            partitions: self.definitions.clone(),
            validator: String::new(),
            selector: String::new(),
            serializer: String::new(),
        }
    }

    pub(super) fn create(&mut self) {
        let topic = self.described();
        let peer = self.connect();
        let body = Request::Create { name: self.topic.clone(), topic };
        self.creator = Some((peer, self.say(peer, body)));
    }

    pub(super) fn connect(&mut self) -> PeerId {
        let peer = PeerId(self.next_peer);
        self.next_peer += 1;
        self.peers.insert(peer);
        self.step(Input::Joined(peer));
        peer
    }

    pub(super) fn say(&mut self, peer: PeerId, body: Request) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let last = self.to_service.iter().filter(|(_, p, _, _)| *p == peer).map(|(at, ..)| *at).max();
        // What one client says arrives in order.
        let at = last.unwrap_or(self.now).max(Nanos(self.now.0 + self.chance.below(10_000_000)));
        self.to_service.push((at, peer, id, body));
        id
    }

    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        if let Some(service) = &mut self.service {
            service.step(self.now, input, &mut out);
            let broken = service.invariants();
            assert_eq!(broken, Ok(()));
        }
        self.take(out);
    }

    fn take(&mut self, out: Vec<Output>) {
        for output in out {
            let at = Nanos(self.now.0 + self.chance.below(15_000_000));
            match output {
                Output::Send { to, id, reply } => {
                    self.positions(to, &reply);
                    let last = self.to_clients.iter().filter(|(_, p, ..)| *p == to).map(|(at, ..)| *at).max();
                    self.to_clients.push((last.unwrap_or(at).max(at), to, id, reply));
                }
                // Closing and opening the same journal go in order.
                Output::Close { partition } => self.store.close(partition, false),
                output => self.tasks.push((at, output)),
            }
        }
    }

    /// A consumer goes on where it has acknowledged.
    fn positions(&mut self, to: PeerId, reply: &Reply) {
        let Reply::News { held, .. } = reply else { return };
        let Some(member) = self.members.iter().find(|member| member.peer == Some(to)) else { return };
        let consumer = member.consumer.clone();
        for Held { partition, next, events, .. } in held {
            let place = (consumer.clone(), *partition);
            let confirmed = self.confirmed.get(&place).copied().unwrap_or(0);
            let asked = self.asked.get(&place).copied().unwrap_or(0);
            let retained = self.retained.get(partition).copied().unwrap_or(0);
            if *next < confirmed || *next > asked.max(events.start) || events.start > retained {
                self.broken.get_or_insert(format!(
                    "{consumer} goes on with {next} of partition {partition} of {events:?}: {confirmed} was confirmed, {asked} asked for, {retained} let go of"
                ));
            }
        }
    }

    fn start(&mut self) -> Step {
        let mut out = Vec::new();
        let service = Streams::new(Config::default(), &self.store.facts, &mut out).map_err(|e| e.message)?;
        self.service = Some(service);
        self.note("the service starts".into());
        self.take(out);
        Ok(())
    }

    /// The server is killed at once, or with the machine; then another one starts.
    fn kill(&mut self) -> Step {
        let power =
            self.chance.percent(40) && self.definitions.iter().all(|p| p.durability == Durability::Always);
        self.note(format!("the server is killed{}", if power { ", its machine has no power" } else { "" }));
        self.service = None;
        // What was being done has been done in part.
        let tasks = std::mem::take(&mut self.tasks);
        for (_, output) in tasks {
            if self.chance.percent(50) {
                let life = self.chance.below(2_000);
                self.store.with_disks(|disk| disk.live(Some(life)));
                let _ = self.perform(&output);
                self.store.with_disks(|disk| disk.live(None));
            }
        }
        self.store.end();
        if power {
            let mut chance = Chance::new(self.chance.number());
            self.store.with_disks(|disk| disk.lose_power(&mut chance));
        }
        self.store.with_disks(|disk| {
            disk.room(None);
            disk.break_sync(false);
        });
        self.to_service.clear();
        self.to_clients.clear();
        self.acks.clear();
        self.peers.clear();
        self.producers.iter_mut().for_each(|producer| producer.peer = None);
        self.members.iter_mut().for_each(|member| member.peer = None);
        self.start()
    }

    /// A client's connection breaks.
    pub(super) fn part(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
        self.to_service.retain(|(_, p, ..)| *p != peer);
        self.to_clients.retain(|(_, p, ..)| *p != peer);
        self.acks.retain(|(p, _), _| *p != peer);
        self.step(Input::Gone(peer));
    }

    fn happen(&mut self) -> Step {
        match self.chance.below(1000) {
            0..=11 => return self.kill(),
            12..=25 => {
                let room = self.chance.percent(60).then(|| self.chance.below(1_500));
                self.store.with_disks(|disk| disk.room(room));
            }
            26..=31 => {
                let broken = self.chance.percent(50);
                self.store.with_disks(|disk| disk.break_sync(broken));
            }
            32..=51 => {
                let n = self.chance.below(self.peers.len().max(1) as u64) as usize;
                if let Some(peer) = self.peers.iter().nth(n).copied() {
                    self.note(format!("{peer:?} breaks off"));
                    self.part(peer);
                }
            }
            52..=71 => self.churn(),
            _ => {}
        }
        let deadline = self.service.as_ref().and_then(Streams::next_deadline);
        if deadline.is_some_and(|at| at <= self.now) {
            self.step(Input::Tick { wall: self.now });
        }
        (0..self.producers.len()).for_each(|n| self.produce(n));
        (0..self.members.len()).for_each(|n| self.consume(n));
        Ok(())
    }

    fn deliver(&mut self) -> Step {
        loop {
            let due = |at: &Nanos| *at <= self.now;
            if let Some(n) = self.to_service.iter().position(|(at, ..)| due(at)) {
                let (_, from, id, body) = self.to_service.remove(n);
                self.step(Input::Request { from, id, body });
            } else if let Some(n) = self.to_clients.iter().position(|(at, ..)| due(at)) {
                let (_, to, id, reply) = self.to_clients.remove(n);
                self.hear(to, id, reply)?;
            } else if let Some(n) = self.tasks.iter().position(|(at, _)| due(at)) {
                let (_, output) = self.tasks.remove(n);
                let Some((number, partition)) = output.number() else { continue };
                let outcome = self.perform(&output);
                if let Err(e) = &outcome {
                    self.note(format!("output {number} fails: {e}"));
                }
                self.step(Input::Done { number, partition, outcome });
            } else {
                return Ok(());
            }
        }
    }

    fn perform(&mut self, output: &Output) -> Result<Outcome, Error> {
        match output {
            Output::Open { partition, definition, .. } => {
                let seed = self.chance.number();
                self.store.open(*partition, definition.durability, seed, self.now)
            }
            Output::Append { partition, batches, sync, .. } => {
                let batches: Vec<_> =
                    batches.iter().map(|(_, b)| (b.producer, b.sequence, b.events, b.apart)).collect();
                self.store.append(*partition, &batches, *sync, self.now)
            }
            Output::Sync { partition, .. } => self.store.sync(*partition),
            Output::Remove { partition, .. } => {
                self.store.close(*partition, true);
                Ok(Outcome::Done)
            }
            Output::Retain { partition, before, .. } => {
                let before = before.unwrap_or(0);
                let kept = self.retained.entry(partition.partition).or_default();
                *kept = before.max(*kept);
                self.store.retain(*partition, before)
            }
            Output::Remember { facts, .. } => {
                if self.chance.percent(3) {
                    return Err(Error::new(Kind::Full, "toy", "the disk is full"));
                }
                self.store.remember(facts);
                Ok(Outcome::Done)
            }
            Output::Send { .. } | Output::Close { .. } => Ok(Outcome::Done),
        }
    }

    fn hear(&mut self, to: PeerId, id: u64, reply: Reply) -> Step {
        if let Reply::Topic(_, events) = &reply {
            return match events.iter().find(|events| **events != (0..0)) {
                Some(events) => Err(format!("a topic that nobody writes to has events {events:?}")),
                None => Ok(()),
            };
        }
        if self.creator == Some((to, id)) {
            self.made |= reply == Reply::Done;
            return Ok(());
        }
        if let Some((consumer, partition, next)) = self.acks.remove(&(to, id)) {
            if reply == Reply::Done {
                let confirmed = self.confirmed.entry((consumer, partition)).or_default();
                *confirmed = next.max(*confirmed);
            }
            return Ok(());
        }
        if let Some(n) = self.producers.iter().position(|producer| producer.peer == Some(to)) {
            return self.told(n, id, reply);
        }
        let member =
            self.members.iter().position(|member| member.peer == Some(to) && member.waits == Some(id));
        match member {
            Some(n) => self.news(n, reply),
            None => Ok(()),
        }
    }

    /// Everything works again; what was sent arrives, and all that was acknowledged is there once and in order.
    fn settle(&mut self) -> Step {
        self.note("settling".into());
        self.store.with_disks(|disk| {
            disk.room(None);
            disk.break_sync(false);
        });
        for _ in 0..2_000 {
            self.now = Nanos(self.now.0 + 20_000_000);
            let deadline = self.service.as_ref().and_then(Streams::next_deadline);
            if deadline.is_some_and(|at| at <= self.now) {
                self.step(Input::Tick { wall: self.now });
            }
            for n in 0..self.producers.len() {
                if !self.producers[n].out.is_empty() {
                    let next = self.producers[n].next;
                    self.produce(n);
                    // Nothing new is begun.
                    if self.producers[n].next != next {
                        let sent = self.producers[n].out.pop_back();
                        self.producers[n].next = next;
                        let id = sent.and_then(|sent| sent.id);
                        self.to_service.retain(|(_, _, i, _)| Some(*i) != id);
                    }
                }
            }
            self.deliver()?;
            if self.producers.iter().all(|producer| producer.out.is_empty()) && self.tasks.is_empty() {
                break;
            }
        }
        if let Some(producer) = self.producers.iter().find(|producer| !producer.out.is_empty()) {
            return Err(format!("producer {} was never told of {:?}", producer.number, producer.out));
        }
        for partition in 0..self.definitions.len() as u32 {
            self.check(partition)?;
        }
        Ok(())
    }

    fn check(&self, partition: u32) -> Step {
        let mut ids =
            self.service.iter().flat_map(Streams::partitions).filter(|(name, _)| **name == self.topic);
        let Some((_, id)) = ids.find(|(_, id)| id.partition == partition) else {
            return Err(format!("partition {partition} is not there"));
        };
        let events = self.store.read(id, 0)?;
        let retained = self.retained.get(&partition).copied().unwrap_or(0);
        let kept = events.first().map_or(retained, |(n, _)| *n);
        if kept > retained {
            return Err(format!("partition {partition} begins with {kept}"));
        }
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for ((number, mark), expected) in events.iter().zip(kept..) {
            if *number != expected {
                return Err(format!("event {number} of partition {partition} where {expected} should be"));
            }
            if let Some(before) = last.insert(mark.producer, mark.sequence) {
                if before + 1 != mark.sequence {
                    return Err(format!("{mark:?} follows {before} in partition {partition}"));
                }
            }
        }
        let found: BTreeMap<u64, Mark> = events.into_iter().collect();
        for ((_, number), mark) in self.acknowledged.range((partition, 0)..(partition + 1, 0)) {
            if *number >= kept && found.get(number) != Some(mark) {
                let there = found.get(number);
                return Err(format!(
                    "event {number} of partition {partition} was {mark:?}, there is {there:?}"
                ));
            }
        }
        Ok(())
    }
}
