//! Gets: clients that ask for a region of a version, and wait until it is complete.

use super::super::message::{Lies, Part, Reply, Which, Wish};
use super::super::{Print, Strategy};
use super::replica::taken;
use super::state::{refused, Staging, VariablePlace};
use super::task::{Running, Task};
use super::variable::{Instance, Rests};
use super::waiting::Id;
use super::words::{missing, past};
use super::{Ground, Output, PeerId};
use crate::envelope::MESSAGE_MAX;
use crate::patterns::Observed;
use thalweg_foundation::array::{Layout, Region};
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};

/// The longest answer in bytes, as they are estimated here; well below what a message may have.
const ANSWER_MAX: usize = MESSAGE_MAX / 2;
/// A number, and a part without its cells, in an answer, in bytes.
const NUMBER: usize = 10;
const PART: usize = 48;

/// One get.
#[derive(Clone, Debug)]
pub(super) struct Get {
    pub place: VariablePlace,
    pub which: Which,
    pub region: Region,
    pub wish: Wish,
    /// The version that it will have, once its replica is ready.
    pub picked: Option<Version>,
    pub asked: Nanos,
    pub deadline: Nanos,
}

/// A client that waits until somebody defines a variable.
#[derive(Clone, Debug)]
pub(super) struct Describing {
    pub place: VariablePlace,
    pub asked: Nanos,
    pub deadline: Nanos,
}

/// What can be said to a get now.
#[allow(clippy::large_enum_variant)] // it lives for one step
enum Now {
    Answer(Reply),
    /// A task will answer.
    Working,
    Wait,
}

