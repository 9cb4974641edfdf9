//! A named consumer: its members share the partitions of a topic, and what one has acknowledged none gets again.

use super::super::message::{Begin, Held, Reply};
use super::partition::Partition;
use super::Output;
use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::BTreeSet;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// A poll that waits.
#[derive(Clone, Debug)]
struct Waiting {
    id: u64,
    deadline: Nanos,
    known: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug)]
struct Member {
    only: Option<BTreeSet<u32>>,
    waiting: Option<Waiting>,
}

impl Member {
    fn may_have(&self, partition: u32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&partition))
    }
}

/// A partition changes hands when the member that had it has heard of it, at the latest after this.
pub(super) const HANDOVER: Nanos = Nanos(1_000_000_000);

/// A named consumer of one topic.
#[derive(Clone, Debug, Default)]
pub struct Consumer {
    /// The first event of each partition that was not acknowledged.
    pub positions: BTreeMap<u32, u64>,
    members: BTreeMap<PeerId, Member>,
    owners: BTreeMap<u32, PeerId>,
    /// The partitions whose former owner has not heard yet that it lost them, with when its time is up.
    leaving: BTreeMap<u32, (PeerId, Nanos)>,
    generation: u64,
}

impl Consumer {
    /// Takes a member in; the partitions in which it has no position yet get one.
    ///
    /// # Errors
    /// `Exists` when the client is one already, `Invalid` for a partition that is not there.
    pub fn join(
        &mut self,
        peer: PeerId,
        only: Option<BTreeSet<u32>>,
        begin: Begin,
        (now, partitions): (Nanos, &[Partition]),
        out: &mut Vec<Output>,
    ) -> Result<Vec<u32>> {
        if self.members.contains_key(&peer) {
            let detail = "this client is a member already; use another client for another member";
            return Err(Error::new(Kind::Exists, "stream.join", detail));
        }
        if let Some(n) = only.iter().flatten().find(|n| **n as usize >= partitions.len()) {
            let detail = format!("partition {n}; the topic has 0 to {}", partitions.len() - 1);
            return Err(Error::new(Kind::Invalid, "stream.join", detail));
        }
        self.members.insert(peer, Member { only, waiting: None });
        let fresh = self.begin(begin, partitions);
        self.share(now, partitions, out);
        Ok(fresh)
    }

    /// Gives the partitions that have no position one; which they are.
    pub fn begin(&mut self, begin: Begin, partitions: &[Partition]) -> Vec<u32> {
        let fresh = |p: &&Partition| !self.positions.contains_key(&p.id.partition) && p.is_open();
        let fresh: Vec<(u32, u64)> = partitions
            .iter()
            .filter(fresh)
            .map(|p| match begin {
                Begin::First => (p.id.partition, p.events.start),
                Begin::Next => (p.id.partition, p.events.end),
            })
            .collect();
        self.positions.extend(fresh.iter().copied());
        fresh.into_iter().map(|(partition, _)| partition).collect()
    }

    /// Moves its position in an open partition back to the end of its events, where it is beyond; the position then.
    pub fn at_most(&mut self, partition: u32, partitions: &[Partition]) -> Option<u64> {
        let opened = partitions.get(partition as usize).filter(|p| p.is_open())?;
        let position = self.positions.get_mut(&partition).filter(|next| **next > opened.events.end)?;
        *position = opened.events.end;
        Some(*position)
    }

