//! A partition: batches wait in line, are appended a group at a time, and become visible.

use super::super::definition::{Durability, Partition as Definition, Retention};
use super::super::message::{Batch, Reply, BATCHES_MAX};
use super::producers::{Producers, Turn, Written};
use super::{Outcome, Output, Owner, PartitionId};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// The most data of a batch that lie with their metadata.
const INLINE_MAX: Bytes = Bytes(64 << 20);
/// The most data of a batch that lie apart.
const DATA_MAX: Bytes = Bytes(1 << 40);
/// The most batches that are appended together.
const GROUP_MAX: usize = 64;
/// How often a batch that is under way may be sent again.
const ASKERS_MAX: usize = 16;
/// How long to wait before a journal that failed is opened again.
const AGAIN: Nanos = Nanos(1_000_000_000);

/// Who is to be told of a request's end.
pub type Asker = (PeerId, u64);

/// A batch that is under way.
#[derive(Clone, Debug)]
struct UnderWay {
    peer: PeerId,
    batch: Batch,
    /// Who asked for it; several when it was sent again.
    askers: Vec<Asker>,
}

/// Whether its journal can be used.
#[derive(Clone, Debug)]
enum Status {
    /// It is being opened, under this number.
    Opening(u64),
    /// It can.
    Open,
    /// It cannot; tried again at this time.
    Failed(Error, Nanos),
}

/// What may be let go of: events appended before a time of day, and those before one that no consumer needs.
type Outdated = (Option<Nanos>, Option<u64>);

/// One partition.
#[derive(Debug)]
pub struct Partition {
    /// Its number.
    pub id: PartitionId,
    /// How it is to be.
    pub definition: Definition,
    owner: Arc<Owner>,
    /// The events that can be read.
    pub events: Range<u64>,
    /// Of which journal they are.
    pub origin: u64,
    status: Status,
    producers: Producers,
    line: VecDeque<UnderWay>,
    /// What is being appended, and under which number.
    group: Option<(u64, Vec<UnderWay>)>,
    /// Since when there is something that might not survive the machine.
    unsafe_since: Option<Nanos>,
    syncing: Option<u64>,
    retaining: Option<u64>,
    /// Something is to be let go of as soon as the journal is free.
    retain: Option<Outdated>,
    /// So many batches are appended one at a time, as one of them could not be.
    singly: usize,
}

fn answer(askers: &[Asker], reply: &Reply, out: &mut Vec<Output>) {
    out.extend(askers.iter().map(|(to, id)| Output::Send { to: *to, id: *id, reply: reply.clone() }));
}

impl Partition {
    /// One whose journal is to be opened.
    pub fn new(
        id: PartitionId,
        definition: Definition,
        owner: Arc<Owner>,
        number: u64,
        out: &mut Vec<Output>,
    ) -> Partition {
        let opened = (definition.clone(), owner.clone());
        out.push(Output::Open { number, partition: id, definition: opened.0, owner: opened.1 });
        Partition {
            id,
            definition,
            owner,
            events: 0..0,
            origin: 0,
            status: Status::Opening(number),
            producers: Producers::default(),
            line: VecDeque::new(),
            group: None,
            unsafe_since: None,
            syncing: None,
            retaining: None,
            retain: None,
            singly: 0,
        }
    }

    /// Why it cannot be used, if it cannot.
    pub fn failure(&self) -> Option<&Error> {
        match &self.status {
            Status::Failed(e, _) => Some(e),
            _ => None,
        }
    }

