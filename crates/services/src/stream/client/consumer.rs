//! A consumer: a member of a named consumer that reads the partitions which it holds.

use super::super::message::{Begin, Held, Place, Reply, Request};
use super::events::Events;
use super::link::{unexpected, Connect, Link, Source};
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
/// So long it is tried to connect again after the link broke.
const RECOVER: Nanos = Nanos(5_000_000_000);
/// And so often.
const AGAIN: Nanos = Nanos(50_000_000);
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
    acknowledged: u64,
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
    /// What was acknowledged last: partition, and the number behind.
    told: Option<(u32, u64)>,
    /// Since when the link is broken.
    lost: Option<Nanos>,
}

/// A member of a named consumer.
pub struct Consumer {
    connect: Connect,
    link: Mutex<Arc<dyn Link>>,
    topic: Name,
    options: ConsumerOptions,
    /// Held by who pulls, also while it waits.
    pulling: Mutex<()>,
    state: Mutex<State>,
    closed: AtomicBool,
    made_in: u32,
}

impl Consumer {
    /// Joins.
    ///
    /// # Errors
    /// `NotFound` for a topic that is not there, or what the link says.
    pub fn join(
        connect: Connect,
        topic: Name,
        options: ConsumerOptions,
        patience: Patience<'_>,
    ) -> Result<Consumer> {
        let link = Mutex::new(connect(patience)?);
        let (pulling, state, closed) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let consumer =
            Consumer { connect, link, topic, options, pulling, state, closed, made_in: process::id() };
        let news = consumer.link().ask(consumer.joining(), patience)?;
        consumer.take(&mut consumer.lock(), news)?;
        Ok(consumer)
    }

    fn joining(&self) -> Request {
        let ConsumerOptions { name, only, begin } = self.options.clone();
        Request::Join { topic: self.topic.clone(), consumer: name, only, begin }
    }

    fn link(&self) -> Arc<dyn Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The link broke: connects again, as long as the patience lasts, and goes on where it was; false when nobody answered yet.
    ///
    /// # Errors
    /// `e` when nobody has answered for long, or why it cannot join.
    fn rejoin(&self, e: Error, patience: Patience<'_>) -> Result<bool> {
        let deadline = now().after(patience.within);
        let lost = *self.lock().lost.get_or_insert_with(now);
        while now() < lost.after(RECOVER) && !self.closed.load(Ordering::Relaxed) {
            let left = deadline.since(now());
            let joined = (self.connect)(Patience { within: left.max(AGAIN), ..patience })
                .and_then(|link| Ok((link.ask(self.joining(), patience)?, link)));
            match joined {
                Ok((news, link)) => {
                    *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link.clone();
                    let mut state = self.lock();
                    // Another service counts from the beginning.
                    (state.lost, state.generation) = (None, 0);
                    self.take(&mut state, news)?;
                    for (partition, lane) in &mut state.lanes {
                        lane.source = link.source(&self.place(*partition));
                        (lane.next, lane.ahead) = (lane.next.min(lane.events.end), None);
                        // What was acknowledged on the link that broke may not have arrived.
                        link.tell(self.acknowledging(*partition, lane.acknowledged.min(lane.events.end)));
                    }
                    return Ok(true);
                }
                Err(e) if !matches!(e.kind, Kind::Gone | Kind::Timeout) => return Err(e),
                Err(_) if left <= AGAIN => return Ok(false),
                Err(_) => {
                    (patience.tick)()?;
                    std::thread::sleep(AGAIN.duration());
                }
            }
        }
        // The next pull tries as long again.
        self.lock().lost = None;
        Err(e)
    }

    fn acknowledging(&self, partition: u32, next: u64) -> Request {
        let consumer = self.options.name.clone();
        Request::Acknowledge { place: self.place(partition), consumer, next }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, partition: u32) -> Place {
        Place { topic: self.topic.clone(), partition }
    }

    fn take(&self, state: &mut State, news: Reply) -> Result<()> {
        let Reply::News { generation, held } = news else { return Err(unexpected(&news)) };
        if generation < state.generation {
            // An answer that was overtaken by a newer one.
            return Ok(());
        }
        state.generation = generation;
        state.lanes.retain(|partition, _| held.iter().any(|h| h.partition == *partition));
        for Held { partition, next, events } in held {
            let lane = state.lanes.entry(partition).or_insert_with(|| Lane {
                next,
                acknowledged: next,
                events: events.clone(),
                source: self.link().source(&self.place(partition)),
                ahead: None,
            });
            lane.events = events;
            lane.acknowledged = lane.acknowledged.max(next);
            // What retention has let go of cannot be read any more.
            lane.next = lane.next.max(lane.events.start);
        }
        Ok(())
    }

