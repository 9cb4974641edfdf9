//! Consumers as they are in programs, over links that break anywhere: the production client before the production service, whose
//! server is killed, whose answers get lost, and whose members come and go.
//!
//! One thread does everything, and the service's time is the world's. A failure names its seed.

use super::store::Store;
use crate::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_services::stream::client::{Connect, Consumer, ConsumerOptions, Link, Source};
use thalweg_services::stream::core::{Config, Input, Outcome, Output, PartitionId, Streams};
use thalweg_services::stream::message::{Batch, Begin, Place, Reply, Request};
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};
use thalweg_transport::journal::{Entry, Follower, Read};
use thalweg_transport::link::Patience;
use thalweg_transport::memory::Segment;

const STEPS: usize = 150;
/// Links break so often, in percent of what is asked of them.
const BREAKS: u64 = 6;

/// What the links lead to.
struct Service {
    chance: Chance,
    now: Nanos,
    core: Streams,
    store: Store,
    topic: Name,
    /// Another one after each kill: links to those before are broken.
    life: u64,
    next_peer: u64,
    next_id: u64,
    replies: BTreeMap<u64, Reply>,
    /// Whether anything breaks.
    hostile: bool,
    /// How many events each partition has been given.
    pushed: BTreeMap<u32, u64>,
}

type Shared = Arc<Mutex<Service>>;

fn locked(service: &Shared) -> MutexGuard<'_, Service> {
    service.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> Error {
    Error::new(Kind::Gone, "toy", "the link broke")
}

impl Service {
    fn step(&mut self, input: Input) {
        self.now = self.now.after(Nanos(1 + self.chance.below(200_000_000)));
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            self.core.step(self.now, input, &mut out);
            inputs.extend(self.perform(out));
        }
    }

    /// Does what is to be done at once; what comes of it.
    fn perform(&mut self, out: Vec<Output>) -> Vec<Input> {
        let mut done = Vec::new();
        for output in out {
            let outcome = match &output {
                Output::Send { id, reply, .. } => {
                    self.replies.insert(*id, reply.clone());
                    continue;
                }
                Output::Open { partition, definition, .. } => {
                    self.store.open(*partition, definition.durability, 1, self.now)
                }
                Output::Append { partition, batches, sync, .. } => {
                    let of = |(_, b): &(PeerId, Batch)| (b.producer, b.sequence, b.events, b.apart);
                    let batches: Vec<_> = batches.iter().map(of).collect();
                    self.store.append(*partition, &batches, *sync, self.now)
                }
                Output::Remember { facts, .. } => {
                    self.store.remember(facts);
                    Ok(Outcome::Done)
                }
                _ => Ok(Outcome::Done),
            };
            if let Some((number, partition)) = output.number() {
                done.push(Input::Done { number, partition, outcome });
            }
        }
        done
    }

    /// The server is killed, and another one goes on with what it left.
    fn kill(&mut self) {
        self.life += 1;
        self.store.end();
        self.replies.clear();
        let mut out = Vec::new();
        if let Ok(core) = Streams::new(Config::default(), &self.store.facts, &mut out) {
            self.core = core;
        }
        for input in self.perform(out) {
            self.step(input);
        }
    }

    fn join(&mut self) -> PeerId {
        self.next_peer += 1;
        self.step(Input::Joined(PeerId(self.next_peer)));
        PeerId(self.next_peer)
    }

    fn ask(&mut self, from: PeerId, body: Request) -> Option<Reply> {
        self.next_id += 1;
        let id = self.next_id;
        self.step(Input::Request { from, id, body });
        let reply = self.replies.remove(&id);
        if reply.is_none() {
            self.step(Input::Request { from, id: 0, body: Request::Cancel { request: id } });
        }
        reply
    }

    fn breaks(&mut self) -> bool {
        self.hostile && self.chance.percent(BREAKS)
    }

    /// More events for a partition.
    fn push(&mut self, partition: u32) {
        let from = self.join();
        let (events, apart) = (1 + self.chance.below(5) as u32, self.chance.percent(60));
        let sequence = self.pushed.get(&partition).copied().unwrap_or(0);
        let batch = Batch {
            producer: 7 + u64::from(partition),
            sequence,
            heard: sequence,
            events,
            metadata_bytes: 0,
            data_bytes: 0,
            apart,
            at: 0,
        };
        let place = Place { topic: self.topic.clone(), partition };
        if let Some(Reply::Produced(_)) = self.ask(from, Request::Produce { place, batch }) {
            *self.pushed.entry(partition).or_default() += u64::from(events);
        }
        self.step(Input::Gone(from));
    }
}

