//! A producer: gathers events into batches, has several under way, and sends again what got lost.

use super::super::message::{Batch, Place, Reply, Request};
use super::link::{Connect, Link};
use super::outbox::Room;
use super::promise::{Gatherer, Promise, Pushed, PushedMany};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{padded, write_front, Body, Content};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Segment;

/// An adaptive batch is sent when it has so many bytes, however many are under way.
const TARGET: u64 = 256 << 10;
/// The most events of a batch.
const EVENTS_MAX: u32 = 1 << 16;
/// Data of so many bytes an event lie apart from their metadata.
const APART: u64 = 32 << 10;
/// An event with so many bytes is not gathered with others: it goes to the outbox at once.
const LARGE: u64 = 64 << 10;
/// The longest metadata of an event.
const METADATA_MAX: Bytes = Bytes(8 << 20);
/// How long to wait before something that was refused is sent again; then twice as long, up to the second.
const AGAIN: Nanos = Nanos(2_000_000);
const AGAIN_MAX: Nanos = Nanos(250_000_000);
/// How soon it is tried again to connect.
const RECONNECT: Nanos = Nanos(50_000_000);

/// How many events are sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSize {
    /// One at once when nothing is under way, else what has come until something has arrived.
    Adaptive,
    /// So many, or less at a flush.
    Fixed(u32),
}

/// What becomes of the events behind one that cannot be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// They fail too, as far as they were pushed before that is known.
    Strict,
    /// They are appended.
    Loose,
}

/// How a producer is to be.
#[derive(Clone, Debug)]
pub struct ProducerOptions {
    /// How many events are sent together.
    pub batch: BatchSize,
    /// The most batches under way.
    pub batches: usize,
    /// What becomes of the events behind one that cannot be appended.
    pub ordering: Ordering,
    /// How long it is tried to have a batch appended.
    pub within: Nanos,
    /// Memory for batches under way.
    pub outbox: Bytes,
}

impl Default for ProducerOptions {
    fn default() -> ProducerOptions {
        ProducerOptions {
            batch: BatchSize::Adaptive,
            batches: 8,
            ordering: Ordering::Strict,
            within: Nanos(30_000_000_000),
            outbox: Bytes(64 << 20),
        }
    }
}

/// Bytes of many events, one behind the other, and where each ends.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where each event's end in them, ascending.
    pub ends: &'a [u64],
}

impl Column<'_> {
    fn begin(&self, n: usize) -> u64 {
        n.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn check(&self, what: &str) -> Result<()> {
        let ascending = self.ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if ascending && self.ends.last().is_none_or(|last| *last <= self.bytes.len() as u64) {
            return Ok(());
        }
        let detail = format!("{what}: the ends do not ascend within {} bytes", self.bytes.len());
        Err(Error::new(Kind::Invalid, "stream.push", detail))
    }
}

struct Lane {
    open: Body,
    promise: Arc<Promise>,
    /// Somebody waits for what is being gathered.
    urged: bool,
    /// A huge event is under way over a link of its own: all else waits for it.
    held: bool,
    sequence: u64,
    heard: u64,
    /// Batches that are not answered yet.
    posted: usize,
    /// When what was refused is sent again, and how long was waited before.
    again: Option<Nanos>,
    pause: Nanos,
}

struct Flight {
    lane: u32,
    batch: Batch,
    bytes: u64,
    promise: Arc<Promise>,
    refused: Option<Error>,
    since: Nanos,
}

struct State {
    link: Option<Arc<dyn Link>>,
    outbox: Arc<Segment>,
    room: Room,
    lanes: Vec<Lane>,
    flights: BTreeMap<u64, Flight>,
    next: u64,
    closed: bool,
    failed: Option<Error>,
    /// The first that failed since the last flush.
    trouble: Option<Error>,
    /// What is to be told when the lock is free.
    kept: Vec<(Arc<Promise>, Result<u64>)>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    topic: Name,
    number: u64,
    options: ProducerOptions,
    connect: Connect,
    me: Weak<Shared>,
}

