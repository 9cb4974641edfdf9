//! What the network tells, and whom that lets go on.

use super::envelope::{who, Envelope, COMPUTED, CONTROL_BYTES, STORED, TIMER_SHIFT, UNIT_BITS};
use super::partition::Partition;
use super::rank::Waits;
use crate::engine::Picos;
use crate::mpi::collectives::is_collective;
use crate::mpi::Arrived;
use crate::network::{Notice, Order};
use crate::storage::Request;
use thalweg_foundation::Result;

impl Partition {
    pub(super) fn hear(&mut self, notice: Notice<Envelope>) -> Result<()> {
        match notice {
            Notice::Made(_) => Ok(()),
            Notice::Sent(order) => match order.content {
                Envelope::Rank { application, from, to, request, .. }
                | Envelope::Held { application, from, to, sends: request, .. } => {
                    let state = &mut self.applications[usize::from(application)].ranks[from as usize];
                    let goes_on = match request {
                        Some(request) => state.complete(request),
                        None => state.waits == Waits::Send(to),
                    };
                    self.resume_if(goes_on, usize::from(application), from as usize)
                }
                _ => Ok(()),
            },
            Notice::Delivered(order) => self.arrive(order),
            Notice::Timer(cookie) => self.timer(cookie),
        }
    }

    fn arrive(&mut self, order: Order<Envelope>) -> Result<()> {
        match order.content {
            Envelope::Rank { application, from, to, tag, number, .. } => {
                let message = Arrived { from, tag, bytes: order.bytes, held: None };
                self.take(usize::from(application), to as usize, number, message)
            }
            Envelope::Call { application, from, to, tag, number, bytes, held } => {
                let message = Arrived { from, tag, bytes, held: Some(held) };
                self.take(usize::from(application), to as usize, number, message)
            }
            Envelope::Answer { application, from, to, held, request } => {
                self.release(usize::from(application), to as usize, from, held, request);
                Ok(())
            }
            Envelope::Held { application, to, receives, .. } => {
                let (application, to) = (usize::from(application), to as usize);
                let state = &mut self.applications[application].ranks[to];
                state.received = (state.received.0 + 1, state.received.1 + order.bytes);
                self.received(application, to, receives)
            }
            Envelope::Ask { client, file, at, bytes, writes } => {
                self.asked(client, file, Request { object: 0, offset: at, bytes, writes });
                Ok(())
            }
            Envelope::Fetched { job } => {
                let application = usize::from(order.application);
                self.post(
                    application,
                    order.to,
                    order.from,
                    CONTROL_BYTES,
                    Envelope::Got { job },
                    Picos::ZERO,
                );
                Ok(())
            }
            Envelope::Got { job } => {
                self.finish(job);
                Ok(())
            }
            Envelope::Pull { job, unit, bytes } => {
                self.pulled(job, unit, bytes, order);
                Ok(())
            }
            Envelope::Data { job, unit } => {
                self.arrived(job, unit);
                Ok(())
            }
            Envelope::Done { client } => {
                let (application, rank) = who(client);
                let waits = self.applications[application].ranks[rank].waits == Waits::Storage;
                self.resume_if(waits, application, rank)
            }
        }
    }

    /// A message has come to a rank: it is matched when all that its sender sent before it have been, and so are those behind it.
    fn take(&mut self, application: usize, rank: usize, number: u32, message: Arrived) -> Result<()> {
        let lane = (message.from, is_collective(message.tag));
        let order = &mut self.applications[application].ranks[rank].order;
        let mut due = order.arrive(lane, number, message);
        while let Some(message) = due {
            self.matched(application, rank, message)?;
            due = self.applications[application].ranks[rank].order.next(lane);
        }
        Ok(())
    }

    /// A message goes to the receive that waits for it, or waits itself.
    fn matched(&mut self, application: usize, rank: usize, message: Arrived) -> Result<()> {
        let state = &mut self.applications[application].ranks[rank];
        if message.held.is_none() {
            state.received = (state.received.0 + 1, state.received.1 + message.bytes);
        }
        let Some(posted) = state.matching.arrive(message) else { return Ok(()) };
        posted.check_room(rank, message)?;
        match message.held {
            None => self.received(application, rank, posted.request),
            Some(held) => {
                self.answer(application, rank, message.from, held, posted.request);
                Ok(())
            }
        }
    }

    /// A rank has the message of a receive: that of a request, or the one that it blocks on.
    fn received(&mut self, application: usize, rank: usize, request: Option<u32>) -> Result<()> {
        let state = &mut self.applications[application].ranks[rank];
        let goes_on = match request {
            Some(request) => state.complete(request),
            None => state.waits == Waits::Receive,
        };
        self.resume_if(goes_on, application, rank)
    }

    fn timer(&mut self, cookie: u64) -> Result<()> {
        let rest = cookie & ((1 << TIMER_SHIFT) - 1);
        if matches!(cookie >> TIMER_SHIFT, COMPUTED | STORED) {
            let (application, rank) = who(rest);
            return self.resume_if(true, application, rank);
        }
        self.worked((rest >> UNIT_BITS) as u32, rest & ((1 << UNIT_BITS) - 1));
        Ok(())
    }

    fn resume_if(&mut self, goes_on: bool, application: usize, rank: usize) -> Result<()> {
        if goes_on {
            let now = self.network.now();
            self.applications[application].ranks[rank].resume(now);
            self.advance(application, rank)?;
        }
        Ok(())
    }
}