    /// Whether its journal can be used.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::Open)
    }

    /// Whether its journal is still to be opened.
    pub fn is_opening(&self) -> bool {
        matches!(self.status, Status::Opening(_))
    }

    /// Takes a batch in; the reply if there is one at once.
    ///
    /// # Errors
    /// `Full`, `Protocol`, or why the partition cannot be used.
    pub fn produce(&mut self, asker: Asker, batch: Batch) -> Result<Option<Reply>> {
        let most = if batch.apart { DATA_MAX } else { INLINE_MAX };
        if batch.data_bytes > most.0 {
            let (met, apart) = (Bytes(batch.data_bytes), if batch.apart { " apart" } else { "" });
            let detail = format!("a batch with {met} of data{apart}; accepted are at most {most}");
            return Err(Error::new(Kind::Invalid, "stream.produce", detail));
        }
        if let Status::Failed(e, _) = &self.status {
            return Err(e.clone());
        }
        // Only an open journal knows what was appended before.
        let turn = if self.is_opening() { Turn::Next } else { self.producers.turn(&batch)? };
        match turn {
            Turn::Before(first) => return Ok(Some(Reply::Produced(first))),
            Turn::UnderWay => {
                let group = self.group.iter_mut().flat_map(|(_, group)| group);
                let mut all = group.chain(&mut self.line);
                let same = |u: &&mut UnderWay| {
                    u.batch.producer == batch.producer
                        && u.batch.sequence == batch.sequence
                        && u.batch.events == batch.events
                };
                let Some(same) = all.find(same) else {
                    let detail = format!(
                        "event {} of producer {:x} is under way in another batch",
                        batch.sequence, batch.producer
                    );
                    return Err(Error::new(Kind::Protocol, "stream.produce", detail));
                };
                if same.askers.len() >= ASKERS_MAX {
                    let detail = format!("this batch was sent {ASKERS_MAX} times already; wait for its end");
                    return Err(Error::new(Kind::Full, "stream.produce", detail));
                }
                same.askers.push(asker);
            }
            Turn::Next => {
                if self.line.iter().filter(|u| u.peer == asker.0).count() >= BATCHES_MAX {
                    let detail = format!("{BATCHES_MAX} batches of this client wait; wait for their ends");
                    return Err(Error::new(Kind::Full, "stream.produce", detail));
                }
                if !self.is_opening() {
                    self.producers.begun(&batch);
                }
                self.line.push_back(UnderWay { peer: asker.0, batch, askers: vec![asker] });
            }
        }
        Ok(None)
    }

    /// Whether something is being done with its journal.
    fn is_busy(&self) -> bool {
        self.group.is_some() || self.syncing.is_some() || self.retaining.is_some()
    }

    /// Gives the journal something to do, if it is free: first what it is time for, so that no load puts it off; `number` is
    /// that of the output.
    pub fn advance(&mut self, now: Nanos, number: &mut u64, out: &mut Vec<Output>) {
        if !matches!(self.status, Status::Open) || self.is_busy() {
            return;
        }
        *number += 1;
        if self.safe_at().is_some_and(|at| at <= now) {
            self.syncing = Some(*number);
            out.push(Output::Sync { number: *number, partition: self.id });
            return;
        }
        if let Some((since, before)) = self.retain.take() {
            self.retaining = Some(*number);
            let Retention { bytes, .. } = self.definition.retention;
            out.push(Output::Retain { number: *number, partition: self.id, since, bytes, before });
            return;
        }
        if self.line.is_empty() {
            return;
        }
        let most = if self.singly > 0 { 1 } else { GROUP_MAX };
        self.singly = self.singly.saturating_sub(1);
        let group: Vec<UnderWay> = self.line.drain(..self.line.len().min(most)).collect();
        out.push(Output::Append {
            number: *number,
            partition: self.id,
            batches: group.iter().map(|u| (u.peer, u.batch)).collect(),
            sync: self.definition.durability == Durability::Always,
        });
        self.group = Some((*number, group));
    }

    /// Something that was to be done has come to its end; whether it was for this partition.
    pub fn done(
        &mut self,
        now: Nanos,
        number: u64,
        outcome: &Result<Outcome>,
        out: &mut Vec<Output>,
    ) -> bool {
        if matches!(self.status, Status::Opening(n) if n == number) {
            self.opened(now, outcome, out);
            return true;
        }
        if self.group.as_ref().is_some_and(|(n, _)| *n == number) {
            let group = self.group.take().map(|(_, group)| group).unwrap_or_default();
            self.appended(now, group, outcome, out);
            return true;
        }
        if self.syncing == Some(number) {
            self.syncing = None;
            match outcome {
                Ok(_) => self.unsafe_since = None,
                Err(e) => self.fail(now, e.clone(), out),
            }
            return true;
        }
        if self.retaining == Some(number) {
            self.retaining = None;
            // What could not be let go of is tried again.
            if let Ok(Outcome::Retained(first)) = outcome {
                self.events.start = self.events.start.max(*first).min(self.events.end);
            }
            return true;
        }
        false
    }

    fn opened(&mut self, now: Nanos, outcome: &Result<Outcome>, out: &mut Vec<Output>) {
        let (events, origin, written) = match outcome {
            Ok(Outcome::Opened { events, origin, written }) => (events.clone(), *origin, written),
            Ok(_) => return self.fail(now, Error::new(Kind::Io, "stream.open", "no journal"), out),
            Err(e) => return self.fail(now, e.clone(), out),
        };
        (self.events, self.origin) = (events, origin);
        self.producers = Producers::of(written);
        self.status = Status::Open;
        // What came meanwhile is looked at as if it came now.
        for UnderWay { peer, batch, askers } in std::mem::take(&mut self.line) {
            let Some(first) = askers.first().copied() else { continue };
            debug_assert_eq!(first.0, peer);
            match self.produce(first, batch) {
                Ok(None) => {}
                Ok(Some(reply)) => answer(&askers, &reply, out),
                Err(e) => answer(&askers, &Reply::Failed(e), out),
            }
        }
    }

    fn appended(
        &mut self,
        now: Nanos,
        group: Vec<UnderWay>,
        outcome: &Result<Outcome>,
        out: &mut Vec<Output>,
    ) {
        match outcome {
            Ok(Outcome::Appended(firsts)) if firsts.len() == group.len() => {
                for (UnderWay { batch, askers, .. }, first) in group.into_iter().zip(firsts) {
                    let Batch { producer, sequence, events, .. } = batch;
                    self.producers.appended(Written { producer, sequence, events, first: *first });
                    self.events.end = self.events.end.max(first + u64::from(events));
                    answer(&askers, &Reply::Produced(*first), out);
                }
                if let Durability::Interval(_) = self.definition.durability {
                    self.unsafe_since.get_or_insert(now);
                }
            }
            // One of them could not be, or there was no room for all: each by itself.
            Ok(Outcome::Refused(_)) if group.len() > 1 => {
                self.singly = group.len();
                group.into_iter().rev().for_each(|under_way| self.line.push_front(under_way));
            }
            Ok(Outcome::Refused(e)) => self.refuse(group, e, out),
            outcome => {
                let other = || Error::new(Kind::Io, "stream.produce", "the journal said something else");
                let e = outcome.as_ref().err().cloned().unwrap_or_else(other);
                self.refuse(group, &e, out);
                self.fail(now, e, out);
            }
        }
    }

    /// The batches of `group` have not been appended.
    fn refuse(&mut self, group: Vec<UnderWay>, e: &Error, out: &mut Vec<Output>) {
        let producers: BTreeSet<u64> = group.iter().map(|u| u.batch.producer).collect();
        // What waits behind a batch that failed would leave a gap.
        let (behind, others) = self.line.drain(..).partition(|u| producers.contains(&u.batch.producer));
        self.line = others;
        let behind: VecDeque<UnderWay> = behind;
        for UnderWay { batch, askers, .. } in group.into_iter().chain(behind) {
            self.producers.failed(&batch);
            answer(&askers, &Reply::Failed(e.clone()), out);
        }
    }

    /// The journal cannot be used: it is opened again later.
    fn fail(&mut self, now: Nanos, e: Error, out: &mut Vec<Output>) {
        for UnderWay { batch, askers, .. } in std::mem::take(&mut self.line) {
            self.producers.failed(&batch);
            answer(&askers, &Reply::Failed(e.clone()), out);
        }
        self.unsafe_since = None;
        self.status = Status::Failed(e, now.after(AGAIN));
    }

    /// Does what it is time for. Events appended before the time of day `since` are too old; `before` is up to where every consumer
    /// has acknowledged.
    pub fn tick(&mut self, now: Nanos, (since, before): Outdated, number: &mut u64, out: &mut Vec<Output>) {
        match self.status {
            Status::Opening(_) => return,
            Status::Failed(_, at) => {
                if at <= now && !self.is_busy() {
                    *number += 1;
                    out.push(Output::Close { partition: self.id });
                    let (definition, owner) = (self.definition.clone(), self.owner.clone());
                    out.push(Output::Open { number: *number, partition: self.id, definition, owner });
                    self.status = Status::Opening(*number);
                }
                return;
            }
            Status::Open => {}
        }
        let retention = self.definition.retention;
        let before = before.filter(|before| retention.acknowledged && *before > self.events.start);
        let old = since.is_some() || retention.bytes.is_some();
        if before.is_some() || (old && !self.events.is_empty()) {
            self.retain = Some((since, before));
        }
        self.advance(now, number, out);
    }

    fn safe_at(&self) -> Option<Nanos> {
        match (self.definition.durability, self.unsafe_since) {
            (Durability::Interval(interval), Some(since)) => Some(since.after(interval)),
            _ => None,
        }
    }

    /// When something is to be done next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        match &self.status {
            Status::Failed(_, at) => Some(*at),
            // While the journal is busy its end is waited for.
            _ => self.safe_at().filter(|_| !self.is_busy()),
        }
    }

    /// A client is gone: what it has in line lies in memory that is gone with it.
    pub fn gone(&mut self, peer: PeerId, out: &mut Vec<Output>) {
        let mut missing: Vec<Batch> = Vec::new();
        let lost = |missing: &[Batch], u: &UnderWay| {
            // Behind what is gone there is a gap, also where another client says it is the same producer.
            let gap = |m: &Batch| m.producer == u.batch.producer && m.sequence < u.batch.sequence;
            u.peer == peer || missing.iter().any(gap)
        };
        while let Some(at) = self.line.iter().position(|u| lost(&missing, u)) {
            let Some(UnderWay { batch, mut askers, .. }) = self.line.remove(at) else { break };
            self.producers.failed(&batch);
            missing.push(batch);
            askers.retain(|(asker, _)| *asker != peer);
            let detail = "the client that sent this batch first is gone, with its memory; send it again";
            let e = Error::new(Kind::Interrupted, "stream.produce", detail);
            answer(&askers, &Reply::Failed(e), out);
        }
        for under_way in self.group.iter_mut().flat_map(|(_, group)| group).chain(&mut self.line) {
            under_way.askers.retain(|(asker, _)| *asker != peer);
        }
    }

    /// It is removed: nobody waits for it any more. The number of what is still being done with its journal.
    pub fn removed(self, out: &mut Vec<Output>) -> Option<u64> {
        let opening = if let Status::Opening(number) = self.status { Some(number) } else { None };
        let appending = self.group.as_ref().map(|(number, _)| *number);
        let busy = opening.or(appending).or(self.syncing).or(self.retaining);
        let e = Error::new(Kind::NotFound, "stream.produce", "the topic has been deleted");
        let group = self.group.into_iter().flat_map(|(_, group)| group);
        for UnderWay { askers, .. } in group.chain(self.line) {
            answer(&askers, &Reply::Failed(e.clone()), out);
        }
        busy
    }

    /// What must hold after every step.
    pub fn invariants(&self) -> std::result::Result<(), String> {
        if self.events.start > self.events.end {
            return Err(format!("partition {:?} has events {:?}", self.id, self.events));
        }
        if self.producers.len() > super::PRODUCERS_MAX * 2 + GROUP_MAX + self.line.len() {
            return Err(format!("{} producers are remembered", self.producers.len()));
        }
        let stuck = self.is_open() && !self.is_busy() && !self.line.is_empty();
        if stuck {
            return Err(format!("partition {:?}: batches wait for nothing", self.id));
        }
        Ok(())
    }
}
