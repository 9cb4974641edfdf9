//! Batches on their way: gathered, written to the outbox, sent.

use super::super::super::message::{Batch, Place, Reply, Request};
use super::super::link::{unexpected, Connect, Link};
use super::super::outbox::Room;
use super::super::promise::{waits_for_itself, Gatherer, Promise};
use super::load::Load;
use super::replies::{AGAIN, AGAIN_MAX};
use super::{BatchSize, ProducerOptions};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::ThreadId;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Body, Content};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Segment;
use thalweg_transport::process;

/// An adaptive batch is sent when it has so many bytes, however many are under way.
pub(super) const TARGET: u64 = 512 << 10;
/// Where its metadata and its data end take so many bytes of each event.
pub(super) const ENDS: u64 = 12;
/// Two batches overlap on their way; more of them have no more bytes than stay in the caches.
const OVERLAP: usize = 2;
const AHEAD: u64 = 8 << 20;
/// A link that takes no message for so long is given up.
const SEND: Nanos = Nanos(100_000_000);
/// The most events of a batch.
pub(super) const EVENTS_MAX: u32 = 1 << 16;

pub(super) struct Lane {
    pub(super) open: Body,
    pub(super) promise: Arc<Promise>,
    /// Somebody waits for what is being gathered.
    pub(super) urged: bool,
    /// A huge event is under way over a link of its own: all else waits for it.
    pub(super) held: bool,
    /// The producer's number in this partition; another one after a failure of which nobody knows what was appended.
    pub(super) number: u64,
    pub(super) sequence: u64,
    pub(super) heard: u64,
    /// Batches that are not answered yet.
    pub(super) posted: usize,
    /// When what was refused is sent again, and how long was waited before.
    pub(super) again: Option<Nanos>,
    pub(super) pause: Nanos,
    /// Why what was sent last was refused.
    pub(super) why: Option<Error>,
}

pub(super) struct Flight {
    pub(super) lane: u32,
    pub(super) batch: Batch,
    pub(super) bytes: u64,
    pub(super) promise: Arc<Promise>,
    pub(super) refused: Option<Error>,
    pub(super) since: Nanos,
}

pub(super) struct State {
    pub(super) link: Option<Arc<dyn Link>>,
    pub(super) outbox: Arc<Segment>,
    pub(super) room: Room,
    pub(super) lanes: Vec<Lane>,
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) next: u64,
    /// The partition whose turn it is.
    pub(super) turn: u32,
    pub(super) closed: bool,
    pub(super) failed: Option<Error>,
    /// The first that failed since the last flush.
    pub(super) trouble: Option<Error>,
    /// What is to be told when the lock is free.
    pub(super) kept: Vec<(Arc<Promise>, Result<u64>)>,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) topic: Name,
    pub(super) options: ProducerOptions,
    pub(super) connect: Connect,
    pub(super) made_in: u32,
    /// The thread that takes the replies.
    pub(super) replies: OnceLock<ThreadId>,
    pub(super) me: Weak<Shared>,
}

impl State {
    /// Why the service has no room for what is under way, where it said so.
    pub(super) fn refusal(&self) -> Option<Error> {
        let full = |e: &&Error| matches!(e.kind, Kind::Full | Kind::Io);
        self.lanes.iter().filter_map(|lane| lane.why.as_ref()).find(full).cloned()
    }
}

/// A number that no other producer has.
fn fresh_number() -> u64 {
    let mut number = [0; 8];
    // The system's source of randomness is there as soon as it runs.
    let _ = rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(number)
}

impl Lane {
    /// Begins anew: what was sent before may have been appended or not, and is nothing to go on from.
    pub(super) fn begin_anew(&mut self) {
        (self.number, self.sequence, self.heard) = (fresh_number(), 0, 0);
    }

    pub(super) fn new(promise: Arc<Promise>) -> Lane {
        Lane {
            open: Body::default(),
            promise,
            urged: false,
            held: false,
            number: fresh_number(),
            sequence: 0,
            heard: 0,
            posted: 0,
            again: None,
            pause: Nanos(0),
            why: None,
        }
    }
}

impl Gatherer for Shared {
    fn is_told_here(&self) -> bool {
        self.replies.get() == Some(&std::thread::current().id())
    }

    fn urge(&self, partition: u32) {
        let mut state = self.lock();
        if state.lanes.get(partition as usize).is_some_and(|lane| lane.open.content().records > 0) {
            state.lanes[partition as usize].urged = true;
            self.send_open(&mut state, partition);
        }
    }
}