/// A producer of one topic. Pushing does not wait for the service while there is room.
pub struct Producer {
    shared: Arc<Shared>,
}

/// What a batch holds, and who writes it.
struct Load<'w> {
    content: Content,
    write: &'w dyn Fn(&mut [u8], bool),
}

impl Load<'_> {
    fn apart(&self) -> bool {
        self.content.data / u64::from(self.content.records.max(1)) >= APART
    }

    /// Bytes in the outbox.
    fn bytes(&self) -> u64 {
        let parts = self.content.parts(!self.apart());
        match self.apart() {
            true => parts.rest.next_multiple_of(64).saturating_add(self.content.data),
            false => parts.body,
        }
    }
}

impl Producer {
    /// A producer of `topic`, which has `partitions`.
    ///
    /// # Errors
    /// As connecting says; `Invalid` for options that cannot be.
    pub fn new(
        topic: Name,
        partitions: usize,
        options: ProducerOptions,
        connect: Connect,
        patience: Patience<'_>,
    ) -> Result<Producer> {
        let most = super::super::message::BATCHES_MAX;
        if !(1..=most).contains(&options.batches) {
            let detail = format!("{} batches under way; accepted are 1 to {most}", options.batches);
            return Err(Error::new(Kind::Invalid, "stream.producer", detail));
        }
        if options.batch == BatchSize::Fixed(0) {
            return Err(Error::new(
                Kind::Invalid,
                "stream.producer",
                "batches of 0 events; accepted are 1 or more",
            ));
        }
        let link = connect(patience)?;
        let outbox = link.outbox(options.outbox, patience)?;
        let mut number = [0; 8];
        rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::empty())
            .map_err(|e| Error::io("stream.producer", e))?;
        let state = State {
            link: Some(link),
            room: Room::new(outbox.bytes().0),
            outbox,
            lanes: Vec::new(),
            flights: BTreeMap::new(),
            next: 1,
            closed: false,
            failed: None,
            trouble: None,
            kept: Vec::new(),
        };
        let number = u64::from_ne_bytes(number);
        let shared = Arc::new_cyclic(|me| Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            topic,
            number,
            options,
            connect,
            me: me.clone(),
        });
        shared.lock().lanes = (0..partitions as u32).map(|n| Lane::new(shared.promise(n))).collect();
        let weak = Arc::downgrade(&shared);
        let thread = std::thread::Builder::new().name("thalweg-replies".into());
        thread.spawn(move || replies(&weak)).map_err(|e| Error::io("stream.producer", e))?;
        Ok(Producer { shared })
    }

    /// Appends an event to `partition`, whose data are `parts` one behind the other. Waits only where as many batches are under
    /// way as may be and the one that is being gathered is full.
    ///
    /// # Errors
    /// `Timeout` when it stayed so, `Full` when the event is too large, `Invalid` for a partition that is not there, `Gone`
    /// when the service is.
    pub fn push(
        &self,
        partition: u32,
        metadata: &[u8],
        parts: &[&[u8]],
        patience: Patience<'_>,
    ) -> Result<Pushed> {
        let data: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let large = data.saturating_add(metadata.len() as u64) >= LARGE;
        let content = Content { records: 1, metadata: self.short(metadata.len())?, data };
        let write = |into: &mut [u8], apart: bool| {
            let ends = [(content.metadata, data)];
            let mut rest = write_front(&content, ends.into_iter(), metadata, into);
            if apart {
                let gap = content.parts(false).rest;
                rest = &mut rest[(gap.next_multiple_of(64) - gap) as usize..];
            }
            for part in parts {
                let (here, behind) = rest.split_at_mut(part.len());
                here.copy_from_slice(part);
                rest = behind;
            }
            rest.fill(0);
        };
        let load = Load { content, write: &write };
        if load.bytes() > self.shared.options.outbox.0 {
            return self.push_huge(partition, &load, patience);
        }
        self.shared.wait_until(patience, |shared, state| {
            shared.usable(state, partition)?;
            if large {
                if !shared.send_open(state, partition) {
                    return Ok(None);
                }
                let promise = shared.promise(partition);
                let sent = shared.post(state, partition, &load, promise.clone());
                return Ok(sent.then_some(Pushed { batch: promise, partition, at: 0 }));
            }
            if shared.is_full(&state.lanes[partition as usize].open) && !shared.send_open(state, partition) {
                return Ok(None);
            }
            let lane = &mut state.lanes[partition as usize];
            let at = lane.open.content().records;
            lane.open.push_parts(metadata, parts)?;
            let pushed = Pushed { batch: lane.promise.clone(), partition, at };
            let idle = shared.options.batch == BatchSize::Adaptive && lane.posted == 0;
            if idle || shared.is_full(&lane.open) {
                shared.send_open(state, partition);
            }
            Ok(Some(pushed))
        })
    }

    /// Appends an event that is larger than the outbox, over a link of its own, and waits for its end.
    fn push_huge(&self, partition: u32, load: &Load<'_>, patience: Patience<'_>) -> Result<Pushed> {
        let deadline = now().after(patience.within);
        let (promise, batch) = self.shared.wait_until(patience, |shared, state| {
            shared.usable(state, partition)?;
            if !shared.send_open(state, partition) {
                return Ok(None);
            }
            let lane = &mut state.lanes[partition as usize];
            if lane.posted > 0 || lane.held || lane.again.is_some() {
                return Ok(None);
            }
            lane.held = true;
            let promise = shared.promise(partition);
            Ok(Some((promise, shared.batch(lane, load, 0))))
        })?;
        let outcome = self.shared.append_huge(partition, batch, load, deadline, patience);
        let mut state = self.shared.lock();
        let lane = &mut state.lanes[partition as usize];
        lane.held = false;
        if outcome.is_ok() {
            lane.sequence += 1;
            lane.heard = lane.sequence;
        }
        promise.keep(outcome.clone());
        self.shared.tell(state);
        outcome.map(|_| Pushed { batch: promise, partition, at: 0 })
    }

    fn short(&self, metadata: usize) -> Result<u32> {
        match Bytes(metadata as u64) > METADATA_MAX {
            true => {
                let detail = format!(
                    "{} of metadata; accepted are at most {METADATA_MAX}; give large things as data",
                    Bytes(metadata as u64)
                );
                Err(Error::new(Kind::Full, "stream.push", detail))
            }
            false => Ok(metadata as u32),
        }
    }

    /// Appends events to `partition`, as many as there are ends of metadata; without `data` they have none.
    ///
    /// # Errors
    /// As `push`; then a first part of them may have been taken.
    pub fn push_many(
        &self,
        partition: u32,
        metadata: Column<'_>,
        data: Option<Column<'_>>,
        patience: Patience<'_>,
    ) -> Result<PushedMany> {
        let events = metadata.ends.len();
        metadata.check("metadata")?;
        if let Some(data) = &data {
            data.check("data")?;
            if data.ends.len() != events {
                let detail = format!("{events} metadata and {} data; accepted are as many", data.ends.len());
                return Err(Error::new(Kind::Invalid, "stream.push", detail));
            }
        }
        let mut many = PushedMany { batches: Vec::new(), partition };
        let most = match self.shared.options.batch {
            BatchSize::Adaptive => EVENTS_MAX,
            BatchSize::Fixed(events) => events.min(EVENTS_MAX),
        };
        let deadline = now().after(patience.within);
        let mut from = 0;
        while from < events {
            // As many as make a batch, at least one.
            let mut to = from;
            let size = |n: usize| {
                metadata.ends[n] - metadata.begin(n)
                    + data.map_or(0, |data| padded(data.ends[n] - data.begin(n)))
            };
            let mut bytes = 0;
            while to < events && to - from < most as usize && (to == from || bytes + size(to) <= TARGET) {
                bytes += size(to);
                to += 1;
            }
            let rows = Rows { metadata, data, from, to };
            let content = rows.content(|n| self.short(n))?;
            let write = |into: &mut [u8], apart: bool| rows.write(&content, into, apart);
            let load = Load { content, write: &write };
            let left = Patience { within: deadline.since(now()), ..patience };
            if load.bytes() > self.shared.options.outbox.0 {
                let pushed = self.push_huge(partition, &load, left)?;
                many.batches.push((pushed.batch, 1));
                from = to;
                continue;
            }
            let promise = self.shared.wait_until(left, |shared, state| {
                shared.usable(state, partition)?;
                if !shared.send_open(state, partition) {
                    return Ok(None);
                }
                let promise = shared.promise(partition);
                Ok(shared.post(state, partition, &load, promise.clone()).then_some(promise))
            })?;
            many.batches.push((promise, (to - from) as u32));
            from = to;
        }
        Ok(many)
    }

    /// Waits until all that was pushed before has come to its end.
    ///
    /// # Errors
    /// `Timeout`, or the first that failed since the last flush.
    pub fn flush(&self, patience: Patience<'_>) -> Result<()> {
        let deadline = now().after(patience.within);
        let mut waiting: Vec<Arc<Promise>> = Vec::new();
        let lanes = self.shared.lock().lanes.len() as u32;
        for partition in 0..lanes {
            let left = Patience { within: deadline.since(now()), ..patience };
            let last = self.shared.wait_until(left, |shared, state| {
                if state.failed.is_some() {
                    return Ok(Some(None));
                }
                let open = state.lanes[partition as usize].promise.clone();
                let pending = state.lanes[partition as usize].open.content().records > 0;
                if !shared.send_open(state, partition) {
                    return Ok(None);
                }
                let of_lane = |flight: &&Flight| flight.lane == partition;
                let last = state.flights.values().filter(of_lane).max_by_key(|flight| flight.batch.sequence);
                Ok(Some(last.map(|flight| flight.promise.clone()).or(pending.then_some(open))))
            })?;
            waiting.extend(last);
        }
        for promise in waiting {
            let left = Patience { within: deadline.since(now()), ..patience };
            match promise.wait(left) {
                Err(e) if promise.outcome().is_none() => return Err(e),
                _ => {}
            }
        }
        let mut state = self.shared.lock();
        let failed = state.failed.clone();
        state.trouble.take().or(failed).map_or(Ok(()), Err)
    }

    /// Flushes, and gives back what it holds, the latter also where flushing fails.
    ///
    /// # Errors
    /// As `flush`.
    pub fn close(&self, patience: Patience<'_>) -> Result<()> {
        if self.shared.lock().closed {
            return Ok(());
        }
        let flushed = self.flush(patience);
        self.shared.end("the producer was closed");
        flushed
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.end("the producer was dropped before it was flushed");
    }
}

