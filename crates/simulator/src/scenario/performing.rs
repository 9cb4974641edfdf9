//! What ranks do: one operation after the other, until they have to wait.

use super::envelope::{client, Envelope, COMPUTED, CONTROL_BYTES, TIMER_SHIFT};
use super::partition::Partition;
use super::rank::Waits;
use crate::engine::Picos;
use crate::mpi::collectives::{schedule, Part};
use crate::mpi::{Posted, Protocol};
use crate::workload::operation::{Operation, Tag};
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
        let state = &mut self.applications[application].ranks[rank];
        Ok(match operation {
            Operation::Send { to, bytes, tag } => {
                self.send(application, rank, to, bytes, tag, None)?;
                Waits::Send(to)
            }
            Operation::Isend { to, bytes, tag, request } => {
                state.pending.push(request);
                self.send(application, rank, to, bytes, tag, Some(request))?;
                Waits::Nothing
            }
            Operation::Recv { from, tag, .. } => {
                if state.matching.post(Posted { from, tag, request: None }) {
                    Waits::Nothing
                } else {
                    Waits::Receive
                }
            }
            Operation::Irecv { from, tag, request, .. } => {
                if !state.matching.post(Posted { from, tag, request: Some(request) }) {
                    state.pending.push(request);
                }
                Waits::Nothing
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
            // Opening, closing and synchronising cost the client nothing in the published artifact.
            Operation::Open { .. } | Operation::Close { .. } | Operation::Sync { .. } => Waits::Nothing,
            Operation::Write { bytes, .. } | Operation::Read { bytes, .. } => {
                if bytes == 0 {
                    return Ok(Waits::Nothing);
                }
                let writes = matches!(operation, Operation::Write { .. });
                let node = self.applications[application].nodes[rank];
                let ask = Envelope::Ask { client: client(application, rank), bytes, writes };
                let (_, server) = self.layout.burst_buffer_of(node);
                self.post(
                    application,
                    self.layout.terminal_of(node),
                    server,
                    CONTROL_BYTES,
                    ask,
                    Picos::ZERO,
                );
                Waits::Storage
            }
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
        let sent = &mut state.ranks[rank].sent;
        *sent = (sent.0 + 1, sent.1 + bytes);
        let terminal = |rank: usize| self.layout.terminal_of(state.nodes[rank]);
        let (from_node, to_node) = (terminal(rank), terminal(to as usize));
        let envelope =
            Envelope::Rank { application: application as u16, from: rank as u32, to, tag, request };
        let delay = self.settings.protocol.delay(bytes);
        self.post(application, from_node, to_node, bytes, envelope, delay);
        Ok(())
    }
}
