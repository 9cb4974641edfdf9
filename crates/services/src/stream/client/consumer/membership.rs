//! Taking part in a named consumer, also after the link broke.

use super::super::super::message::{Held, Reply, Request};
use super::super::link::{unexpected, Connect, Link};
use super::{Consumer, ConsumerOptions, Lane, State};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::process;

/// So long it is tried to connect again after the link broke.
const RECOVER: Nanos = Nanos(5_000_000_000);
/// And so often.
pub(super) const AGAIN: Nanos = Nanos(50_000_000);

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
        let consumer = Consumer {
            connect,
            link,
            topic,
            options,
            pulling: Mutex::default(),
            rejoining: Mutex::default(),
            state: Mutex::default(),
            marks: Mutex::default(),
            closed: AtomicBool::new(false),
            made_in: process::id(),
        };
        let news = consumer.link().ask(consumer.joining(), patience)?;
        consumer.take(&mut consumer.lock(), news)?;
        Ok(consumer)
    }

    pub(super) fn joining(&self) -> Request {
        let ConsumerOptions { name, only, begin } = self.options.clone();
        Request::Join { topic: self.topic.clone(), consumer: name, only, begin }
    }

    /// The link `broken` broke: connects again, as long as the patience lasts, and goes on where it was; false when nobody answered
    /// yet.
    ///
    /// # Errors
    /// `e` when nobody has answered for long, or why it cannot join.
    pub(super) fn rejoin(&self, broken: &Arc<dyn Link>, e: Error, patience: Patience<'_>) -> Result<bool> {
        let deadline = now().after(patience.within);
        // A thread that pulls and one that reads data may both meet the broken link: one of them connects.
        let _one_at_a_time = self.rejoining.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(broken, &self.link()) {
            return Ok(true);
        }
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
                        if let Some(behind) = self.marks().behind.get(partition) {
                            link.tell(self.acknowledging(*partition, lane.events.end.min(*behind)));
                        }
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

    pub(super) fn take(&self, state: &mut State, news: Reply) -> Result<()> {
        let Reply::News { generation, held } = news else { return Err(unexpected(&news)) };
        if generation < state.generation {
            // An answer that was overtaken by a newer one.
            return Ok(());
        }
        (state.generation, state.heard) = (generation, now());
        let mut marks = self.marks();
        let is_held = |partition: &u32| held.iter().any(|h| h.partition == *partition);
        state.lanes.retain(|partition, _| is_held(partition));
        marks.behind.retain(|partition, _| is_held(partition));
        for Held { partition, next, events, origin } in held {
            if state.lanes.get(&partition).is_some_and(|lane| lane.origin != origin) {
                // Events in memory ended with their server: what is there now are others.
                state.lanes.remove(&partition);
                marks.behind.remove(&partition);
                marks.told.take_if(|(told, _)| *told == partition);
            }
            let lane = state.lanes.entry(partition).or_insert_with(|| Lane {
                next,
                origin,
                events: events.clone(),
                source: self.link().source(&self.place(partition)),
                ahead: None,
            });
            lane.events = events;
            let behind = marks.behind.entry(partition).or_insert(next);
            *behind = next.max(*behind);
            // What retention has let go of cannot be read any more.
            lane.next = lane.next.max(lane.events.start);
        }
        Ok(())
    }

    pub(super) fn leaving(&self, forget: bool) -> Request {
        Request::Leave { topic: self.topic.clone(), consumer: self.options.name.clone(), forget }
    }
}
