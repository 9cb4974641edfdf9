//! A producer: gathers events into batches, has several under way, and sends again what got lost.

mod column;
mod load;
mod replies;
mod shipping;

pub use column::Column;

use super::link::Connect;
use super::outbox::Room;
use super::promise::{Promise, Pushed, PushedMany};
use column::Rows;
use load::Load;
use shipping::{Flight, Lane, Shared, State, ENDS};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{padded, write_front, Content};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::process;

/// An event with so many bytes is not gathered with others: it goes to the outbox at once.
const LARGE: u64 = 64 << 10;
/// The least memory for batches under way.
const OUTBOX_MIN: Bytes = Bytes(256 << 10);
/// The longest metadata of an event.
const METADATA_MAX: Bytes = Bytes(8 << 20);

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
/// A producer of one topic. Pushing does not wait for the service while there is room.
pub struct Producer {
    shared: Arc<Shared>,
}
impl Producer {
    /// A producer of `topic`, which has `partitions`.
    ///
    /// # Errors
    /// As connecting says; `Invalid` for options that cannot be.
    pub fn new(
        topic: Name,
        partitions: usize,
        mut options: ProducerOptions,
        connect: Connect,
        patience: Patience<'_>,
    ) -> Result<Producer> {
        let most = super::super::message::BATCHES_MAX;
        if !(1..=most).contains(&options.batches) {
            let detail = format!("{} batches under way; accepted are 1 to {most}", options.batches);
            return Err(Error::new(Kind::Invalid, "stream.producer", detail));
        }
        if options.outbox < OUTBOX_MIN {
            let detail =
                format!("{} for batches under way; accepted are at least {OUTBOX_MIN}", options.outbox);
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
        let outbox = loop {
            match link.outbox(options.outbox, patience) {
                // Where many producers share a server each has less.
                Err(e) if e.kind == Kind::Full && options.outbox > OUTBOX_MIN => {
                    options.outbox = OUTBOX_MIN.max(Bytes(options.outbox.0 / 4));
                }
                made => break made?,
            }
        };
        options.outbox = outbox.bytes();
        let state = State {
            link: Some(link),
            room: Room::new(outbox.bytes().0),
            outbox,
            lanes: Vec::new(),
            flights: BTreeMap::new(),
            next: 1,
            turn: 0,
            closed: false,
            failed: None,
            trouble: None,
            kept: Vec::new(),
        };
        let shared = Arc::new_cyclic(|me| Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            topic,
            options,
            connect,
            made_in: process::id(),
            replies: OnceLock::new(),
            me: me.clone(),
        });
        shared.lock().lanes = (0..partitions as u32).map(|n| Lane::new(shared.promise(n))).collect();
        let weak = Arc::downgrade(&shared);
        let thread = std::thread::Builder::new().name("thalweg-replies".into());
        let thread = thread.spawn(move || replies::replies(&weak));
        let thread = thread.map_err(|e| Error::io("stream.producer", e))?;
        let _ = shared.replies.set(thread.thread().id());
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
        let write = |front: &mut [u8], mut rest: &mut [u8]| {
            write_front(&content, [(content.metadata, data)].into_iter(), metadata, front);
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

    /// Appends what is larger than the outbox, over a link of its own, and waits for its end.
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
        match outcome {
            Ok(_) => {
                lane.sequence += u64::from(load.content.records);
                lane.heard = lane.sequence;
            }
            Err(_) => lane.begin_anew(),
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
            BatchSize::Adaptive => shipping::EVENTS_MAX,
            BatchSize::Fixed(events) => events.min(shipping::EVENTS_MAX),
        };
        let deadline = now().after(patience.within);
        let mut from = 0;
        while from < events {
            // As many as make a batch, at least one.
            let mut to = from;
            let size = |n: usize| {
                ENDS + metadata.ends[n] - metadata.begin(n)
                    + data.map_or(0, |data| padded(data.ends[n] - data.begin(n)))
            };
            let mut bytes = 0;
            while to < events
                && to - from < most as usize
                && (to == from || bytes + size(to) <= self.shared.target())
            {
                bytes += size(to);
                to += 1;
            }
            let rows = Rows { metadata, data, from, to };
            let content = rows.content(|n| self.short(n))?;
            let write = |front: &mut [u8], rest: &mut [u8]| rows.write(&content, front, rest);
            let load = Load { content, write: &write };
            let left = Patience { within: deadline.since(now()), ..patience };
            if load.bytes() > self.shared.options.outbox.0 {
                let pushed = self.push_huge(partition, &load, left)?;
                many.batches.push((pushed.batch, content.records));
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
        process::same(self.shared.made_in, "stream.flush", "producer")?;
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
                Err(e) if promise.outcome().is_none() => {
                    let why = self.shared.lock().refusal().filter(|_| e.kind == Kind::Timeout);
                    return Err(why.unwrap_or(e));
                }
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
        process::same(self.shared.made_in, "stream.close", "producer")?;
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
        // What a forked child has is its parent's.
        if process::id() == self.shared.made_in {
            self.shared.end("the producer was dropped before it was flushed");
        }
    }
}
