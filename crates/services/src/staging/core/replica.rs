//! Replicas: regions of a version in another layout, made by the service on request or ahead of it.
//!
//! A replica is filled by tasks from the pieces as they come, and published when every cell is there. It never keeps
//! memory from what is put, finished or not: what is least useful is evicted first.

use super::super::Strategy;
use super::pool::{Extent, Pool};
use super::state::{Staging, VariablePlace};
use super::store::Stored;
use super::task::{Running, Taken, Task};
use super::variable::{Instance, Rests, Variable};
use super::{Ground, Output};
use std::collections::BTreeMap;
use thalweg_foundation::array::{Layout, Region, Shape};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Version};

/// How many versions behind the one that was read are prepared, when they were put before there was a pattern.
const PREPARED_BEHIND: usize = 4;

/// How useful a replica is: how new its version is, whether it is ready, and how often it was read.
type Rank = (u64, bool, u64);

/// A region in another layout.
#[derive(Debug)]
pub(super) struct Replica {
    pub id: u64,
    pub region: Region,
    pub layout: Layout,
    pub shape: Shape,
    pub extent: Extent,
    /// Cells that have come, and those that tasks have written.
    pub come: u128,
    pub written: u128,
    /// What has come since the task began that fills it now.
    pub pending: Vec<Region>,
    pub running: bool,
    /// Where it is, once it is whole.
    pub stored: Option<Stored>,
    pub gets: u64,
}

impl Replica {
    pub fn serves(&self, region: &Region, layout: &Layout) -> bool {
        self.layout == *layout && self.region.contains(region)
    }

    /// Whether readers can have it.
    pub fn is_ready(&self) -> bool {
        self.stored.is_some()
    }

    /// Whether no task writes into it.
    pub fn is_idle(&self) -> bool {
        !self.running
    }

    /// Whether it will be whole without another put.
    pub fn is_under_way(&self) -> bool {
        !self.is_ready() && self.come == self.region.cells()
    }
}

impl Variable {
    /// In which regions and layouts a version with a new piece of `region` is wanted.
    fn wanted(&self, region: &Region) -> Vec<(Region, Layout)> {
        let in_advance = self.definition.strategy == Strategy::InAdvance;
        let layouts = self.definition.layouts.iter().filter(|_| in_advance).map(|l| (self.part, *l));
        // Only gets under the adaptive strategy have left patterns.
        layouts.chain(self.patterns.meeting(region).map(|p| (p.region, p.form))).collect()
    }
}

/// From where cells of `region` are taken, all of which rest here.
pub(super) fn taken(instance: &Instance, region: &Region, cells: &[Region]) -> (Vec<Taken>, Vec<Ticket>) {
    let mut all: BTreeMap<usize, Vec<Region>> = BTreeMap::new();
    for (there, at) in &instance.cover {
        let wanted =
            cells.iter().filter_map(|c| c.intersection(region)).filter_map(|c| c.intersection(there));
        let wanted: Vec<Region> = wanted.collect();
        if !wanted.is_empty() {
            all.entry(*at).or_default().extend(wanted);
        }
    }
    let (mut parts, mut tickets) = (Vec::new(), Vec::new());
    for (at, cells) in all {
        let piece = &instance.pieces[at];
        if let Rests::Here(stored) = &piece.rests {
            let Stored { extent, ticket, .. } = *stored;
            parts.push(Taken { extent, region: piece.region, layout: piece.layout, cells });
            tickets.push(ticket);
        }
    }
    (parts, tickets)
}