/// Some of the rows of columns.
struct Rows<'a> {
    metadata: Column<'a>,
    data: Option<Column<'a>>,
    from: usize,
    to: usize,
}

impl Rows<'_> {
    fn content(&self, short: impl Fn(usize) -> Result<u32>) -> Result<Content> {
        let Rows { metadata, data, from, to } = *self;
        let longest = (from..to).map(|n| metadata.ends[n] - metadata.begin(n)).max().unwrap_or(0);
        short(longest as usize)?;
        let text = metadata.ends[to - 1] - metadata.begin(from);
        let ends =
            |data: Column<'_>| (from..to).fold(0, |end, n| padded(end) + (data.ends[n] - data.begin(n)));
        Ok(Content { records: (to - from) as u32, metadata: text as u32, data: data.map_or(0, ends) })
    }

    fn write(&self, content: &Content, into: &mut [u8], apart: bool) {
        let Rows { metadata, data, from, to } = *self;
        let start = metadata.begin(from);
        let text = &metadata.bytes[start as usize..metadata.ends[to - 1] as usize];
        let mut end = 0;
        let ends = (from..to).map(|n| {
            if let Some(data) = &data {
                end = padded(end) + (data.ends[n] - data.begin(n));
            }
            ((metadata.ends[n] - start) as u32, end)
        });
        let mut rest = write_front(content, ends, text, into);
        if apart {
            let gap = content.parts(false).rest;
            rest = &mut rest[(gap.next_multiple_of(64) - gap) as usize..];
        }
        let Some(data) = data else { return rest.fill(0) };
        let begin = data.begin(from) as usize;
        let all = &data.bytes[begin..data.ends[to - 1] as usize];
        if all.len() as u64 == content.data {
            // No padding between: all at once.
            let (here, padding) = rest.split_at_mut(all.len());
            here.copy_from_slice(all);
            return padding.fill(0);
        }
        let mut at = 0;
        for n in from..to {
            let bytes = &data.bytes[data.begin(n) as usize..data.ends[n] as usize];
            let next = padded(at as u64) as usize;
            rest[at..next].fill(0);
            rest[next..next + bytes.len()].copy_from_slice(bytes);
            at = next + bytes.len();
        }
        rest[at..].fill(0);
    }
}