    /// Shares the partitions among the members: as few as possible change hands, and nobody has two more than another
    /// who may have them.
    pub fn share(&mut self, now: Nanos, partitions: &[Partition], out: &mut Vec<Output>) {
        let before = self.owners.clone();
        let members = &self.members;
        self.owners.retain(|partition, peer| members.get(peer).is_some_and(|m| m.may_have(*partition)));
        let mut load: BTreeMap<PeerId, usize> = members.keys().map(|peer| (*peer, 0)).collect();
        self.owners.values().for_each(|peer| *load.entry(*peer).or_default() += 1);
        let least = |load: &BTreeMap<PeerId, usize>, partition: u32| {
            let may = load.iter().filter(|(peer, _)| members[*peer].may_have(partition));
            may.min_by_key(|(_, n)| **n).map(|(peer, n)| (*peer, *n))
        };
        for partition in partitions.iter().map(|p| p.id.partition) {
            let Entry::Vacant(place) = self.owners.entry(partition) else { continue };
            if let Some((peer, _)) = least(&load, partition) {
                place.insert(peer);
                *load.entry(peer).or_default() += 1;
            }
        }
        loop {
            // Who asked for certain partitions keeps them.
            let shared = |owner: &PeerId| members.get(owner).is_some_and(|member| member.only.is_none());
            let uneven =
                self.owners.iter().filter(|(_, owner)| shared(owner)).find_map(|(partition, owner)| {
                    let (peer, n) = least(&load, *partition)?;
                    (load[owner] > n + 1).then_some((*partition, *owner, peer))
                });
            let Some((partition, owner, peer)) = uneven else { break };
            self.owners.insert(partition, peer);
            *load.entry(owner).or_default() -= 1;
            *load.entry(peer).or_default() += 1;
        }
        for (partition, owner) in &self.owners {
            let former = self.leaving.get(partition).map(|(peer, _)| *peer);
            let former = former.or_else(|| before.get(partition).copied());
            match former.filter(|peer| peer != owner && self.members.contains_key(peer)) {
                Some(peer) => drop(self.leaving.entry(*partition).or_insert((peer, now.after(HANDOVER)))),
                None => drop(self.leaving.remove(partition)),
            }
        }
        if self.owners != before {
            self.generation += 1;
            let waiting: Vec<PeerId> = self.members.keys().copied().collect();
            waiting.into_iter().for_each(|peer| self.tell(peer, partitions, out));
        }
    }

    fn holds(&self, peer: PeerId, partition: u32) -> bool {
        self.owners.get(&partition) == Some(&peer) && !self.leaving.contains_key(&partition)
    }

    /// Those to whom `heard` applies know what they lost: the new owners are told.
    fn hand_over(
        &mut self,
        heard: impl Fn(PeerId, Nanos) -> bool,
        partitions: &[Partition],
        out: &mut Vec<Output>,
    ) {
        let free =
            |(partition, (peer, until)): (&u32, &(PeerId, Nanos))| heard(*peer, *until).then_some(*partition);
        let free: Vec<u32> = self.leaving.iter().filter_map(free).collect();
        for partition in free {
            self.leaving.remove(&partition);
            self.more(partition, partitions, out);
        }
    }

    /// What a member holds.
    pub fn news(&self, peer: PeerId, partitions: &[Partition]) -> Reply {
        let held = partitions.iter().filter(|p| self.holds(peer, p.id.partition));
        let held = held.map(|p| {
            let next = self.positions.get(&p.id.partition).copied().unwrap_or(p.events.start);
            let (partition, next) = (p.id.partition, next.max(p.events.start));
            Held { partition, next, events: p.events.clone(), origin: p.origin }
        });
        Reply::News { generation: self.generation, held: held.collect() }
    }

    /// A member waits for news; the reply where there are some.
    ///
    /// # Errors
    /// `NotFound` when the client is no member.
    pub fn poll(
        &mut self,
        (peer, id): (PeerId, u64),
        generation: u64,
        known: BTreeMap<u32, u64>,
        deadline: Nanos,
        partitions: &[Partition],
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        let more = |p: &Partition| {
            let end = known.get(&p.id.partition);
            self.holds(peer, p.id.partition) && end.is_none_or(|end| *end < p.events.end)
        };
        let news = generation != self.generation || partitions.iter().any(more);
        if news && self.members.contains_key(&peer) {
            self.hand_over(|former, _| former == peer, partitions, out);
            return Ok(Some(self.news(peer, partitions)));
        }
        let Some(member) = self.members.get_mut(&peer) else {
            return Err(Error::new(Kind::NotFound, "stream.poll", "this client is no member; join first"));
        };
        // Of two polls at a time the first is answered now.
        let earlier = member.waiting.replace(Waiting { id, deadline, known });
        Ok(earlier.map(|_| self.news(peer, partitions)))
    }

