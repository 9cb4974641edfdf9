//! What becomes of batches: replies are taken, what was refused or lost is sent again, or fails.

use super::super::super::message::Reply;
use super::super::link::unexpected;
use super::shipping::{Flight, Lane, Shared, State};
use super::{BatchSize, Ordering};
use std::sync::{MutexGuard, Weak};
use thalweg_foundation::{Bytes, Error, Kind, Nanos};
use thalweg_transport::link::{now, Patience};

/// How long to wait before something that was refused is sent again; then twice as long, up to the second.
pub(super) const AGAIN: Nanos = Nanos(2_000_000);
pub(super) const AGAIN_MAX: Nanos = Nanos(250_000_000);
/// How soon it is tried again to connect.
const RECONNECT: Nanos = Nanos(50_000_000);

impl Shared {
    /// Takes what has become of a batch.
    pub(super) fn answered(&self, state: &mut State, id: u64, reply: Reply) {
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
                (lane.pause, lane.why) = (Nanos(0), None);
                state.room.give_back(flight.batch.at);
                state.kept.push((flight.promise, Ok(first)));
            }
            Reply::Failed(e) => flight.refuse(e, &mut state.lanes[partition as usize]),
            other => flight.refuse(unexpected(&other), &mut state.lanes[partition as usize]),
        }
        self.settle(state, partition);
    }

    /// Sends what has been gathered for partitions that have nothing under way, is full, or is waited for.
    pub(super) fn send_waiting(&self, state: &mut State) {
        // Every partition has its turn.
        let partitions = state.lanes.len() as u32;
        state.turn = (state.turn + 1) % partitions.max(1);
        for n in 0..partitions {
            let next = (state.turn + n) % partitions;
            let lane = &state.lanes[next as usize];
            let idle = self.options.batch == BatchSize::Adaptive && lane.posted == 0;
            if idle || lane.urged || self.is_full(&lane.open) {
                self.send_open(state, next);
            }
        }
    }

    /// When all batches of a partition are answered and some were refused, they are to be sent again, or fail.
    pub(super) fn settle(&self, state: &mut State, partition: u32) {
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
    pub(super) fn fail_lane(&self, state: &mut State, partition: u32, e: &Error) {
        let ids: Vec<u64> =
            state.flights.iter().filter(|(_, flight)| flight.lane == partition).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(flight) = state.flights.remove(&id) else { continue };
            state.room.give_back(flight.batch.at);
            state.kept.push((flight.promise, Err(e.clone())));
        }
        let lane = &mut state.lanes[partition as usize];
        lane.posted = 0;
        (lane.again, lane.why) = (None, None);
        lane.begin_anew();
        if self.options.ordering == Ordering::Strict && lane.open.content().records > 0 {
            lane.open.clear();
            state.kept.push((std::mem::replace(&mut lane.promise, self.promise(partition)), Err(e.clone())));
        }
        state.trouble.get_or_insert_with(|| e.clone());
    }

    /// Sends again what it is time for.
    pub(super) fn resend(&self, state: &mut State) {
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
    pub(super) fn send_lane(&self, state: &mut State, partition: u32) {
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
            let batch = flight.batch;
            self.say(state, &*link, id, partition, batch);
        }
    }

    /// Connects again after the link broke, and sends again what was under way.
    pub(super) fn reconnect(&self) {
        let mut waits_since = None;
        loop {
            {
                let mut state = self.lock();
                state.link = None;
                if state.closed {
                    return;
                }
                let gathered = |lane: &Lane| lane.open.content().records > 0;
                let waits = !state.flights.is_empty() || state.lanes.iter().any(gathered);
                waits_since = waits.then(|| waits_since.unwrap_or_else(now));
            }
            let overdue = waits_since.is_some_and(|since| now() >= since.after(self.options.within));
            let patience = Patience::of(self.options.within.min(Nanos(1_000_000_000)));
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
                Err(e) if !matches!(e.kind, Kind::Gone | Kind::Timeout | Kind::Full) => {
                    return self.fail_all(state, &e);
                }
                // What is pushed later has its own time.
                Err(e) if overdue => {
                    self.fail_waiting(&mut state, &e);
                    self.tell(state);
                    waits_since = None;
                    std::thread::sleep(RECONNECT.duration());
                    continue;
                }
                Err(_) => {}
            }
            drop(state);
            std::thread::sleep(RECONNECT.duration());
        }
    }

    pub(super) fn fail_all(&self, mut state: MutexGuard<'_, State>, e: &Error) {
        state.failed.get_or_insert_with(|| e.clone());
        self.fail_waiting(&mut state, e);
        self.tell(state);
    }

    fn fail_waiting(&self, state: &mut State, e: &Error) {
        for partition in 0..state.lanes.len() as u32 {
            self.fail_lane(state, partition, e);
            let lane = &mut state.lanes[partition as usize];
            if lane.open.content().records > 0 {
                lane.open.clear();
                let promise = std::mem::replace(&mut lane.promise, self.promise(partition));
                state.kept.push((promise, Err(e.clone())));
            }
        }
    }

    /// Tells the promises what has become of them, without the lock: whoever is told may push again.
    pub(super) fn tell(&self, mut state: MutexGuard<'_, State>) {
        let kept = std::mem::take(&mut state.kept);
        drop(state);
        kept.into_iter().for_each(|(promise, outcome)| promise.keep(outcome));
        self.changed.notify_all();
    }

    pub(super) fn end(&self, why: &str) {
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
    pub(super) fn refuse(&mut self, e: Error, lane: &mut Lane) {
        lane.why = Some(e.clone());
        self.refused = Some(e);
        lane.posted -= 1;
    }
}

/// Takes the replies, until the producer is gone.
pub(super) fn replies(shared: &Weak<Shared>) {
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
        // What else has come already too, so that nobody is woken for each; without the lock, as the link may make it wait.
        let mut came = vec![link.next(Patience::of(wait.max(Nanos(100_000))))];
        while came.len() < 64 && came.last().is_some_and(|next| next.is_ok()) {
            came.push(link.next(Patience::of(Nanos(0))));
        }
        drop(link);
        let mut state = shared.lock();
        if state.closed {
            return;
        }
        for next in came {
            match next {
                Ok((id, reply)) => shared.answered(&mut state, id, reply),
                Err(e) if e.kind == Kind::Timeout => {}
                Err(_) => state.link = None,
            }
        }
        shared.resend(&mut state);
        shared.send_waiting(&mut state);
        shared.tell(state);
    }
}