impl Lane {
    fn new(promise: Arc<Promise>) -> Lane {
        Lane {
            open: Body::default(),
            promise,
            urged: false,
            held: false,
            sequence: 0,
            heard: 0,
            posted: 0,
            again: None,
            pause: Nanos(0),
        }
    }
}

impl Gatherer for Shared {
    fn urge(&self, partition: u32) {
        let mut state = self.lock();
        if state.lanes.get(partition as usize).is_some_and(|lane| lane.open.content().records > 0) {
            state.lanes[partition as usize].urged = true;
            self.send_open(&mut state, partition);
        }
    }
}

impl Shared {
    fn promise(&self, partition: u32) -> Arc<Promise> {
        let me: Weak<Shared> = self.me.clone();
        Arc::new(Promise::new(me, partition))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `attempt` until it gives something, each time that something has changed.
    fn wait_until<T>(
        &self,
        patience: Patience<'_>,
        attempt: impl Fn(&Shared, &mut State) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut deadline = None;
        let mut state = self.lock();
        loop {
            let tried = attempt(self, &mut state);
            if let Some(done) = tried.transpose() {
                drop(state);
                return done;
            }
            let left = deadline.get_or_insert_with(|| now().after(patience.within)).since(now());
            if left == Nanos(0) {
                let detail = format!(
                    "{} batches of topic \"{}\" are under way since {}; the service does not keep up, or wait longer",
                    state.flights.len(),
                    self.topic,
                    patience.within
                );
                return Err(Error::new(Kind::Timeout, "stream.push", detail));
            }
            let slice = left.min(Patience::SLICE).duration();
            let waited = self.changed.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                (patience.tick)()?;
                state = self.lock();
            }
        }
    }