impl Shared {
    pub(super) fn promise(&self, partition: u32) -> Arc<Promise> {
        let me: Weak<Shared> = self.me.clone();
        Arc::new(Promise::new(me, partition))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `attempt` until it gives something, each time that something has changed.
    pub(super) fn wait_until<T>(
        &self,
        patience: Patience<'_>,
        attempt: impl Fn(&Shared, &mut State) -> Result<Option<T>>,
    ) -> Result<T> {
        // Before the lock: a forked child's copy may be held by a thread that it does not have.
        process::same(self.made_in, "stream.push", "producer")?;
        let mut deadline = None;
        let mut state = self.lock();
        loop {
            let tried = attempt(self, &mut state);
            if let Some(done) = tried.transpose() {
                drop(state);
                return done;
            }
            if self.is_told_here() {
                return Err(waits_for_itself("stream.push"));
            }
            let left = deadline.get_or_insert_with(|| now().after(patience.within)).since(now());
            if left == Nanos(0) {
                if let Some(e) = state.refusal() {
                    return Err(e);
                }
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

    pub(super) fn usable(&self, state: &State, partition: u32) -> Result<()> {
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

    /// How many bytes make a batch; several have room in the outbox.
    pub(super) fn target(&self) -> u64 {
        TARGET.min(self.options.outbox.0 / 4)
    }

    pub(super) fn is_full(&self, open: &Body) -> bool {
        let Content { records, metadata, data } = open.content();
        let bytes = u64::from(records) * ENDS + u64::from(metadata) + data;
        match self.options.batch {
            BatchSize::Adaptive => bytes >= self.target() || records >= EVENTS_MAX,
            BatchSize::Fixed(events) => {
                let most = (16 * TARGET).min(self.options.outbox.0 / 4);
                bytes >= most || records >= events.min(EVENTS_MAX)
            }
        }
    }

    /// Sends what has been gathered for a partition; false when there is no room for it.
    pub(super) fn send_open(&self, state: &mut State, partition: u32) -> bool {
        let lane = &mut state.lanes[partition as usize];
        if lane.open.content().records == 0 {
            return true;
        }
        let (open, promise) = (std::mem::take(&mut lane.open), lane.promise.clone());
        let write = |front: &mut [u8], data: &mut [u8]| open.write(front, data);
        let sent = self.post(state, partition, &Load { content: open.content(), write: &write }, promise);
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
    pub(super) fn post(
        &self,
        state: &mut State,
        partition: u32,
        load: &Load<'_>,
        promise: Arc<Promise>,
    ) -> bool {
        let Some(link) = state.link.clone() else { return false };
        let lane = &state.lanes[partition as usize];
        if state.flights.len() >= self.options.batches || lane.again.is_some() || lane.held {
            return false;
        }
        let bytes = load.bytes();
        let under_way: u64 = state.flights.values().map(|flight| flight.bytes).sum();
        if state.flights.len() >= OVERLAP && under_way + bytes > AHEAD {
            return false;
        }
        let Some(at) = state.room.take(bytes) else { return false };
        let Ok(start) = state.outbox.at(at, Bytes(bytes)) else {
            state.room.give_back(at);
            return false;
        };
        // SAFETY: the room is this batch's alone until it is given back, and the segment lives as long as the state.
        load.write(unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) });
        let lane = &mut state.lanes[partition as usize];
        let batch = self.batch(lane, load, at);
        lane.sequence += u64::from(batch.events);
        lane.posted += 1;
        let id = state.next;
        state.next += 1;
        let flight = Flight { lane: partition, batch, bytes, promise, refused: None, since: now() };
        state.flights.insert(id, flight);
        self.say(state, &*link, id, partition, batch);
        true
    }

    /// Sends a batch. A link that does not take it is given up: whoever takes the replies connects again, and sends all again.
    pub(super) fn say(&self, state: &mut State, link: &dyn Link, id: u64, partition: u32, batch: Batch) {
        if link.send(id, &self.request(partition, batch), Patience::of(SEND)).is_err() {
            state.link = None;
        }
    }

    pub(super) fn batch(&self, lane: &Lane, load: &Load<'_>, at: u64) -> Batch {
        let Content { records, metadata, data } = load.content;
        Batch {
            producer: lane.number,
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
    pub(super) fn append_huge(
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
        load.write(unsafe { std::slice::from_raw_parts_mut(start, bytes.0 as usize) });
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
                other => return Err(unexpected(&other)),
            }
        }
    }

    pub(super) fn request(&self, partition: u32, batch: Batch) -> Request {
        Request::Produce { place: Place { topic: self.topic.clone(), partition }, batch }
    }
}
