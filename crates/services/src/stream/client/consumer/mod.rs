//! A consumer: a member of a named consumer that reads the partitions which it holds.

mod data;
mod membership;

use super::super::message::{Begin, Place, Request};
use super::events::Events;
use super::link::{Connect, Link, Source};
use membership::AGAIN;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Chunk, Read};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::process;

/// About so many bytes are read at a time.
const READ: u64 = 1 << 20;
/// The service is heard so often, though there is enough to read.
const LISTEN: Nanos = Nanos(100_000_000);
/// The longest that the service is asked to wait for events.
const POLL: Nanos = Nanos(20_000_000_000);

/// How a consumer is to be.
#[derive(Clone, Debug)]
pub struct ConsumerOptions {
    /// Its name; members of one name share the partitions.
    pub name: Name,
    /// The partitions that it may have; none: all.
    pub only: Option<Vec<u32>>,
    /// Where it begins where nothing was acknowledged.
    pub begin: Begin,
}

/// Where a member is in a partition that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The partition.
    pub partition: u32,
    /// The number behind the last event that was acknowledged.
    pub acknowledged: u64,
    /// The next event that is read.
    pub next: u64,
    /// The first event that there is.
    pub first: u64,
    /// The number behind the last event that there is.
    pub end: u64,
}

struct Lane {
    next: u64,
    origin: u64,
    events: Range<u64>,
    source: Box<dyn Source>,
    /// What was read and not given yet.
    ahead: Option<(Arc<Chunk>, usize, u32)>,
}

#[derive(Default)]
struct State {
    generation: u64,
    lanes: BTreeMap<u32, Lane>,
    /// The partition that had its turn last.
    turn: u32,
    /// Memory to be used again.
    spare: Option<Arc<Chunk>>,
    /// When the service was heard last.
    heard: Nanos,
    /// Since when the link is broken.
    lost: Option<Nanos>,
}

/// What was acknowledged; never locked while anybody waits.
#[derive(Default)]
struct Marks {
    /// The number behind it, by partition.
    behind: BTreeMap<u32, u64>,
    /// What was acknowledged last: partition, and the number behind.
    told: Option<(u32, u64)>,
}

/// A member of a named consumer.
pub struct Consumer {
    connect: Connect,
    link: Mutex<Arc<dyn Link>>,
    topic: Name,
    options: ConsumerOptions,
    /// Held by who pulls, also while it waits.
    pulling: Mutex<()>,
    /// Held by who connects again.
    rejoining: Mutex<()>,
    state: Mutex<State>,
    marks: Mutex<Marks>,
    closed: AtomicBool,
    made_in: u32,
}

impl Consumer {
    fn link(&self) -> Arc<dyn Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn acknowledging(&self, partition: u32, next: u64) -> Request {
        let consumer = self.options.name.clone();
        Request::Acknowledge { place: self.place(partition), consumer, next }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, partition: u32) -> Place {
        Place { topic: self.topic.clone(), partition }
    }

    /// The next events of one partition, at most `most`; none when none came in time, or it was closed.
    ///
    /// # Errors
    /// `Corrupt` when events cannot be read: the call after it goes on behind them; `Gone`, `NotFound` when the topic is.
    pub fn pull(&self, most: u32, patience: Patience<'_>) -> Result<Option<Events>> {
        process::same(self.made_in, "stream.pull", "consumer")?;
        let deadline = now().after(patience.within);
        let _one_at_a_time = self.pulling.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.closed.load(Ordering::Relaxed) {
            let left = Patience { within: deadline.since(now()), ..patience };
            let link = self.link();
            match self.attempt(most, left) {
                Ok(None) if left.within > Nanos(0) => {}
                Err(_) if self.closed.load(Ordering::Relaxed) => break,
                Err(e) if e.kind == Kind::Gone => {
                    if !self.rejoin(&link, e, left)? {
                        break;
                    }
                }
                done => return done,
            }
        }
        Ok(None)
    }

    /// Gives `events` back from index `from` on: the next `pull` returns them again. Whoever could not deliver what was pulled calls
    /// this, so that a failure between a pull and its end skips no event. Where the partition is another member's now there is
    /// nothing to do: that member begins behind what was acknowledged.
    pub fn give_back(&self, events: &Events, from: u32) {
        let next = events.first() + u64::from(from);
        let mut state = self.lock();
        let lane = state.lanes.get_mut(&events.partition).filter(|lane| lane.origin == events.origin);
        if let Some(lane) = lane.filter(|lane| next < lane.next) {
            (lane.next, lane.ahead) = (next.max(lane.events.start), None);
        }
    }