    fn usable(&self, state: &State, partition: u32) -> Result<()> {
        if let Some(e) = &state.failed {
            return Err(e.clone());
        }
        if partition as usize >= state.lanes.len() {
            let detail = format!(
                "partition {partition} of topic \"{}\"; it has 0 to {}",
                self.topic,
                state.lanes.len().saturating_sub(1)
            );
            return Err(Error::new(Kind::Invalid, "stream.push", detail));
        }
        Ok(())
    }

    fn is_full(&self, open: &Body) -> bool {
        let Content { records, metadata, data } = open.content();
        match self.options.batch {
            BatchSize::Adaptive => u64::from(metadata) + data >= TARGET || records >= EVENTS_MAX,
            BatchSize::Fixed(events) => {
                records >= events || records >= EVENTS_MAX || u64::from(metadata) + data >= 16 * TARGET
            }
        }
    }

    /// Sends what has been gathered for a partition; false when there is no room for it.
    fn send_open(&self, state: &mut State, partition: u32) -> bool {
        let lane = &mut state.lanes[partition as usize];
        if lane.open.content().records == 0 {
            return true;
        }
        let (open, promise) = (std::mem::take(&mut lane.open), lane.promise.clone());
        let content = open.content();
        let write = |into: &mut [u8], apart: bool| {
            if !apart {
                return open.write(true, into);
            }
            let (front, data) = into.split_at_mut(content.parts(false).rest as usize);
            open.write(false, front);
            let gap = data.len() - open.data().len();
            data[gap..].copy_from_slice(open.data());
        };
        let sent = self.post(state, partition, &Load { content, write: &write }, promise);
        let lane = &mut state.lanes[partition as usize];
        lane.open = open;
        if sent {
            lane.open.clear();
            lane.promise = self.promise(partition);
            lane.urged = false;
        }
        sent
    }