/// A link of one member to one life of the server.
struct Flaky {
    service: Shared,
    life: u64,
    peer: PeerId,
}

impl Flaky {
    /// The service, unless the link is broken or breaks now.
    fn reach(&self) -> Result<MutexGuard<'_, Service>> {
        let mut service = locked(&self.service);
        if service.life != self.life {
            return Err(gone());
        }
        if service.breaks() {
            service.kill();
            return Err(gone());
        }
        Ok(service)
    }
}

impl Drop for Flaky {
    fn drop(&mut self) {
        let mut service = locked(&self.service);
        if service.life == self.life {
            service.step(Input::Gone(self.peer));
        }
    }
}

fn unused<T>() -> Result<T> {
    Err(Error::new(Kind::Protocol, "toy", "consumers do not need this"))
}

impl Link for Flaky {
    fn ask(&self, body: Request, _: Patience<'_>) -> Result<Reply> {
        let mut service = self.reach()?;
        let reply = service.ask(self.peer, body);
        if service.breaks() {
            // It was done, and nobody hears of it.
            service.kill();
            return Err(gone());
        }
        match reply {
            Some(Reply::Failed(e)) => Err(e),
            Some(reply) => Ok(reply),
            None => Err(Error::new(Kind::Timeout, "toy", "no news")),
        }
    }

    fn tell(&self, body: Request) {
        if let Ok(mut service) = self.reach() {
            service.ask(self.peer, body);
        }
    }

    fn send(&self, _: u64, _: &Request, _: Patience<'_>) -> Result<()> {
        unused()
    }

    fn next(&self, _: Patience<'_>) -> Result<(u64, Reply)> {
        unused()
    }

    fn outbox(&self, _: Bytes, _: Patience<'_>) -> Result<Arc<Segment>> {
        unused()
    }

    fn source(&self, place: &Place) -> Box<dyn Source> {
        let id = PartitionId { topic: 1, partition: place.partition };
        let Flaky { service, life, .. } = self;
        Box::new(Journals { service: service.clone(), life: *life, id, follower: Follower::default() })
    }

    fn first_since(&self, _: &Place, _: Nanos, _: Patience<'_>) -> Result<u64> {
        unused()
    }

    fn alive(&self) -> Result<()> {
        self.reach().map(drop)
    }
}

/// Reads a partition as long as its server lives.
struct Journals {
    service: Shared,
    life: u64,
    id: PartitionId,
    follower: Follower,
}

impl Journals {
    fn reach(service: &Shared, life: u64) -> Result<MutexGuard<'_, Service>> {
        let mut service = locked(service);
        if service.life == life && service.breaks() {
            service.kill();
        }
        if service.life == life {
            Ok(service)
        } else {
            Err(gone())
        }
    }
}

impl Source for Journals {
    fn entries(
        &mut self,
        wanted: u64,
        until: u64,
        most: u64,
        bytes: Vec<u8>,
        _: Patience<'_>,
    ) -> Result<Read> {
        let service = Journals::reach(&self.service, self.life)?;
        let journal = service.store.journal_of(self.id).ok_or_else(gone)?;
        self.follower.read(&mut |number| journal.locate(number), wanted, until, most, bytes)
    }

    fn data(&mut self, entry: &Entry<'_>, range: Range<u64>, into: &mut [u8], _: Patience<'_>) -> Result<()> {
        let service = Journals::reach(&self.service, self.life)?;
        service.store.journal_of(self.id).ok_or_else(gone)?.read_data(entry, range, into)
    }
}

/// Members of one consumer that read what is pushed, while everything breaks.
pub struct Readers {
    service: Shared,
    chance: Chance,
    members: Vec<Consumer>,
    delivered: BTreeSet<(u32, u64)>,
}

impl Readers {
    /// Lives one life; how many events were delivered.
    ///
    /// # Errors
    /// The events that were skipped, with the seed.
    pub fn run(seed: u64) -> std::result::Result<usize, String> {
        let mut readers = Readers::new(seed).map_err(|e| format!("seed {seed}: {e}"))?;
        readers.live().map_err(|e| format!("seed {seed}: {e}"))
    }

    fn new(seed: u64) -> Result<Readers> {
        let mut chance = Chance::new(seed);
        let topic = Name::new("world", "topic")?;
        let mut service = Service {
            chance: Chance::new(chance.number()),
            now: Nanos(1),
            core: Streams::new(Config::default(), &BTreeMap::new(), &mut Vec::new())?,
            store: Store::default(),
            topic: topic.clone(),
            life: 0,
            next_peer: 0,
            next_id: 0,
            replies: BTreeMap::new(),
            hostile: false,
            pushed: BTreeMap::new(),
        };
        let partition =
            Partition { rest: Rest::Files, durability: Durability::None, retention: Retention::default() };
        let partitions = vec![partition; 1 + chance.below(3) as usize];
        let rule = String::new;
        let topic_is = Topic { partitions, validator: rule(), selector: rule(), serializer: rule() };
        let peer = service.join();
        service.ask(peer, Request::Create { name: topic, topic: topic_is });
        service.hostile = true;
        let service = Arc::new(Mutex::new(service));
        Ok(Readers { service, chance, members: Vec::new(), delivered: BTreeSet::new() })
    }

