//! Tasks: work on bytes that the service wants done, by whoever has memory and threads.

use super::super::message::{Bins, Reduction, Reply};
use super::pool::Extent;
use super::state::{refused, Owner, VariablePlace};
use super::waiting::Id;
use super::{Ground, Output, Staging};
use thalweg_foundation::array::{Cell, Layout, Region};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result, Version};

/// While so many tasks are to be done no replica is made: a get takes the originals, as a busy server is never waited for.
const BUSY: usize = 128;
/// The most tasks at a time; a reduction that would be one more is refused.
const TASKS_MAX: usize = 256;

/// A packed array of which cells are to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Where it lies.
    pub extent: Extent,
    /// Which cells it holds.
    pub region: Region,
    /// How they lie.
    pub layout: Layout,
    /// Which of them to take: regions that do not meet.
    pub cells: Vec<Region>,
}

/// Work on bytes. Nobody else touches what it writes, and what it reads stays as it is until it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Copy cells into a packed array that lies otherwise.
    Reorganise {
        /// What a cell is.
        cell: Cell,
        /// From where.
        parts: Vec<Taken>,
        /// Where the packed array lies.
        to: Extent,
        /// Which cells it holds.
        region: Region,
        /// How they are to lie.
        layout: Layout,
    },
    /// Copy bytes as they are.
    Move {
        /// From where.
        from: Extent,
        /// To where.
        to: Extent,
        /// How many.
        bytes: Bytes,
    },
    /// Reduce cells to numbers.
    Summarise {
        /// What a cell is.
        cell: Cell,
        /// From where.
        parts: Vec<Taken>,
        /// The histogram's bins.
        bins: Option<Bins>,
    },
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bytes are where they were wanted.
    Written,
    /// The numbers.
    Found(Reduction),
    /// It could not be done.
    Failed(Error),
}

/// What the service remembers of a task under way.
#[derive(Debug)]
pub(super) enum Running {
    /// Part of a replica is filled.
    Filling { place: VariablePlace, version: Version, replica: u64, cells: u128, pins: Vec<Ticket> },
    /// Something is moved into the spill file.
    Moving { owner: Owner, ticket: Ticket, to: Extent },
    /// Numbers are made for a client.
    Summarising {
        /// Who waits for them, and until when; none when nobody does any more.
        asker: Option<(Id, Option<Nanos>)>,
        version: Version,
        pins: Vec<Ticket>,
    },
}

impl Staging {
    /// Whether there is so much to do that nothing is done ahead of need.
    pub(super) fn is_busy(&self) -> bool {
        self.tasks.len() >= BUSY
    }

    /// Refuses a reduction when there is too much to do.
    pub(super) fn may_reduce(&self) -> Result<()> {
        if self.tasks.len() < TASKS_MAX {
            return Ok(());
        }
        let detail = format!(
            "{} tasks wait already; accepted are at most {TASKS_MAX}: ask again later",
            self.tasks.len()
        );
        Err(Error::new(Kind::Full, "stage.reduce", detail))
    }

    /// Remembers `running`; the number of the task.
    pub(super) fn begin(&mut self, running: Running) -> u64 {
        let number = self.next_task;
        self.next_task += 1;
        if let Running::Filling { pins, .. } | Running::Summarising { pins, .. } = &running {
            pins.iter().for_each(|ticket| self.store.pin(*ticket));
        }
        if let Running::Moving { ticket, .. } = &running {
            self.store.pin(*ticket);
        }
        self.tasks.insert(number, running);
        number
    }

    /// Those who wait for numbers, and until when.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (Id, Option<Nanos>)> + '_ {
        self.tasks.values().filter_map(|running| match running {
            Running::Summarising { asker, .. } => *asker,
            _ => None,
        })
    }

    /// Nobody of those that `gone` says waits for numbers any more; whether one did.
    pub(super) fn forget_summaries(&mut self, gone: impl Fn(Id) -> bool) -> bool {
        let mut any = false;
        for running in self.tasks.values_mut() {
            if let Running::Summarising { asker, .. } = running {
                if let Some(((peer, id), due)) = asker.take_if(|(id, _)| gone(*id)) {
                    due.map(|due| self.deadlines.remove(&(due, peer, id)));
                    any = true;
                }
            }
        }
        any
    }

    /// A task has come to its end.
    pub(super) fn done(
        &mut self,
        number: u64,
        outcome: Outcome,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let Some(running) = self.tasks.remove(&number) else { return };
        let written = outcome == Outcome::Written;
        match running {
            Running::Filling { place, version, replica, cells, pins } => {
                pins.into_iter().for_each(|ticket| self.store.unpin(ticket));
                self.filled(&place, version, replica, written.then_some(cells), ground, out);
                self.sweep(ground);
                self.serve_gets(&place, Some(version), ground, out);
            }
            Running::Moving { owner, ticket, to } => {
                self.moved(&owner, ticket, to, written, ground);
            }
            Running::Summarising { asker, version, pins } => {
                pins.into_iter().for_each(|ticket| self.store.unpin(ticket));
                self.sweep(ground);
                let reply = match outcome {
                    Outcome::Found(found) => Reply::Summary { version, found },
                    Outcome::Failed(e) => Reply::Failed(e),
                    Outcome::Written => refused(Kind::Protocol, "stage.reduce", "a task without an answer"),
                };
                if let Some(((to, id), due)) = asker {
                    due.map(|due| self.deadlines.remove(&(due, to, id)));
                    out.push(Output::Send { to, id, reply });
                }
            }
        }
        self.admit(ground, out);
    }
}