    fn tell(&mut self, peer: PeerId, partitions: &[Partition], out: &mut Vec<Output>) {
        let waiting = self.members.get_mut(&peer).and_then(|member| member.waiting.take());
        if let Some(Waiting { id, .. }) = waiting {
            out.push(Output::Send { to: peer, id, reply: self.news(peer, partitions) });
            self.hand_over(|former, _| former == peer, partitions, out);
        }
    }

    /// Partition `partition` has more events.
    pub fn more(&mut self, partition: u32, partitions: &[Partition], out: &mut Vec<Output>) {
        let Some(owner) = self.owners.get(&partition).copied() else { return };
        if !self.holds(owner, partition) {
            return;
        }
        let end = partitions.get(partition as usize).map_or(0, |p| p.events.end);
        let beyond = |w: &Waiting| w.known.get(&partition).is_none_or(|known| *known < end);
        let waits = self.members.get(&owner).and_then(|member| member.waiting.as_ref());
        if waits.is_some_and(beyond) {
            self.tell(owner, partitions, out);
        }
    }

    /// Answers those whose time is up.
    pub fn tick(&mut self, now: Nanos, partitions: &[Partition], out: &mut Vec<Output>) {
        let up = |member: &Member| member.waiting.as_ref().is_some_and(|w| w.deadline <= now);
        let up: Vec<PeerId> = self.members.iter().filter(|(_, m)| up(m)).map(|(peer, _)| *peer).collect();
        up.into_iter().for_each(|peer| self.tell(peer, partitions, out));
        self.hand_over(|_, until| until <= now, partitions, out);
    }

    /// When the first wait ends.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let waits = self.members.values().filter_map(|member| member.waiting.as_ref()).map(|w| w.deadline);
        waits.chain(self.leaving.values().map(|(_, until)| *until)).min()
    }

    /// A client waits no more for request `id`.
    pub fn cancel(&mut self, peer: PeerId, id: u64) {
        if let Some(member) = self.members.get_mut(&peer) {
            member.waiting.take_if(|w| w.id == id);
        }
    }

    /// A member leaves.
    pub fn leave(&mut self, peer: PeerId, now: Nanos, partitions: &[Partition], out: &mut Vec<Output>) {
        if self.members.remove(&peer).is_some() {
            self.hand_over(|former, _| former == peer, partitions, out);
            self.share(now, partitions, out);
        }
    }

    /// Whether nobody takes part.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The topic is gone.
    pub fn removed(self, out: &mut Vec<Output>) {
        for (to, member) in self.members {
            if let Some(Waiting { id, .. }) = member.waiting {
                let e = Error::new(Kind::NotFound, "stream.poll", "the topic has been deleted");
                out.push(Output::Send { to, id, reply: Reply::Failed(e) });
            }
        }
    }

    /// What must hold after every step.
    pub fn invariants(&self, partitions: &[Partition]) -> std::result::Result<(), String> {
        if let Some((partition, peer)) = self.owners.iter().find(|(_, peer)| !self.members.contains_key(peer))
        {
            return Err(format!("partition {partition} is with client {peer:?}, which is no member"));
        }
        let ownerless = |p: &&Partition| !self.owners.contains_key(&p.id.partition);
        for partition in partitions.iter().filter(ownerless).map(|p| p.id.partition) {
            if self.members.values().any(|member| member.may_have(partition)) {
                return Err(format!("nobody has partition {partition}"));
            }
        }
        Ok(())
    }
}