impl Staging {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn get(
        &mut self,
        (peer, id): Id,
        (place, of): (VariablePlace, Print),
        which: Which,
        region: Region,
        wish: Wish,
        within: Nanos,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Option<Reply> {
        if self.is_pending(peer, id) || self.summaries().any(|(asker, _)| asker == (peer, id)) {
            return None;
        }
        if let Err(e) = self.may_get(&place, of, &region, &wish) {
            return Some(Reply::Failed(e));
        }
        let deadline = self.now.after(within);
        let mut get = Get { place, which, region, wish, picked: None, asked: self.now, deadline };
        let new = self.observe(&get);
        match self.answer(&mut get, (peer, id), None, ground, out) {
            Now::Answer(reply) => {
                self.look_ahead(&get, new, &reply, ground, out);
                return Some(reply);
            }
            Now::Working => {
                self.time_summary((peer, id), &get);
                return None;
            }
            Now::Wait => {}
        }
        if let Err(e) = self.may_wait(peer, "stage.get") {
            return Some(Reply::Failed(e));
        }
        if within == Nanos(0) {
            return Some(self.too_late(&get, peer));
        }
        self.deadlines.insert((get.deadline, peer, id));
        if let Some(variable) = self.variables.get_mut(&get.place) {
            variable.gets.insert((peer, id));
        }
        self.gets.insert((peer, id), get);
        None
    }

    /// Prepares what the reader will want next, and what others will want of this version if it is read again and again.
    fn look_ahead(
        &mut self,
        get: &Get,
        new: bool,
        reply: &Reply,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let Some(variable) = self.variables.get(&get.place) else { return };
        let Wish::Parts { layout: Some(_), strategy } = get.wish else { return };
        let adaptive = strategy.unwrap_or(variable.definition.strategy) == Strategy::Adaptive;
        if let (true, Reply::Parts { version, .. }) = (adaptive, reply) {
            self.prepare_from(&get.place, *version, !new, &get.region, ground, out);
        }
    }

    fn may_get(&self, place: &VariablePlace, of: Print, region: &Region, wish: &Wish) -> Result<()> {
        let variable = self.variable(place)?;
        let name = place.1.as_str();
        variable.is(of, "stage.get", name)?;
        if region.is_empty() || !variable.part.contains(region) {
            let detail = format!(
                "region {region} of variable {name:?}; accepted are regions with cells inside {}",
                variable.part
            );
            return Err(Error::new(Kind::Shape, "stage.get", detail));
        }
        let cell = &variable.definition.cell;
        match wish {
            Wish::Parts { layout: Some(layout), .. }
                if layout.axes().len() != region.lower().len() || cell.layout(*layout) != *layout =>
            {
                let detail = format!("layout {layout} for region {region} of variable {name:?}");
                Err(Error::new(Kind::Invalid, "stage.get", detail))
            }
            Wish::Summary { bins: Some(bins) }
                if !(bins.lower < bins.upper && bins.count > 0 && bins.count <= 1 << 16) =>
            {
                let detail = format!(
                    "{} bins from {} to {}; accepted are 1 to 65536 from a lower to a higher edge",
                    bins.count, bins.lower, bins.upper
                );
                Err(Error::new(Kind::Invalid, "stage.reduce", detail))
            }
            _ => Ok(()),
        }
    }

    /// Remembers in which region and layout a variable is read; whether that is new.
    fn observe(&mut self, get: &Get) -> bool {
        let Some(variable) = self.variables.get_mut(&get.place) else { return false };
        let Wish::Parts { layout: Some(layout), strategy } = get.wish else { return false };
        match strategy.unwrap_or(variable.definition.strategy) {
            Strategy::Adaptive => variable.patterns.observe(&get.region, layout) == Observed::New,
            Strategy::InAdvance => variable.definition.register(&[layout]),
            Strategy::AtDestination | Strategy::AsRequested => false,
        }
    }

    /// A version, or with none every version, has changed: answers the gets for which that is enough.
    pub(super) fn serve_gets(
        &mut self,
        place: &VariablePlace,
        version: Option<Version>,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let waiting: Vec<Id> =
            self.variables.get(place).into_iter().flat_map(|v| v.gets.iter().copied()).collect();
        for id in waiting {
            let Some(mut get) = self.gets.get(&id).cloned() else { continue };
            match self.answer(&mut get, id, version, ground, out) {
                Now::Answer(reply) => {
                    self.forget_get(id);
                    self.look_ahead(&get, false, &reply, ground, out);
                    out.push(Output::Send { to: id.0, id: id.1, reply });
                }
                Now::Working => {
                    self.forget_get(id);
                    self.time_summary(id, &get);
                }
                Now::Wait => {
                    self.gets.insert(id, get);
                }
            }
        }
    }

    /// What a get is told whose time is over: where the originals are if it only waits for a replica, else what is missing.
    pub(super) fn too_late(&mut self, get: &Get, peer: PeerId) -> Reply {
        let variable = self.variables.get(&get.place);
        let readable = |v: &Version| {
            let there = variable.and_then(|variable| Some((variable, variable.versions.get(v)?)));
            there.is_some_and(|(variable, i)| i.is_readable(&variable.definition, &get.region))
        };
        match get.picked.filter(readable) {
            Some(version) => self.originals(get, version),
            None => refused(Kind::Timeout, "stage.get", self.still_incomplete(get, peer)),
        }
    }

    /// From now on a task makes the numbers that `get` wants; who does not wait at all has them when they come.
    fn time_summary(&mut self, id: Id, get: &Get) {
        let due = Some(get.deadline).filter(|due| *due > get.asked);
        for running in self.tasks.values_mut() {
            if let Running::Summarising { asker: Some((asker, until)), .. } = running {
                if *asker == id {
                    *until = due;
                    self.deadlines.extend(due.map(|due| (due, id.0, id.1)));
                }
            }
        }
    }

    /// Takes a get out of those that wait.
    pub(super) fn forget_get(&mut self, id: Id) -> Option<Get> {
        let get = self.gets.remove(&id)?;
        self.deadlines.remove(&(get.deadline, id.0, id.1));
        if let Some(variable) = self.variables.get_mut(&get.place) {
            variable.gets.remove(&id);
        }
        Some(get)
    }

    /// What can be said to `get`; `only`: no other version has changed since it was asked last.
    fn answer(
        &mut self,
        get: &mut Get,
        id: Id,
        only: Option<Version>,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Now {
        let version = match self.select(get, only) {
            Ok(Some(version)) => version,
            Ok(None) => return Now::Wait,
            Err(e) => return Now::Answer(Reply::Failed(e)),
        };
        match get.wish {
            Wish::Version => Now::Answer(Reply::Parts { version, parts: Vec::new() }),
            Wish::Parts { layout, strategy } => {
                get.picked = Some(version);
                self.answer_parts(get, version, layout, strategy, ground, out)
            }
            Wish::Summary { bins } => {
                let Some(variable) = self.variables.get(&get.place) else { return Now::Wait };
                let Some(instance) = variable.versions.get(&version) else { return Now::Wait };
                let met = instance.pieces_of(&get.region);
                if met.keys().any(|at| matches!(instance.pieces[*at].rests, Rests::There { .. })) {
                    let detail = format!(
                        "cells {} of version {} of {:?} are kept by their writer; get them and reduce them here",
                        get.region,
                        version.0,
                        get.place.1.as_str()
                    );
                    return Now::Answer(refused(Kind::Invalid, "stage.reduce", detail));
                }
                if let Err(e) = self.may_reduce() {
                    return Now::Answer(Reply::Failed(e));
                }
                let (parts, pins) = taken(instance, &get.region, std::slice::from_ref(&get.region));
                let cell = variable.definition.cell.clone();
                let running = Running::Summarising { asker: Some((id, None)), version, pins };
                let number = self.begin(running);
                out.push(Output::Work { number, task: Task::Summarise { cell, parts, bins } });
                Now::Working
            }
        }
    }

    /// The version that a get may have now; an error when it will never have one.
    fn select(&self, get: &Get, only: Option<Version>) -> Result<Option<Version>> {
        let variable = self.variable(&get.place)?;
        let readable = |i: &Instance| i.is_readable(&variable.definition, &get.region);
        let candidate = |v: &Version| only.is_none_or(|only| only == *v);
        // While its replica is made another version may become readable; it has been chosen already.
        let picked = get.picked.filter(|v| variable.versions.get(v).is_some_and(readable));
        if picked.is_some() {
            return Ok(picked);
        }
        let candidate = |v: &Version| get.picked.is_some() || candidate(v);
        match get.which {
            Which::Exactly(version) => {
                if variable.past.has(version) {
                    return Err(Error::new(Kind::NotFound, "stage.get", past(variable, get, version)));
                }
                let Some(instance) = variable.versions.get(&version) else { return Ok(None) };
                if readable(instance) {
                    return Ok(Some(version));
                }
                if instance.is_closed(&variable.definition) {
                    let detail = format!(
                        "version {} of {:?} is sealed, and cells {} were never put",
                        version.0,
                        get.place.1.as_str(),
                        missing(instance, &get.region)
                    );
                    return Err(Error::new(Kind::NotFound, "stage.get", detail));
                }
                Ok(None)
            }
            Which::UpTo(version) => {
                let all = variable.versions.range(..=version).rev();
                Ok(all.filter(|(v, _)| candidate(v)).find(|(_, i)| readable(i)).map(|(v, _)| *v))
            }
            Which::From(version) => {
                let mut all = variable.versions.range(version..);
                Ok(all.find(|(v, i)| candidate(v) && readable(i)).map(|(v, _)| *v))
            }
        }
    }

    fn answer_parts(
        &mut self,
        get: &Get,
        version: Version,
        layout: Option<Layout>,
        strategy: Option<Strategy>,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Now {
        let Some(variable) = self.variables.get(&get.place) else { return Now::Wait };
        let Some(instance) = variable.versions.get(&version) else { return Now::Wait };
        let strategy = strategy.unwrap_or(variable.definition.strategy);
        let (part, region) = (variable.part, get.region);
        if let Some(layout) = layout.filter(|_| strategy != Strategy::AtDestination) {
            if let Some(at) =
                instance.replicas.iter().position(|r| r.stored.is_some() && r.serves(&region, &layout))
            {
                return Now::Answer(self.hit(get, version, at));
            }
            let met = instance.pieces_of(&region);
            if met.keys().any(|at| instance.pieces[*at].layout != layout) {
                let wanted = match strategy {
                    Strategy::AsRequested => Some(region),
                    Strategy::InAdvance => Some(part),
                    // A busy server is never waited for.
                    Strategy::Adaptive | Strategy::AtDestination => None,
                };
                let whole = wanted.filter(|wanted| instance.covers(wanted));
                if whole.is_some_and(|wanted| {
                    self.want_replica(&get.place, version, &wanted, &layout, ground, out)
                        && self.is_coming(&get.place, version, &region, &layout)
                }) {
                    return Now::Wait;
                }
            }
        }
        Now::Answer(self.originals(get, version))
    }

    /// Whether a replica that serves the get will be there without another put.
    fn is_coming(&self, place: &VariablePlace, version: Version, region: &Region, layout: &Layout) -> bool {
        let instance = self.variables.get(place).and_then(|v| v.versions.get(&version));
        instance.is_some_and(|i| i.replicas.iter().any(|r| r.is_under_way() && r.serves(region, layout)))
    }

    fn hit(&mut self, get: &Get, version: Version, at: usize) -> Reply {
        self.stats.gets += 1;
        self.stats.replica_hits += 1;
        let instance = self.variables.get_mut(&get.place).and_then(|v| v.versions.get_mut(&version));
        let replica = instance.and_then(|i| i.replicas.get_mut(at));
        let parts = replica.into_iter().filter_map(|replica| {
            replica.gets += 1;
            let stored = replica.stored?;
            let (segment, offset) = (stored.extent.segment, stored.extent.offset);
            Some(Part {
                lies: Lies::Here { slot: stored.slot, ticket: stored.ticket, segment, offset },
                region: replica.region,
                layout: replica.layout,
                cells: vec![get.region],
            })
        });
        Reply::Parts { version, parts: parts.collect() }
    }

    /// Where the pieces lie that hold the region.
    fn originals(&mut self, get: &Get, version: Version) -> Reply {
        self.stats.gets += 1;
        let instance = self.variables.get(&get.place).and_then(|v| v.versions.get(&version));
        let Some(instance) = instance else { return Reply::Parts { version, parts: Vec::new() } };
        let met = instance.pieces_of(&get.region);
        let of_part = |(at, cells): (&usize, &Vec<Region>)| {
            let words = match &instance.pieces[*at].rests {
                Rests::Here(_) => 0,
                Rests::There { address, source } => {
                    address.len() + source.name.as_str().len() + instance.pieces[*at].writer.len()
                }
            };
            PART + words + (cells.len() + 1) * 2 * (get.region.lower().len() + 1) * NUMBER
        };
        // A single cell lies in one piece, so that this ends.
        if met.len() > 1 && met.iter().map(of_part).sum::<usize>() > ANSWER_MAX {
            return Reply::Scattered { version };
        }
        let part = |(at, cells): (usize, Vec<Region>)| {
            let piece = &instance.pieces[at];
            let lies = match &piece.rests {
                Rests::Here(stored) => Lies::Here {
                    slot: stored.slot,
                    ticket: stored.ticket,
                    segment: stored.extent.segment,
                    offset: stored.extent.offset,
                },
                Rests::There { address, source } => Lies::There {
                    address: address.clone(),
                    source: source.clone(),
                    keeper: piece.writer.to_string(),
                },
            };
            Part { lies, region: piece.region, layout: piece.layout, cells }
        };
        Reply::Parts { version, parts: met.into_iter().map(part).collect() }
    }
}