    /// The next events of one partition, at most `most`; none when none came in time, or it was closed.
    ///
    /// # Errors
    /// `Corrupt` when events cannot be read: the call after it goes on behind them; `Gone`, `NotFound` when the topic is.
    pub fn pull(&self, most: u32, patience: Patience<'_>) -> Result<Option<Events>> {
        process::same(self.made_in, "stream.pull", "consumer")?;
        let deadline = now().after(patience.within);
        let _one_at_a_time = self.pulling.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut state = self.lock();
            if self.closed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let behind = state.turn + 1;
            let order: Vec<u32> =
                state.lanes.range(behind..).chain(state.lanes.range(..behind)).map(|(n, _)| *n).collect();
            let mut broken = None;
            for partition in order {
                match self.read(&mut state, partition, most, patience) {
                    Ok(Some(events)) => {
                        state.turn = partition;
                        return Ok(Some(events));
                    }
                    Ok(None) => {}
                    Err(e) if matches!(e.kind, Kind::Gone | Kind::NotFound) => {
                        broken = Some((e, partition, state.lanes.get(&partition).map(|lane| lane.next)));
                        break;
                    }
                    Err(e) => return Err(e),
                }
            }
            if let Some((e, partition, before)) = broken.take_if(|(e, ..)| e.kind == Kind::NotFound) {
                // Retention has let go of it since: it goes on with the first that there is.
                drop(state);
                self.refresh(Patience { within: deadline.since(now()).max(AGAIN), ..patience })?;
                if self.lock().lanes.get(&partition).map(|lane| lane.next) == before {
                    return Err(e);
                }
                continue;
            }
            if let Some((e, ..)) = broken {
                drop(state);
                match self.rejoin(e, Patience { within: deadline.since(now()), ..patience })? {
                    true => continue,
                    false => return Ok(None),
                }
            }
            let left = deadline.since(now());
            let poll = Request::Poll {
                topic: self.topic.clone(),
                consumer: self.options.name.clone(),
                generation: state.generation,
                known: state.lanes.iter().map(|(n, lane)| (*n, lane.events.end)).collect(),
                within: left.min(POLL),
            };
            drop(state);
            let tick = || match self.closed.load(Ordering::Relaxed) {
                true => Err(Error::new(Kind::Interrupted, "stream.pull", "the consumer was closed")),
                false => (patience.tick)(),
            };
            let asked = self.link().ask(poll, Patience { within: left.min(POLL), tick: &tick });
            if let Err(e) = &asked {
                if e.kind == Kind::Gone && !self.closed.load(Ordering::Relaxed) {
                    match self.rejoin(e.clone(), Patience { within: deadline.since(now()), ..patience })? {
                        true => continue,
                        false => return Ok(None),
                    }
                }
            }
            let mut state = self.lock();
            match asked {
                Ok(news) => self.take(&mut state, news)?,
                Err(e) if e.kind == Kind::Timeout => {}
                Err(_) if self.closed.load(Ordering::Relaxed) => return Ok(None),
                Err(e) => return Err(e),
            }
            let there = state.lanes.values().any(|lane| lane.next < lane.events.end);
            if left == Nanos(0) && !there {
                return Ok(None);
            }
        }
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
                return Ok(Some(Events { chunk, entry, records: from..to, partition }));
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

    /// Copies `range` of the data of event `n` of `events`, counted in bytes from the event's first, to `into`.
    ///
    /// # Errors
    /// `Invalid` outside of the data or where the consumer does not hold the partition any more; `Corrupt`, `Gone`.
    pub fn read_data(
        &self,
        events: &Events,
        n: u32,
        range: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let held = events.data_range(n);
        let wanted = held.start.saturating_add(range.start)..held.start.saturating_add(range.end);
        if range.start > range.end || wanted.end > held.end || into.len() as u64 != range.end - range.start {
            let detail = format!(
                "bytes {} to {} of {} into {} bytes",
                range.start,
                range.end,
                held.end - held.start,
                into.len()
            );
            return Err(Error::new(Kind::Invalid, "stream.data", detail));
        }
        if let Some(data) = events.data(n) {
            into.copy_from_slice(&data[range.start as usize..range.end as usize]);
            return Ok(());
        }
        self.read_apart(events, wanted, into, patience)
    }

    /// Copies the data of all `events`, from the first byte of the first to the last of the last, to `into`.
    ///
    /// # Errors
    /// As `read_data`.
    pub fn read_all(&self, events: &Events, into: &mut [u8], patience: Patience<'_>) -> Result<()> {
        let last = (events.len() as u32).saturating_sub(1);
        let wanted = events.data_range(0).start..events.data_range(last).end;
        if into.len() as u64 != wanted.end - wanted.start {
            let detail = format!("{} bytes into {}", wanted.end - wanted.start, into.len());
            return Err(Error::new(Kind::Invalid, "stream.data", detail));
        }
        match events.data_column() {
            Some(data) => into.copy_from_slice(data),
            None => self.read_apart(events, wanted, into, patience)?,
        }
        Ok(())
    }

    fn read_apart(
        &self,
        events: &Events,
        wanted: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let Some(batch) = events.batch() else { return Ok(()) };
        let mut state = self.lock();
        if let Some(lane) = state.lanes.get_mut(&events.partition) {
            return lane.source.data(&batch, wanted, into, patience);
        }
        // Another member holds the partition now; the data are there all the same.
        self.link().source(&self.place(events.partition)).data(&batch, wanted, into, patience)
    }

    /// All events of a partition before `next` need not be given to this name again; a lower number changes nothing. It is
    /// remembered soon, at the latest when `close` returns; while the link is broken, when `pull` has connected again.
    ///
    /// # Errors
    /// `Invalid` in a forked child.
    pub fn acknowledge(&self, partition: u32, next: u64) -> Result<()> {
        process::same(self.made_in, "stream.acknowledge", "consumer")?;
        self.link().tell(self.acknowledging(partition, next));
        let mut state = self.lock();
        state.told = Some((partition, next));
        if let Some(lane) = state.lanes.get_mut(&partition) {
            lane.acknowledged = lane.acknowledged.max(next);
        }
        Ok(())
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
        let position = |(partition, lane): (&u32, &Lane)| Position {
            partition: *partition,
            acknowledged: lane.acknowledged,
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
        let last = self.lock().told.take().filter(|_| !forget);
        if let Some((partition, next)) = last {
            self.link().ask(self.acknowledging(partition, next), patience)?;
        }
        self.link().ask(self.leaving(forget), patience).map(drop)
    }

    fn leaving(&self, forget: bool) -> Request {
        Request::Leave { topic: self.topic.clone(), consumer: self.options.name.clone(), forget }
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
