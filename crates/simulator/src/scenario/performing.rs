//! What ranks do: one operation after the other, until they have to wait.

use super::envelope::{client, Envelope, COMPUTED, TIMER_SHIFT};
use super::partition::Partition;
use super::rank::Waits;
use crate::mpi::collectives::{is_collective, schedule, Part};
use crate::mpi::{Arrived, Posted, Protocol, HANDSHAKE_BYTES};
use crate::storage::{Arrangement, Request, Storage};
use crate::workload::operation::{Operation, Tag, MOST_BYTES};
use thalweg_foundation::{Error, Kind, Result};

impl Partition {
    /// Lets a rank go on until it waits for something.
    pub(super) fn advance(&mut self, application: usize, rank: usize) -> Result<()> {
        loop {
            let now = self.network.now();
            let Some(operation) = self.applications[application].ranks[rank].next(now)? else {
                let state = &mut self.applications[application].ranks[rank];
                state.waits = Waits::Ended;
                state.end = now;
                return Ok(());
            };
            let waits = self.perform(application, rank, operation)?;
            if waits != Waits::Nothing {
                let state = &mut self.applications[application].ranks[rank];
                state.waits = waits;
                state.since = now;
                return Ok(());
            }
        }
    }

    /// Begins an operation; what the rank has to wait for.
    fn perform(&mut self, application: usize, rank: usize, operation: Operation) -> Result<Waits> {
        let ranks = self.applications[application].ranks.len() as u32;
        let (kind, bytes) = operation.kind();
        if bytes > MOST_BYTES {
            let detail = format!(
                "rank {rank} of application {application} has a {kind} of {bytes} bytes; accepted are up to {MOST_BYTES} \
                 (1 TiB) at once"
            );
            return Err(Error::new(Kind::Invalid, "simulation", detail));
        }
        let state = &mut self.applications[application].ranks[rank];
        Ok(match operation {
            Operation::Send { to, bytes, tag } => {
                self.send(application, rank, to, bytes, tag, None)?;
                Waits::Send(to)
            }
            Operation::Isend { to, bytes, tag, request } => {
                state.begin(rank, request)?;
                self.send(application, rank, to, bytes, tag, Some(request))?;
                Waits::Nothing
            }
            Operation::Recv { from, bytes, tag } => {
                self.receive(application, rank, Posted { from, tag, bytes, request: None })?
            }
            Operation::Irecv { from, bytes, tag, request } => {
                state.begin(rank, request)?;
                self.receive(application, rank, Posted { from, tag, bytes, request: Some(request) })?
            }
            Operation::Wait { request } if state.pending.contains(&request) => Waits::Request(request),
            Operation::WaitAll if !state.pending.is_empty() => Waits::Requests,
            Operation::Wait { .. } | Operation::WaitAll => Waits::Nothing,
            Operation::Compute { time } => {
                let cookie = COMPUTED << TIMER_SHIFT | client(application, rank);
                self.network.wake_at(self.network.now() + time, cookie);
                Waits::Time
            }
            Operation::Collective { kind, root, bytes, ref group } => {
                let part = Part { kind, root, bytes, group };
                let Protocol { algorithms, exchange, .. } = &self.settings.protocol;
                state.schedule.extend(schedule(part, rank as u32, ranks, algorithms, *exchange)?);
                Waits::Nothing
            }
            Operation::Open { file } | Operation::Close { file } | Operation::Sync { file } => {
                let Storage { arrangement, asks, .. } = self.settings.storage;
                if !asks || arrangement == Arrangement::NodeLocal {
                    return Ok(Waits::Nothing);
                }
                self.ask(
                    application,
                    rank,
                    Request { object: file.into(), offset: 0, bytes: 0, writes: false },
                )?
            }
            Operation::Write { bytes: 0, .. } | Operation::Read { bytes: 0, .. } => Waits::Nothing,
            Operation::Write { file, at, bytes } => {
                self.ask(application, rank, Request { object: file.into(), offset: at, bytes, writes: true })?
            }
            Operation::Read { file, at, bytes } => self.ask(
                application,
                rank,
                Request { object: file.into(), offset: at, bytes, writes: false },
            )?,
        })
    }