    fn connect(&self) -> Connect {
        let service = self.service.clone();
        Box::new(move |_| {
            let mut reached = locked(&service);
            if reached.breaks() {
                return Err(gone());
            }
            let (peer, life) = (reached.join(), reached.life);
            drop(reached);
            Ok(Arc::new(Flaky { service: service.clone(), life, peer }))
        })
    }

    /// A moment: the world's time does not pass while a client waits.
    fn moment() -> Patience<'static> {
        Patience::of(Nanos(200_000))
    }

    fn join(&mut self) {
        let topic = locked(&self.service).topic.clone();
        let Ok(name) = Name::new("world", "crew") else { return };
        let options = ConsumerOptions { name, only: None, begin: Begin::First };
        self.members.extend(Consumer::join(self.connect(), topic, options, Readers::moment()));
    }

    fn live(&mut self) -> std::result::Result<usize, String> {
        for _ in 0..STEPS {
            match self.chance.below(10) {
                0 if self.members.len() < 3 => self.join(),
                1 if self.chance.percent(20) && !self.members.is_empty() => {
                    // It leaves, or is killed: then its events come to others again.
                    let at = self.chance.below(self.members.len() as u64) as usize;
                    let member = self.members.swap_remove(at);
                    if self.chance.percent(50) {
                        let _ = member.close(false, Readers::moment());
                    }
                }
                2..=4 => {
                    let mut service = locked(&self.service);
                    let count = service.store.partitions() as u64;
                    let partition = service.chance.below(count.max(1)) as u32;
                    service.push(partition);
                }
                _ => self.read()?,
            }
        }
        self.settle()
    }

    fn read(&mut self) -> std::result::Result<(), String> {
        if self.members.is_empty() {
            return Ok(());
        }
        let at = self.chance.below(self.members.len() as u64) as usize;
        let most = 1 + self.chance.below(4) as u32;
        let member = &self.members[at];
        let events = match member.pull(most, Readers::moment()) {
            Ok(Some(events)) => events,
            Ok(None) => return Ok(()),
            Err(e) if matches!(e.kind, Kind::Gone | Kind::Timeout | Kind::Interrupted) => return Ok(()),
            Err(e) => return Err(format!("a pull fails: {e}")),
        };
        let count = events.len() as u32;
        let bytes = events.data_range(count - 1).end - events.data_range(0).start;
        match member.read_all(&events, &mut vec![0; bytes as usize], Readers::moment()) {
            Ok(read) if read == count => {}
            Ok(read) => return Err(format!("{read} of {count} events have data")),
            Err(e) if matches!(e.kind, Kind::Gone | Kind::Timeout | Kind::Interrupted) => {
                member.give_back(&events, 0);
                return Ok(());
            }
            Err(e) => return Err(format!("data cannot be read: {e}")),
        }
        let next = events.first() + u64::from(count);
        self.delivered.extend((events.first()..next).map(|number| (events.partition, number)));
        if self.chance.percent(40) {
            let _ = match self.chance.percent(50) {
                true => member.acknowledge(events.partition, next),
                false => member.acknowledge_durably(events.partition, next, Readers::moment()),
            };
        }
        Ok(())
    }

    /// Nothing breaks any more: all that was pushed must have been delivered, or come now.
    fn settle(&mut self) -> std::result::Result<usize, String> {
        locked(&self.service).hostile = false;
        if self.members.is_empty() {
            self.join();
        }
        let pushed = locked(&self.service).pushed.clone();
        let all: Vec<(u32, u64)> =
            pushed.iter().flat_map(|(partition, count)| (0..*count).map(|n| (*partition, n))).collect();
        for _ in 0..5_000 {
            if all.iter().all(|event| self.delivered.contains(event)) {
                return Ok(self.delivered.len());
            }
            self.read()?;
            // Time for members that are gone, and for partitions that change hands.
            locked(&self.service).step(Input::Tick { wall: Nanos(1) });
        }
        let skipped: Vec<_> = all.iter().filter(|event| !self.delivered.contains(event)).take(10).collect();
        Err(format!("events were skipped: {skipped:?} (partition, number)"))
    }
}