    /// The events that are there, else what has come when the service has news, or when the time is up.
    fn attempt(&self, most: u32, patience: Patience<'_>) -> Result<Option<Events>> {
        let tick = || match self.closed.load(Ordering::Relaxed) {
            true => Err(Error::new(Kind::Interrupted, "stream.pull", "the consumer was closed")),
            false => (patience.tick)(),
        };
        let patience = Patience { within: patience.within, tick: &tick };
        self.listen(patience)?;
        if let Some(events) = self.read_any(most, patience)? {
            return Ok(Some(events));
        }
        let poll = {
            let state = self.lock();
            Request::Poll {
                topic: self.topic.clone(),
                consumer: self.options.name.clone(),
                generation: state.generation,
                known: state.lanes.iter().map(|(n, lane)| (*n, lane.events.end)).collect(),
                within: patience.within.min(POLL),
            }
        };
        match self.link().ask(poll, Patience { within: patience.within.min(POLL), ..patience }) {
            Ok(news) => self.take(&mut self.lock(), news)?,
            Err(e) if e.kind == Kind::Timeout => {}
            Err(e) => return Err(e),
        }
        self.read_any(most, patience)
    }

    /// The next events of any partition, those behind the one that had its turn last first.
    fn read_any(&self, most: u32, patience: Patience<'_>) -> Result<Option<Events>> {
        let mut state = self.lock();
        let behind = state.turn + 1;
        let order: Vec<u32> =
            state.lanes.range(behind..).chain(state.lanes.range(..behind)).map(|(n, _)| *n).collect();
        for partition in order {
            match self.read(&mut state, partition, most, patience) {
                Ok(None) => {}
                Ok(events) => {
                    state.turn = partition;
                    return Ok(events);
                }
                Err(e) if e.kind == Kind::NotFound => {
                    // Retention has let go of it since: it goes on with the first that there is.
                    let before = state.lanes.get(&partition).map(|lane| lane.next);
                    drop(state);
                    self.refresh(Patience { within: patience.within.max(AGAIN), ..patience })?;
                    if self.lock().lanes.get(&partition).map(|lane| lane.next) == before {
                        return Err(e);
                    }
                    return self.read_any(most, patience);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    /// The next events of a partition, if there are any.
    fn read(
        &self,
        state: &mut State,
        partition: u32,
        most: u32,
        patience: Patience<'_>,
    ) -> Result<Option<Events>> {
        let State { lanes, spare, .. } = state;
        let Some(lane) = lanes.get_mut(&partition) else { return Ok(None) };
        loop {
            if let Some((chunk, entry, record)) = lane.ahead.take() {
                let Some(batch) = chunk.entry(entry).map(|batch| batch.header) else {
                    *spare = Some(chunk);
                    continue;
                };
                let from = record.max(lane.next.saturating_sub(batch.first).min(u64::from(u32::MAX)) as u32);
                let to = batch.content.records.min(from.saturating_add(most.max(1)));
                if from >= batch.content.records {
                    lane.ahead = Some((chunk, entry + 1, 0));
                    continue;
                }
                lane.next = batch.first + u64::from(to);
                lane.ahead = Some(match to == batch.content.records {
                    true => (chunk.clone(), entry + 1, 0),
                    false => (chunk.clone(), entry, to),
                });
                return Ok(Some(Events { chunk, entry, records: from..to, origin: lane.origin, partition }));
            }
            if lane.next >= lane.events.end {
                return Ok(None);
            }
            let bytes = spare.take().and_then(Arc::into_inner).map(Chunk::into_bytes).unwrap_or_default();
            match lane.source.entries(lane.next, lane.events.end, READ, bytes, patience) {
                Ok(Read::Entries(chunk)) => lane.ahead = Some((Arc::new(chunk), 0, 0)),
                Ok(Read::Damaged { next, why }) => {
                    lane.next = next.max(lane.next + 1);
                    return Err(why);
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// All events of a partition before `next` need not be given to this name again; a lower number changes nothing. It is
    /// remembered soon, at the latest when `close` returns; while the link is broken, when `pull` has connected again. A server that
    /// is killed before has forgotten it.
    ///
    /// # Errors
    /// `Invalid` in a forked child.
    pub fn acknowledge(&self, partition: u32, next: u64) -> Result<()> {
        process::same(self.made_in, "stream.acknowledge", "consumer")?;
        self.link().tell(self.acknowledging(partition, next));
        self.mark(partition, next);
        Ok(())
    }

    /// As `acknowledge`; when it returns, the server remembers it over its end, also when it is killed. Those of many threads are
    /// written together.
    ///
    /// # Errors
    /// `Timeout`, `NotFound` for the topic, `Gone` when the server is not there again in time; `Invalid` in a forked child.
    pub fn acknowledge_durably(&self, partition: u32, next: u64, patience: Patience<'_>) -> Result<()> {
        process::same(self.made_in, "stream.acknowledge", "consumer")?;
        let deadline = now().after(patience.within);
        self.mark(partition, next);
        loop {
            let (link, left) = (self.link(), Patience { within: deadline.since(now()), ..patience });
            match link.ask(self.acknowledging(partition, next), left) {
                Err(e) if e.kind == Kind::Gone && !self.closed.load(Ordering::Relaxed) => {
                    if !self.rejoin(&link, e.clone(), left)? {
                        return Err(e);
                    }
                }
                done => return done.map(drop),
            }
        }
    }

    fn mark(&self, partition: u32, next: u64) {
        let mut marks = self.marks();
        marks.told = Some((partition, next));
        if let Some(behind) = marks.behind.get_mut(&partition) {
            *behind = next.max(*behind);
        }
    }

    /// Reads a partition from event `next` on; what was acknowledged stays so.
    ///
    /// # Errors
    /// `Invalid` when it is not held, or there is no such event and it is not the next to come.
    pub fn seek(&self, partition: u32, next: u64, patience: Patience<'_>) -> Result<()> {
        self.refresh(patience)?;
        let mut state = self.lock();
        let lane = self.lane(&mut state, partition)?;
        if next < lane.events.start || next > lane.events.end {
            let Range { start, end } = lane.events;
            let detail = format!("event {next} of partition {partition}; accepted are {start} to {end}");
            return Err(Error::new(Kind::Invalid, "stream.seek", detail));
        }
        (lane.next, lane.ahead) = (next, None);
        lane.source = self.link().source(&self.place(partition));
        Ok(())
    }

    /// Reads a partition from the first event on that was appended at `time`, in nanoseconds since 1970, or later.
    ///
    /// # Errors
    /// As `seek`.
    pub fn seek_time(&self, partition: u32, time: Nanos, patience: Patience<'_>) -> Result<()> {
        process::same(self.made_in, "stream.seek", "consumer")?;
        self.lane(&mut self.lock(), partition)?;
        let next = self.link().first_since(&self.place(partition), time, patience)?;
        self.seek(partition, next, patience)
    }

    /// Who reads what is there already hears in time that another member has a partition now.
    fn listen(&self, patience: Patience<'_>) -> Result<()> {
        let heard = self.lock().heard;
        if now() < heard.after(LISTEN) {
            return Ok(());
        }
        match self.refresh(Patience { within: LISTEN, ..patience }) {
            Err(e) if e.kind == Kind::Timeout => Ok(()),
            heard => heard,
        }
    }

    /// Whether it holds a partition, as far as it has heard within the last tenth of a second.
    ///
    /// # Errors
    /// What the link says.
    pub fn holds(&self, partition: u32, patience: Patience<'_>) -> Result<bool> {
        self.listen(patience)?;
        Ok(self.lock().lanes.contains_key(&partition))
    }

    fn lane<'s>(&self, state: &'s mut State, partition: u32) -> Result<&'s mut Lane> {
        let held: Vec<u32> = state.lanes.keys().copied().collect();
        state.lanes.get_mut(&partition).ok_or_else(|| {
            let detail =
                format!("partition {partition}, which this consumer does not hold; it holds {held:?}");
            Error::new(Kind::Invalid, "stream.seek", detail)
        })
    }

    fn refresh(&self, patience: Patience<'_>) -> Result<()> {
        process::same(self.made_in, "stream.seek", "consumer")?;
        let poll = Request::Poll {
            topic: self.topic.clone(),
            consumer: self.options.name.clone(),
            // No generation: it is answered at once.
            generation: u64::MAX,
            known: Vec::new(),
            within: patience.within.min(POLL),
        };
        let news = self.link().ask(poll, patience)?;
        self.take(&mut self.lock(), news)
    }

    /// Where it is in the partitions that it holds now.
    ///
    /// # Errors
    /// What the link says.
    pub fn positions(&self, patience: Patience<'_>) -> Result<Vec<Position>> {
        self.refresh(patience)?;
        let state = self.lock();
        let marks = self.marks();
        let position = |(partition, lane): (&u32, &Lane)| Position {
            partition: *partition,
            acknowledged: marks.behind.get(partition).copied().unwrap_or(lane.events.start),
            next: lane.next,
            first: lane.events.start,
            end: lane.events.end,
        };
        Ok(state.lanes.iter().map(position).collect())
    }

    /// Leaves, and wakes who pulls; what was acknowledged is remembered when this returns. With `forget` the name is forgotten
    /// with all that it has acknowledged, where no other member has it.
    ///
    /// # Errors
    /// What the link says.
    pub fn close(&self, forget: bool, patience: Patience<'_>) -> Result<()> {
        process::same(self.made_in, "stream.close", "consumer")?;
        if self.closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // What is remembered is remembered in order: when the last is, all is.
        let last = self.marks().told.take().filter(|_| !forget);
        if let Some((partition, next)) = last {
            self.link().ask(self.acknowledging(partition, next), patience)?;
        }
        self.link().ask(self.leaving(forget), patience).map(drop)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // A forked child's copy is not the member that its parent is.
        if !self.closed.swap(true, Ordering::Relaxed) && process::id() == self.made_in {
            self.link().tell(self.leaving(false));
        }
    }
}
