//! A rank: where it is in its program, and what it waits for.

use crate::engine::Picos;
use crate::mpi::{Arrived, InOrder, Matching};
use crate::workload::operation::{Operation, Program, Seen};
use std::collections::{HashMap, VecDeque};
use thalweg_foundation::{Error, Kind, Result};

/// What a rank waits for before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Nothing: it can run.
    Nothing,
    /// Its blocking send.
    Send(u32),
    /// The message of its blocking receive.
    Receive,
    /// A request.
    Request(u32),
    /// All requests.
    Requests,
    /// The end of its computing.
    Time,
    /// The storage.
    Storage,
    /// Nothing any more: its program has ended.
    Ended,
}

/// How long a rank spent on what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub communication: Picos,
    pub io: Picos,
    pub compute: Picos,
}

/// Bytes that were read from and written to storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl Stored {
    /// Counts what another one has.
    pub fn add(&mut self, other: Stored) {
        self.read += other.read;
        self.written += other.written;
    }
}

/// One rank of an application.
pub struct Rank {
    pub program: Program,
    /// What is left of the collective that it is in.
    pub schedule: VecDeque<Operation>,
    pub matching: Matching,
    /// Numbers the messages that it sends, and has those that came before their turn.
    pub order: InOrder<Arrived>,
    /// Requests that are not complete.
    pub pending: Vec<u32>,
    /// Messages that are held back until they are received, by number: their bytes, and the requests of their sends.
    pub held: HashMap<u32, (u64, Option<u32>)>,
    /// How many messages were ever held back.
    pub holds: u32,
    pub waits: Waits,
    /// Since when it waits.
    pub since: Picos,
    pub spent: Spent,
    /// Messages that it sent to other ranks, and their bytes.
    pub sent: (u64, u64),
    /// Messages of other ranks that have come, and their bytes.
    pub received: (u64, u64),
    /// Bytes that it read and wrote.
    pub stored: Stored,
    /// When its program ended.
    pub end: Picos,
}

impl Rank {
    pub fn new(program: Program) -> Rank {
        Rank {
            program,
            schedule: VecDeque::new(),
            matching: Matching::default(),
            order: InOrder::default(),
            pending: Vec::new(),
            held: HashMap::new(),
            holds: 0,
            waits: Waits::Nothing,
            since: Picos::ZERO,
            spent: Spent::default(),
            sent: (0, 0),
            received: (0, 0),
            stored: Stored::default(),
            end: Picos::ZERO,
        }
    }

    /// The next operation.
    pub fn next(&mut self, now: Picos) -> Result<Option<Operation>> {
        match self.schedule.pop_front() {
            Some(operation) => Ok(Some(operation)),
            None => self.program.next(&Seen { now, sent: self.sent, received: self.received }),
        }
    }

    /// A request begins.
    ///
    /// # Errors
    /// `Invalid` when one of this number is not complete: nobody could tell them apart.
    pub fn begin(&mut self, rank: usize, request: u32) -> Result<()> {
        if self.pending.contains(&request) {
            let detail =
                format!("rank {rank} begins request {request} before the one of that number is complete");
            return Err(Error::new(Kind::Invalid, "simulation: request", detail));
        }
        self.pending.push(request);
        Ok(())
    }

    /// A request is complete; true when the rank waited for just that.
    pub fn complete(&mut self, request: u32) -> bool {
        if let Some(place) = self.pending.iter().position(|pending| *pending == request) {
            self.pending.swap_remove(place);
        }
        match self.waits {
            Waits::Request(waited) => waited == request,
            Waits::Requests => self.pending.is_empty(),
            _ => false,
        }
    }

    /// What it waited for has come.
    pub fn resume(&mut self, now: Picos) {
        let spent = match self.waits {
            Waits::Storage => &mut self.spent.io,
            Waits::Time => &mut self.spent.compute,
            _ => &mut self.spent.communication,
        };
        *spent += now - self.since;
        self.waits = Waits::Nothing;
    }
}
