//! The clients of the adversarial world: producers that send again until they are told, members that share and acknowledge.

use super::store::Mark;
use super::world::{Step, World, PATIENCE};
use std::collections::{BTreeMap, VecDeque};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Kind, Nanos};
use thalweg_services::stream::message::{Batch, Begin, Held, Place, Reply, Request, BATCHES_MAX};

/// A batch of a producer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub sequence: u64,
    pub events: u32,
    pub apart: bool,
    pub id: Option<u64>,
}

/// A producer: its batches are sent in order, and again until they are acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Producer {
    pub number: u64,
    pub place: Place,
    pub peer: Option<PeerId>,
    pub next: u64,
    pub out: VecDeque<Sent>,
    pub heard: Nanos,
}

/// A member of a named consumer.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub consumer: Name,
    pub peer: Option<PeerId>,
    pub waits: Option<u64>,
    pub generation: u64,
    pub held: BTreeMap<u32, u64>,
    pub heard: Nanos,
}

impl World {
    pub(super) fn produce(&mut self, n: usize) {
        let mut producer = self.producers[n].clone();
        let silent =
            producer.out.iter().any(|sent| sent.id.is_some()) && producer.heard.after(PATIENCE) < self.now;
        let lost = producer.peer.is_some_and(|peer| !self.peers.contains(&peer));
        if let Some(peer) = producer.peer.filter(|_| silent || lost) {
            self.part(peer);
            producer.peer = None;
        }
        let peer = producer.peer.unwrap_or_else(|| {
            producer.heard = self.now;
            producer.out.iter_mut().for_each(|sent| sent.id = None);
            self.connect()
        });
        producer.peer = Some(peer);
        if self.chance.percent(30) && producer.out.len() < BATCHES_MAX {
            let events = 1 + self.chance.below(3) as u32;
            let apart = self.chance.percent(30);
            producer.out.push_back(Sent { sequence: producer.next, events, apart, id: None });
            producer.next += u64::from(events);
        }
        if self.chance.percent(5) {
            // It sends what it has sent before, for no reason.
            producer.out.iter_mut().for_each(|sent| sent.id = None);
        }
        let heard = producer.out.front().map_or(producer.next, |sent| sent.sequence);
        for sent in producer.out.iter_mut().filter(|sent| sent.id.is_none()) {
            let batch = Batch {
                producer: producer.number,
                sequence: sent.sequence,
                heard,
                events: sent.events,
                metadata_bytes: 0,
                data_bytes: 0,
                apart: sent.apart,
                at: 0,
            };
            sent.id = Some(self.say(peer, Request::Produce { place: producer.place.clone(), batch }));
        }
        self.producers[n] = producer;
    }

    pub(super) fn consume(&mut self, n: usize) {
        let mut member = self.members[n].clone();
        let lost = member.peer.is_some_and(|peer| !self.peers.contains(&peer));
        let silent = member.waits.is_some() && member.heard.after(PATIENCE) < self.now;
        if let Some(peer) = member.peer.filter(|_| silent || lost) {
            self.part(peer);
            member.peer = None;
        }
        let topic = self.topic.clone();
        let Some(peer) = member.peer else {
            let peer = self.connect();
            let (consumer, only, begin) = (member.consumer.clone(), None, Begin::First);
            let id = self.say(peer, Request::Join { topic, consumer, only, begin });
            (member.peer, member.waits, member.heard) = (Some(peer), Some(id), self.now);
            (member.generation, member.held) = (0, BTreeMap::new());
            self.members[n] = member;
            return;
        };
        if member.waits.is_none() {
            let known = member.held.iter().map(|(partition, end)| (*partition, *end)).collect();
            let (consumer, generation) = (member.consumer.clone(), member.generation);
            let within = Nanos(self.chance.below(500_000_000));
            member.waits = Some(self.say(peer, Request::Poll { topic, consumer, generation, known, within }));
            member.heard = self.now;
            self.members[n] = member;
        }
    }

    pub(super) fn told(&mut self, n: usize, id: u64, reply: Reply) -> Step {
        let now = self.now;
        let producer = &mut self.producers[n];
        let Some(at) = producer.out.iter().position(|sent| sent.id == Some(id)) else { return Ok(()) };
        producer.heard = now;
        match reply {
            Reply::Produced(first) => {
                let Some(Sent { sequence, events, .. }) = producer.out.remove(at) else { return Ok(()) };
                let (number, partition) = (producer.number, producer.place.partition);
                for n in 0..u64::from(events) {
                    let mark = Mark { producer: number, sequence: sequence + n };
                    if let Some(other) = self.acknowledged.insert((partition, first + n), mark) {
                        return Err(format!(
                            "event {} of partition {partition} is {mark:?} and {other:?}",
                            first + n
                        ));
                    }
                }
                Ok(())
            }
            // Whatever it was, it is sent again: this and all behind it, in order.
            Reply::Failed(e) => {
                self.note(format!("producer {n} is refused: {e}"));
                if e.kind == Kind::NotFound && !self.made {
                    self.create();
                }
                let producer = &mut self.producers[n];
                let unexpected = e.kind == Kind::Invalid;
                producer.out.iter_mut().skip(at).for_each(|sent| sent.id = None);
                if unexpected {
                    return Err(format!("a good batch was refused: {e}"));
                }
                Ok(())
            }
            other => Err(format!("a producer was told {other:?}")),
        }
    }

    pub(super) fn news(&mut self, n: usize, reply: Reply) -> Step {
        let mut member = self.members[n].clone();
        member.waits = None;
        member.heard = self.now;
        let (generation, held) = match reply {
            Reply::News { generation, held } => (generation, held),
            Reply::Failed(_) => {
                // The topic is not there yet, or the service not ready: begin anew.
                if let Some(peer) = member.peer.take() {
                    self.part(peer);
                }
                self.members[n] = member;
                return Ok(());
            }
            other => return Err(format!("a consumer was told {other:?}")),
        };
        member.generation = generation;
        member.held = held.iter().map(|h| (h.partition, h.events.end)).collect();
        let (consumer, peer) = (member.consumer.clone(), member.peer);
        self.members[n] = member;
        for Held { partition, next, events, .. } in held {
            if self.chance.percent(60) && events.end > next {
                let to = next + 1 + self.chance.below(events.end - next);
                if let Some(peer) = peer {
                    let place = Place { topic: self.topic.clone(), partition };
                    let id =
                        self.say(peer, Request::Acknowledge { place, consumer: consumer.clone(), next: to });
                    self.acks.insert((peer, id), (consumer.clone(), partition, to));
                    let asked = self.asked.entry((consumer.clone(), partition)).or_default();
                    *asked = to.max(*asked);
                }
            }
        }
        Ok(())
    }
}