    /// Writes a batch to the outbox and sends it; false when there is no room, or something before it is to be sent again.
    fn post(&self, state: &mut State, partition: u32, load: &Load<'_>, promise: Arc<Promise>) -> bool {
        let Some(link) = state.link.clone() else { return false };
        let lane = &state.lanes[partition as usize];
        if state.flights.len() >= self.options.batches || lane.again.is_some() || lane.held {
            return false;
        }
        let (bytes, apart) = (load.bytes(), load.apart());
        let Some(at) = state.room.take(bytes) else { return false };
        let Ok(start) = state.outbox.at(at, Bytes(bytes)) else { return false };
        // SAFETY: the room is this batch's alone until it is given back, and the segment lives as long as the state.
        (load.write)(unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) }, apart);
        let records = load.content.records;
        let lane = &mut state.lanes[partition as usize];
        let batch = self.batch(lane, load, at);
        lane.sequence += u64::from(records);
        lane.posted += 1;
        let id = state.next;
        state.next += 1;
        let flight = Flight { lane: partition, batch, bytes, promise, refused: None, since: now() };
        state.flights.insert(id, flight);
        // A link that broke is noticed by who takes the replies; then all is sent again.
        let _ = link.send(id, &self.request(partition, batch), Patience::of(Nanos(100_000_000)));
        true
    }

    fn batch(&self, lane: &Lane, load: &Load<'_>, at: u64) -> Batch {
        let Content { records, metadata, data } = load.content;
        Batch {
            producer: self.number,
            sequence: lane.sequence,
            heard: lane.heard,
            events: records,
            metadata_bytes: metadata,
            data_bytes: data,
            apart: load.apart(),
            at,
        }
    }

    /// Has a batch appended over a link of its own, whose outbox is as large as it; the number of its first event.
    fn append_huge(
        &self,
        partition: u32,
        batch: Batch,
        load: &Load<'_>,
        deadline: Nanos,
        patience: Patience<'_>,
    ) -> Result<u64> {
        let left = || Patience { within: deadline.since(now()), ..patience };
        let link = (self.connect)(left())?;
        let bytes = Bytes(load.bytes());
        let outbox = link.outbox(bytes, left())?;
        let start = outbox.at(0, bytes)?;
        // SAFETY: nobody else knows of this memory, which has so many bytes.
        (load.write)(unsafe { std::slice::from_raw_parts_mut(start, bytes.0 as usize) }, load.apart());
        let mut pause = AGAIN;
        loop {
            link.send(1, &self.request(partition, batch), left())?;
            match link.next(left())?.1 {
                Reply::Produced(first) => return Ok(first),
                Reply::Failed(e) if e.kind.may_retry() && deadline > now().after(pause) => {
                    std::thread::sleep(pause.duration());
                    pause = Nanos((pause.0 * 2).min(AGAIN_MAX.0));
                }
                Reply::Failed(e) => return Err(e),
                other => return Err(super::link::unexpected(&other)),
            }
        }
    }

    fn request(&self, partition: u32, batch: Batch) -> Request {
        Request::Produce { place: Place { topic: self.topic.clone(), partition }, batch }
    }

    /// Takes what has become of a batch.
    fn answered(&self, state: &mut State, id: u64, reply: Reply) {
        let Some(flight) = state.flights.get_mut(&id).filter(|flight| flight.refused.is_none()) else {
            return;
        };
        let partition = flight.lane;
        match reply {
            Reply::Produced(first) => {
                let Some(flight) = state.flights.remove(&id) else { return };
                let lane = &mut state.lanes[partition as usize];
                lane.posted -= 1;
                lane.heard = lane.heard.max(flight.batch.sequence + u64::from(flight.batch.events));
                lane.pause = Nanos(0);
                state.room.give_back(flight.batch.at);
                state.kept.push((flight.promise, Ok(first)));
            }
            Reply::Failed(e) => flight.refuse(e, &mut state.lanes[partition as usize]),
            other => flight.refuse(super::link::unexpected(&other), &mut state.lanes[partition as usize]),
        }
        self.settle(state, partition);
        // Every partition has its turn, the one that was answered last.
        let partitions = state.lanes.len() as u32;
        for n in 1..=partitions {
            let next = (partition + n) % partitions;
            let lane = &state.lanes[next as usize];
            let idle = self.options.batch == BatchSize::Adaptive && lane.posted == 0;
            if idle || lane.urged || self.is_full(&lane.open) {
                self.send_open(state, next);
            }
        }
    }

    /// When all batches of a partition are answered and some were refused, they are to be sent again, or fail.
    fn settle(&self, state: &mut State, partition: u32) {
        let lane = &mut state.lanes[partition as usize];
        if lane.posted > 0 || lane.again.is_some() {
            return;
        }
        let of_lane = |flight: &&Flight| flight.lane == partition;
        let first = state.flights.values().filter(of_lane).min_by_key(|flight| flight.batch.sequence);
        let Some((first, e)) = first.and_then(|flight| Some((flight, flight.refused.clone()?))) else {
            return;
        };
        if e.kind.may_retry() && now() < first.since.after(self.options.within) {
            lane.pause = Nanos((lane.pause.0 * 2).clamp(AGAIN.0, AGAIN_MAX.0));
            lane.again = Some(now().after(lane.pause));
            return;
        }
        self.fail_lane(state, partition, &e);
    }

    /// What is under way in a partition fails, and in strict order what waits behind it too.
    fn fail_lane(&self, state: &mut State, partition: u32, e: &Error) {
        let ids: Vec<u64> =
            state.flights.iter().filter(|(_, flight)| flight.lane == partition).map(|(id, _)| *id).collect();
        let mut sequence = u64::MAX;
        for id in ids {
            let Some(flight) = state.flights.remove(&id) else { continue };
            sequence = sequence.min(flight.batch.sequence);
            state.room.give_back(flight.batch.at);
            state.kept.push((flight.promise, Err(e.clone())));
        }
        let lane = &mut state.lanes[partition as usize];
        lane.posted = 0;
        lane.again = None;
        // Nothing of it was appended: the next event takes its place.
        lane.sequence = lane.sequence.min(sequence);
        if self.options.ordering == Ordering::Strict && lane.open.content().records > 0 {
            lane.open.clear();
            state.kept.push((std::mem::replace(&mut lane.promise, self.promise(partition)), Err(e.clone())));
        }
        state.trouble.get_or_insert_with(|| e.clone());
    }

    /// Sends again what it is time for.
    fn resend(&self, state: &mut State) {
        let at = now();
        for partition in 0..state.lanes.len() as u32 {
            if state.lanes[partition as usize].again.is_none_or(|again| again > at) {
                continue;
            }
            state.lanes[partition as usize].again = None;
            self.send_lane(state, partition);
        }
    }

    /// Sends all batches of a partition, in order.
    fn send_lane(&self, state: &mut State, partition: u32) {
        let Some(link) = state.link.clone() else { return };
        let of_lane = state.flights.iter().filter(|(_, flight)| flight.lane == partition);
        let mut ids: Vec<(u64, u64)> = of_lane.map(|(id, flight)| (flight.batch.sequence, *id)).collect();
        ids.sort_unstable();
        state.lanes[partition as usize].posted = ids.len();
        for (_, id) in ids {
            let heard = state.lanes[partition as usize].heard;
            let Some(flight) = state.flights.get_mut(&id) else { continue };
            flight.refused = None;
            flight.batch.heard = heard;
            let request = self.request(partition, flight.batch);
            let _ = link.send(id, &request, Patience::of(Nanos(100_000_000)));
        }
    }

    /// Connects again after the link broke, and sends again what was under way.
    fn reconnect(&self) {
        let lost = now();
        loop {
            let (closed, oldest) = {
                let mut state = self.lock();
                state.link = None;
                let oldest = state.flights.values().map(|flight| flight.since).min();
                (state.closed, oldest.map_or(lost, |since| since.max(lost)))
            };
            if closed {
                return;
            }
            let left = oldest.after(self.options.within).since(now());
            let patience = Patience::of(left.max(Nanos(1_000_000)));
            let made = (self.connect)(patience)
                .and_then(|link| Ok((link.outbox(self.options.outbox, patience)?, link)));
            let mut state = self.lock();
            match made {
                Ok((outbox, link)) if outbox.bytes() == state.outbox.bytes() => {
                    for flight in state.flights.values() {
                        let (at, bytes) = (flight.batch.at, Bytes(flight.bytes));
                        if let (Ok(from), Ok(to)) = (state.outbox.at(at, bytes), outbox.at(at, bytes)) {
                            // SAFETY: so many bytes lie at both, which are different memory; nobody else writes them now.
                            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes.0 as usize) };
                        }
                    }
                    (state.outbox, state.link) = (outbox, Some(link));
                    for partition in 0..state.lanes.len() as u32 {
                        state.lanes[partition as usize].again = None;
                        self.send_lane(&mut state, partition);
                    }
                    drop(state);
                    self.changed.notify_all();
                    return;
                }
                Ok(_) => {
                    let e = Error::new(Kind::Protocol, "stream.produce", "an outbox of another size");
                    return self.fail_all(state, &e);
                }
                Err(e) if left == Nanos(0) || !matches!(e.kind, Kind::Gone | Kind::Timeout) => {
                    return self.fail_all(state, &e);
                }
                Err(_) => {}
            }
            drop(state);
            std::thread::sleep(RECONNECT.duration());
        }
    }

    fn fail_all(&self, mut state: MutexGuard<'_, State>, e: &Error) {
        state.failed.get_or_insert_with(|| e.clone());
        for partition in 0..state.lanes.len() as u32 {
            self.fail_lane(&mut state, partition, e);
            let lane = &mut state.lanes[partition as usize];
            if lane.open.content().records > 0 {
                lane.open.clear();
                let promise = std::mem::replace(&mut lane.promise, self.promise(partition));
                state.kept.push((promise, Err(e.clone())));
            }
        }
        self.tell(state);
    }

    /// Tells the promises what has become of them, without the lock: whoever is told may push again.
    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let kept = std::mem::take(&mut state.kept);
        drop(state);
        kept.into_iter().for_each(|(promise, outcome)| promise.keep(outcome));
        self.changed.notify_all();
    }

    fn end(&self, why: &str) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.closed = true;
        state.link = None;
        let e = Error::new(Kind::Gone, "stream.producer", why);
        self.fail_all(state, &e);
    }
}