    fn send(
        &mut self,
        application: usize,
        rank: usize,
        to: u32,
        bytes: u64,
        tag: Tag,
        request: Option<u32>,
    ) -> Result<()> {
        let state = &mut self.applications[application];
        let ranks = state.nodes.len();
        if to as usize >= ranks || to as usize == rank {
            let detail = format!(
                "rank {rank} of application {application} sends to rank {to}; accepted are the other ranks below {ranks}"
            );
            return Err(Error::new(Kind::Invalid, "simulation: send", detail));
        }
        let sender = &mut state.ranks[rank];
        sender.sent = (sender.sent.0 + 1, sender.sent.1 + bytes);
        let number = sender.order.number((to, is_collective(tag)));
        let terminal = |rank: usize| self.layout.terminal_of(state.nodes[rank]);
        let (from_node, to_node) = (terminal(rank), terminal(to as usize));
        let application_number = application as u16;
        let from = rank as u32;
        if !self.settings.protocol.waits(bytes) {
            let delay = self.settings.protocol.delay(bytes);
            let envelope = Envelope::Rank { application: application_number, from, to, tag, number, request };
            self.post(application, from_node, to_node, bytes, envelope, delay);
            return Ok(());
        }
        let state = &mut state.ranks[rank];
        let held = state.holds;
        state.holds = held.wrapping_add(1);
        state.held.insert(held, (bytes, request));
        let delay = self.settings.protocol.delay(HANDSHAKE_BYTES);
        let envelope = Envelope::Call { application: application_number, from, to, tag, number, bytes, held };
        self.post(application, from_node, to_node, HANDSHAKE_BYTES, envelope, delay);
        Ok(())
    }

    /// Posts a receive; what the rank has to wait for.
    fn receive(&mut self, application: usize, rank: usize, receive: Posted) -> Result<Waits> {
        let state = &mut self.applications[application].ranks[rank];
        let arrived = state.matching.post(receive);
        if let Some(message) = arrived {
            receive.check_room(rank, message)?;
            if message.held.is_none() {
                receive.request.map(|request| state.complete(request));
                return Ok(Waits::Nothing);
            }
        }
        if let Some(Arrived { from, held: Some(held), .. }) = arrived {
            self.answer(application, rank, from, held, receive.request);
        }
        Ok(match receive.request {
            Some(_) => Waits::Nothing,
            None => Waits::Receive,
        })
    }

    /// Tells the sender of a message that is held back that it may come.
    pub(super) fn answer(
        &mut self,
        application: usize,
        rank: usize,
        sender: u32,
        held: u32,
        request: Option<u32>,
    ) {
        let nodes = &self.applications[application].nodes;
        let terminal = |rank: usize| self.layout.terminal_of(nodes[rank]);
        let (from_node, to_node) = (terminal(rank), terminal(sender as usize));
        let envelope = Envelope::Answer {
            application: application as u16,
            from: rank as u32,
            to: sender,
            held,
            request,
        };
        let delay = self.settings.protocol.delay(HANDSHAKE_BYTES);
        self.post(application, from_node, to_node, HANDSHAKE_BYTES, envelope, delay);
    }

    /// Sends a message that was held back; its data are not copied.
    pub(super) fn release(
        &mut self,
        application: usize,
        rank: usize,
        receiver: u32,
        held: u32,
        receives: Option<u32>,
    ) {
        let state = &mut self.applications[application];
        let Some((bytes, sends)) = state.ranks[rank].held.remove(&held) else { return };
        let terminal = |rank: usize| self.layout.terminal_of(state.nodes[rank]);
        let (from_node, to_node) = (terminal(rank), terminal(receiver as usize));
        let envelope = Envelope::Held {
            application: application as u16,
            from: rank as u32,
            to: receiver,
            sends,
            receives,
        };
        let delay = self.settings.protocol.overhead;
        self.post(application, from_node, to_node, bytes, envelope, delay);
    }
}