impl Staging {
    /// New cells of a version have come: starts or goes on with the replicas that are wanted of them.
    pub(super) fn prepare_replicas(
        &mut self,
        place: &VariablePlace,
        version: Version,
        fresh: &[Region],
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let Some(variable) = self.variables.get(place) else { return };
        let Some(instance) = variable.versions.get(&version) else { return };
        if instance.pieces.last().is_some_and(|p| matches!(p.rests, Rests::There { .. })) {
            // What its writer keeps cannot be reorganised here.
            self.drop_unfinished(place, version, fresh, ground);
            return;
        }
        let mut wanted: Vec<(Region, Layout)> = fresh.iter().flat_map(|f| variable.wanted(f)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let going_on: Vec<u64> = instance
            .replicas
            .iter()
            .filter(|r| r.stored.is_none() && fresh.iter().any(|f| f.intersection(&r.region).is_some()))
            .map(|r| r.id)
            .collect();
        for id in going_on {
            self.fill(place, version, id, fresh, ground, out);
        }
        for (region, layout) in wanted {
            self.want_replica(place, version, &region, &layout, ground, out);
        }
    }

    /// Drops the replicas that can never be whole, as cells of `lost` will not come.
    fn drop_unfinished(
        &mut self,
        place: &VariablePlace,
        version: Version,
        lost: &[Region],
        ground: &mut dyn Ground,
    ) {
        let instance = self.variables.get_mut(place).and_then(|v| v.versions.get_mut(&version));
        let Some(instance) = instance else { return };
        let (keep, drop): (Vec<Replica>, Vec<Replica>) = std::mem::take(&mut instance.replicas)
            .into_iter()
            .partition(|r| r.is_ready() || lost.iter().all(|l| l.intersection(&r.region).is_none()));
        instance.replicas = keep;
        drop.into_iter().for_each(|replica| self.drop_replica(place, replica, ground));
    }

    /// A version was read: the next ones that are there already are prepared, since no put of theirs will; with `itself` also
    /// that one, for those who come later.
    pub(super) fn prepare_from(
        &mut self,
        place: &VariablePlace,
        version: Version,
        itself: bool,
        region: &Region,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let Some(variable) = self.variables.get(place) else { return };
        let wanted = variable.wanted(region);
        let from = Version(version.0.saturating_add(u64::from(!itself)));
        let count = PREPARED_BEHIND + usize::from(itself);
        let next: Vec<Version> = variable.versions.range(from..).take(count).map(|(v, _)| *v).collect();
        for version in next {
            for (region, layout) in &wanted {
                self.want_replica(place, version, region, layout, ground, out);
            }
        }
    }

    /// Begins a replica of `region`, unless there is one, none is needed, or there is no memory for it; whether there
    /// is one now.
    pub(super) fn want_replica(
        &mut self,
        place: &VariablePlace,
        version: Version,
        region: &Region,
        layout: &Layout,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> bool {
        let Some(variable) = self.variables.get(place) else { return false };
        let Some(instance) = variable.versions.get(&version) else { return false };
        if instance.replicas.iter().any(|r| r.serves(region, layout)) {
            return true;
        }
        if self.is_busy() {
            return false;
        }
        let mut met = instance.pieces.iter().filter(|p| p.region.intersection(region).is_some()).peekable();
        let dtype = variable.definition.cell.dtype();
        // What its writer keeps cannot be reorganised here; what lies as wanted, in one piece, need not be.
        let useful = met.peek().is_some()
            && (met.clone().any(|p| p.layout != *layout) || met.clone().nth(1).is_some())
            && met.all(|p| matches!(p.rests, Rests::Here(_)));
        let Some(shape) = Shape::new(dtype, region.extents()).ok().filter(|_| useful) else { return false };
        let Some(extent) = self.room_for_replica(shape.size(), ground) else { return false };
        let id = self.next_replica;
        self.next_replica += 1;
        self.replicas += 1;
        self.stats.replica_bytes += extent.bytes;
        let replica = Replica {
            id,
            region: *region,
            layout: *layout,
            shape,
            extent,
            come: 0,
            written: 0,
            pending: Vec::new(),
            running: false,
            stored: None,
            gets: 0,
        };
        if let Some(instance) = self.variables.get_mut(place).and_then(|v| v.versions.get_mut(&version)) {
            instance.replicas.push(replica);
        }
        self.fill(place, version, id, std::slice::from_ref(region), ground, out);
        true
    }

    /// Memory for a replica, in their budget of bytes and places, if need be in the place of less useful ones; never while
    /// writers wait.
    fn room_for_replica(&mut self, bytes: Bytes, ground: &mut dyn Ground) -> Option<Extent> {
        let need = Pool::rounded(bytes);
        if need > self.config.replicas.0 || !self.queue.is_empty() || self.is_crowded(None) {
            return None;
        }
        while self.stats.replica_bytes + need > self.config.replicas.0
            || self.replicas >= self.config.replicas_max()
        {
            if !self.evict_replica(Replica::is_ready, ground) {
                return None;
            }
        }
        self.store.allocate(bytes, ground).or_else(|| {
            self.sweep(ground);
            self.store.allocate(bytes, ground)
        })
    }

    /// Cells of `fresh` have come: has them written now, or after those that a task is writing. One task at a time fills a
    /// replica, and when there is too much to do already it is given up.
    fn fill(
        &mut self,
        place: &VariablePlace,
        version: Version,
        id: u64,
        fresh: &[Region],
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let busy = self.is_busy();
        let instance = self.variables.get_mut(place).and_then(|v| v.versions.get_mut(&version));
        let Some(instance) = instance else { return };
        let Some(at) = instance.replicas.iter().position(|r| r.id == id) else { return };
        let Instance { replicas, cover, .. } = instance;
        let replica = &mut replicas[at];
        for cells in fresh.iter().filter_map(|f| f.intersection(&replica.region)) {
            let there = cover.iter().filter_map(|(there, _)| there.intersection(&cells));
            replica.come += there.map(|r| r.cells()).sum::<u128>();
            replica.pending.push(cells);
        }
        if replica.is_idle() && busy {
            let replica = replicas.swap_remove(at);
            self.drop_replica(place, replica, ground);
        } else if replica.is_idle() {
            self.write_pending(place, version, id, out);
        }
    }

    /// Has a task write what has come of a replica.
    fn write_pending(&mut self, place: &VariablePlace, version: Version, id: u64, out: &mut Vec<Output>) {
        let Some(variable) = self.variables.get_mut(place) else { return };
        let Some(instance) = variable.versions.get_mut(&version) else { return };
        let Some(replica) = instance.replicas.iter_mut().find(|r| r.id == id) else { return };
        let (region, layout, to) = (replica.region, replica.layout, replica.extent);
        let pending = std::mem::take(&mut replica.pending);
        replica.running = true;
        let (parts, pins) = taken(instance, &region, &pending);
        let cells = parts.iter().flat_map(|p| &p.cells).map(Region::cells).sum();
        let cell = variable.definition.cell.clone();
        let number = self.begin(Running::Filling { place: place.clone(), version, replica: id, cells, pins });
        out.push(Output::Work { number, task: Task::Reorganise { cell, parts, to, region, layout } });
    }

    /// A task has filled part of a replica, or could not.
    pub(super) fn filled(
        &mut self,
        place: &VariablePlace,
        version: Version,
        id: u64,
        cells: Option<u128>,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        if let Some(replica) = self.abandoned.remove(&id) {
            self.give_up_extent(replica.extent);
            return;
        }
        let instance = self.variables.get_mut(place).and_then(|v| v.versions.get_mut(&version));
        let Some(instance) = instance else { return };
        let Some(at) = instance.replicas.iter().position(|r| r.id == id) else { return };
        let replica = &mut instance.replicas[at];
        replica.running = false;
        replica.written += cells.unwrap_or(0);
        if cells.is_some() && !replica.pending.is_empty() {
            return self.write_pending(place, version, id, out);
        }
        if cells.is_some() && replica.written == replica.region.cells() {
            replica.stored = self.store.publish(None, replica.extent, replica.shape, ground);
            self.stats.replicas_made += u64::from(replica.is_ready());
        }
        if cells.is_none() || replica.is_under_way() {
            // It could not be written, or the directory has no place for it.
            let replica = instance.replicas.swap_remove(at);
            self.drop_replica(place, replica, ground);
        }
    }

    /// Lets go of a replica of a variable; its memory is free when no task writes into it and nobody reads it.
    pub(super) fn drop_replica(&mut self, place: &VariablePlace, replica: Replica, ground: &mut dyn Ground) {
        match replica.stored {
            Some(stored) => {
                if let Some(variable) = self.variables.get_mut(place) {
                    variable.patterns.used(&replica.region, replica.layout, replica.gets > 0);
                }
                self.forget_replica(replica.extent);
                self.store.withdraw(stored, ground);
            }
            None if replica.running => {
                self.abandoned.insert(replica.id, replica);
            }
            None => self.give_up_extent(replica.extent),
        }
    }

    fn give_up_extent(&mut self, extent: Extent) {
        self.forget_replica(extent);
        self.store.release(extent);
    }

    /// A replica in `extent` counts no more.
    fn forget_replica(&mut self, extent: Extent) {
        self.replicas -= 1;
        self.stats.replica_bytes -= extent.bytes;
    }

    /// Memory of replicas given up that is free when their tasks end.
    pub(super) fn abandoned_bytes(&self) -> u64 {
        self.abandoned.values().map(|r| r.extent.bytes).sum()
    }

    /// Evicts the least useful replica of those that `may` go and nobody reads: readers go forward in time, so that is one
    /// of the oldest version, and there one that is not ready, or was asked for least; whether there was one.
    pub(super) fn evict_replica(&mut self, may: fn(&Replica) -> bool, ground: &mut dyn Ground) -> bool {
        if self.stats.replica_bytes == 0 {
            return false;
        }
        let mut least: Option<(Rank, VariablePlace, Version, u64)> = None;
        for (place, variable) in &self.variables {
            for (version, instance) in &variable.versions {
                for replica in instance.replicas.iter().filter(|r| may(r)) {
                    let rank = (instance.age, replica.is_ready(), replica.gets);
                    let pinned = replica.stored.is_some_and(|s| self.store.is_pinned(s.ticket));
                    if !pinned
                        && least.as_ref().is_none_or(|(least, ..)| rank < *least)
                        && !replica.stored.is_some_and(|s| ground.leased(s.ticket))
                    {
                        least = Some((rank, place.clone(), *version, replica.id));
                    }
                }
            }
        }
        let Some((_, place, version, id)) = least else { return false };
        let instance = self.variables.get_mut(&place).and_then(|v| v.versions.get_mut(&version));
        let Some(instance) = instance else { return false };
        let Some(at) = instance.replicas.iter().position(|r| r.id == id) else { return false };
        let replica = instance.replicas.swap_remove(at);
        self.stats.replicas_evicted += 1;
        self.drop_replica(&place, replica, ground);
        true
    }
}