impl Flight {
    fn refuse(&mut self, e: Error, lane: &mut Lane) {
        self.refused = Some(e);
        lane.posted -= 1;
    }
}

/// Takes the replies, until the producer is gone.
fn replies(shared: &Weak<Shared>) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let (link, wait) = {
            let state = shared.lock();
            if state.closed || state.failed.is_some() {
                return;
            }
            let again = state.lanes.iter().filter_map(|lane| lane.again).min();
            (state.link.clone(), again.map_or(Patience::SLICE, |at| at.since(now()).min(Patience::SLICE)))
        };
        let Some(link) = link else {
            shared.reconnect();
            continue;
        };
        let mut next = link.next(Patience::of(wait.max(Nanos(100_000))));
        drop(link);
        let mut state = shared.lock();
        if state.closed {
            return;
        }
        let mut taken = 0;
        loop {
            match next {
                Ok((id, reply)) => shared.answered(&mut state, id, reply),
                Err(e) if e.kind == Kind::Timeout => break,
                Err(_) => {
                    shared.tell(state);
                    shared.reconnect();
                    state = shared.lock();
                    break;
                }
            }
            taken += 1;
            // What else has come already, so that nobody is woken for each.
            let Some(link) = state.link.clone().filter(|_| taken < 64) else { break };
            next = link.next(Patience::of(Nanos(0)));
        }
        shared.resend(&mut state);
        shared.tell(state);
    }
}
