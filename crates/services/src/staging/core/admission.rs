//! Room for new data: limits, back-pressure, and grants ahead of need.
//!
//! Who asks first has room first. What fits may pass what does not, but nothing is passed for ever.

use super::super::message::{Grant, Reply};
use super::pool::{Extent, Pool};
use super::replica::Replica;
use super::state::{refused, Owner, Place, Staging, WhenFull};
use super::PeerId;
use super::{Ground, Output};
use thalweg_foundation::{Bytes, Kind, Nanos};

/// The largest array for whose successor memory is granted ahead.
const SPARE_MAX: u64 = 2 << 20;

/// How often a put that waits may be overtaken; then those behind it wait too.
const OVERTAKEN_MAX: u32 = 32;

/// A put that waits for room.
#[derive(Debug)]
pub(super) struct Reservation {
    pub peer: PeerId,
    pub id: u64,
    pub bytes: Bytes,
    /// What it will be, or be part of.
    pub owner: Owner,
    /// How often somebody behind it had room first.
    pub overtaken: u32,
    pub asked: Nanos,
    pub deadline: Nanos,
}

impl Staging {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn reserve(
        &mut self,
        peer: PeerId,
        id: u64,
        bytes: Bytes,
        owner: Owner,
        within: Nanos,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Option<Reply> {
        if self.is_pending(peer, id) {
            return None;
        }
        let limit = self.config.limit;
        if Pool::rounded(bytes) > limit.0 {
            let detail =
                format!("an array of {bytes} is larger than the memory limit of {limit}; raise the limit");
            return Some(refused(Kind::Full, "stage.put", detail));
        }
        // What has become free since belongs to who asked before.
        self.admit(ground, out);
        let room = self.room_behind(self.queue.len(), bytes, &owner, ground);
        if let Some(grant) = room.and_then(|extent| self.grant(peer, extent, false)) {
            return Some(Reply::Granted(grant));
        }
        let coming = self.spill_for(bytes, ground, out) || !self.abandoned.is_empty();
        if self.config.when_full == WhenFull::Fail && !coming {
            return Some(self.no_room(bytes));
        }
        if self.queue.iter().filter(|r| r.peer == peer).count() >= self.config.waits_per_client {
            let detail = format!("{} puts of this client wait already", self.config.waits_per_client);
            return Some(refused(Kind::Full, "stage.put", detail));
        }
        let deadline = self.now.after(within);
        self.stats.blocked += 1;
        let (asked, overtaken) = (self.now, 0);
        self.queue.push_back(Reservation { peer, id, bytes, owner, overtaken, asked, deadline });
        self.deadlines.insert((deadline, peer, id));
        self.expire(out);
        self.admit(ground, out);
        None
    }

    /// Whether a request with this number waits already: then this is a copy of it, and one answer is enough.
    pub(super) fn is_pending(&self, peer: PeerId, id: u64) -> bool {
        self.waiting.has(peer, id)
            || self.gets.contains_key(&(peer, id))
            || self.describing.contains_key(&(peer, id))
            || self.queue.iter().any(|r| (r.peer, r.id) == (peer, id))
    }

    fn no_room(&self, bytes: Bytes) -> Reply {
        let detail = format!("no room for {bytes}: {}; delete versions or raise the limit", self.fullness());
        refused(Kind::Full, "stage.put", detail)
    }

    fn fullness(&self) -> String {
        let stats = self.stats();
        let file = match self.config.spill {
            Some(all) => format!(
                ", the spill file of {all} holds {}, its largest free piece is {}",
                Bytes(stats.spilled_bytes),
                self.store.largest_in_file()
            ),
            None => String::new(),
        };
        format!(
            "{} of {} places are taken, {} by replicas, arrays and pieces hold {}, replicas hold {}, writers hold {}, readers keep {} of withdrawn versions, the largest free piece of {} is {}{file}",
            self.store.published(),
            self.config.entries_max(),
            self.replicas,
            Bytes(stats.entry_bytes),
            Bytes(stats.replica_bytes),
            Bytes(stats.granted_bytes),
            Bytes(stats.retired_bytes),
            self.config.limit,
            self.store.largest()
        )
    }

    /// Whether a put may have room before the first `n` of those that wait: unless one was overtaken too often. A piece of a
    /// version that is begun always may: its end lets old versions go, and there are not many such versions.
    pub(super) fn may_pass(&self, owner: &Owner, n: usize) -> bool {
        let is_begun = match owner {
            Owner::Array(_) => false,
            Owner::Instance(place, version) => {
                self.variables.get(place).is_some_and(|v| v.versions.contains_key(version))
            }
        };
        is_begun || self.queue.iter().take(n).all(|r| r.overtaken < OVERTAKEN_MAX)
    }

    /// Bytes that must stay free when a version of a variable is begun, so that those that were begun before it can be brought
    /// to their end: a writer that is far ahead of the others would take the memory that they need.
    pub(super) fn kept_for_begun(&self, owner: &Owner) -> u128 {
        let Owner::Instance(place, version) = owner else { return 0 };
        let Some(variable) = self.variables.get(place) else { return 0 };
        if self.config.when_full != WhenFull::Block || variable.versions.contains_key(version) {
            return 0;
        }
        variable.lacking() * u128::from(variable.definition.cell.dtype().size())
    }

    /// Whether a put of `bytes` leaves so much. What replicas take counts as free: they give way.
    pub(super) fn leaves_room(&self, bytes: Bytes, owner: &Owner) -> bool {
        let kept = self.kept_for_begun(owner);
        if kept == 0 {
            return true;
        }
        let stats = self.stats();
        let all = u128::from(self.config.limit.0) + self.config.spill.map_or(0, |file| u128::from(file.0));
        let taken = u128::from(stats.entry_bytes + stats.granted_bytes + stats.retired_bytes);
        taken + u128::from(bytes.0) + kept <= all
    }

    /// Room for one who stands behind `n` others that wait.
    fn room_behind(
        &mut self,
        n: usize,
        bytes: Bytes,
        owner: &Owner,
        ground: &mut dyn Ground,
    ) -> Option<Extent> {
        if !(self.may_pass(owner, n) && self.leaves_room(bytes, owner)) {
            return None;
        }
        let extent = self.room(bytes, owner.array(), ground)?;
        self.queue.iter_mut().take(n).for_each(|r| r.overtaken += 1);
        Some(extent)
    }

    /// Memory for `bytes` and a place in the directory.
    fn room(&mut self, bytes: Bytes, place: Option<&Place>, ground: &mut dyn Ground) -> Option<Extent> {
        if !self.make_place(place, ground) {
            return None;
        }
        self.find(bytes, ground)
    }

    /// Makes a place in the directory for an array at `place`, or a piece: replicas go first, then what the policy gives up;
    /// whether there is one.
    pub(super) fn make_place(&mut self, place: Option<&Place>, ground: &mut dyn Ground) -> bool {
        while self.is_crowded(place) {
            let given = self.evict_replica(Replica::is_ready, ground)
                || (self.config.when_full == WhenFull::DropOldest && self.drop_oldest(ground));
            if !given {
                return false;
            }
        }
        true
    }

    /// Whether an array at `place`, or a piece, would be one more than there may be.
    pub(super) fn is_crowded(&self, place: Option<&Place>) -> bool {
        self.store.published() >= self.config.entries_max()
            && !place.is_some_and(|place| self.entries.contains_key(place))
    }

    /// Memory for `bytes`, by ever dearer means: what is free, what readers have left, spares, replicas, old versions.
    fn find(&mut self, bytes: Bytes, ground: &mut dyn Ground) -> Option<Extent> {
        if let Some(extent) = self.store.allocate(bytes, ground) {
            return Some(extent);
        }
        for free_some in [Staging::sweep, Staging::take_spares_back] {
            if free_some(self, ground) {
                if let Some(extent) = self.store.allocate(bytes, ground) {
                    return Some(extent);
                }
            }
        }
        while self.evict_replica(Replica::is_idle, ground) {
            if let Some(extent) = self.store.allocate(bytes, ground) {
                return Some(extent);
            }
        }
        // What tasks still write is free when they end, and then it is tried again.
        while self.abandoned_bytes() < bytes.0 && self.evict_replica(|_| true, ground) {}
        while self.config.when_full == WhenFull::DropOldest
            && self.abandoned.is_empty()
            && !self.can_spill(ground)
        {
            let spilled = self.store.spilled_bytes();
            if !self.drop_oldest(ground) {
                break;
            }
            if let Some(extent) = self.store.allocate(bytes, ground) {
                return Some(extent);
            }
            // The blocks that it had in the file can be written again, also while the disk is full: the next oldest moves there,
            // and no more is dropped for it.
            if self.store.spilled_bytes() < spilled {
                self.no_spill_before = self.now;
            }
        }
        None
    }

    /// Drops the oldest version that nobody reads; whether there was one.
    pub(super) fn drop_oldest(&mut self, ground: &mut dyn Ground) -> bool {
        let unread = self.by_age.values().find(|owner| {
            let tickets = self.tickets_of(owner);
            !tickets.iter().any(|t| self.store.is_pinned(*t)) && !tickets.iter().any(|t| ground.leased(*t))
        });
        let Some(owner) = unread.cloned() else { return false };
        self.remove_owner(&owner, ground);
        self.stats.dropped += 1;
        if let Owner::Instance(place, _) = owner {
            self.dropped.insert(place);
        }
        true
    }

    /// Tells the gets of versions that were dropped that these will not come.
    pub(super) fn tell_dropped(&mut self, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        for place in std::mem::take(&mut self.dropped) {
            self.serve_gets(&place, None, ground, out);
        }
    }

    /// Frees what was withdrawn and is no longer read; whether there was any.
    pub(super) fn sweep(&mut self, ground: &mut dyn Ground) -> bool {
        self.store.sweep(ground)
    }

    fn take_spares_back(&mut self, ground: &mut dyn Ground) -> bool {
        let mut any = false;
        for (peer, client) in &mut self.peers {
            client.grants.retain(|id, granted| {
                let back = granted.spare && ground.revoke(*peer, *id);
                if back {
                    self.store.release(granted.extent);
                    any = true;
                }
                !back
            });
        }
        any
    }

    /// Memory for the next put of the same size, while there is plenty; the client need not ask for it. Not for large
    /// arrays: two places in turn keep twice as much in the caches as one, which costs more than a message.
    pub(super) fn spare(&mut self, peer: PeerId, bytes: u64, ground: &mut dyn Ground) -> Option<Grant> {
        let client = self.peers.get(&peer)?;
        let enough = client.grants.values().any(|g| g.spare && g.extent.bytes == bytes);
        let used = self.stats.entry_bytes.saturating_add(bytes.saturating_mul(2));
        if !client.takes_spares
            || bytes > SPARE_MAX
            || enough
            || used > self.config.limit.0 / 2
            || self.store.published() > self.config.entries_max() / 2
            || !self.queue.is_empty()
        {
            return None;
        }
        let extent = self.store.allocate(Bytes(bytes), ground)?;
        let grant = self.grant(peer, extent, true)?;
        if ground.offer(peer, grant.id) {
            return Some(grant);
        }
        if let Some(client) = self.peers.get_mut(&peer) {
            client.grants.remove(&grant.id);
        }
        self.store.release(extent);
        None
    }

    /// Serves those who wait for room, in the order in which they asked, and where one does not fit those behind it that do.
    pub(super) fn admit(&mut self, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        let (mut at, mut too_large) = (0, u64::MAX);
        while let Some(next) = self.queue.get(at) {
            let (bytes, owner) = (next.bytes, next.owner.clone());
            let fits = Pool::rounded(bytes) < too_large;
            let room = if fits { self.room_behind(at, bytes, &owner, ground) } else { None };
            let Some(extent) = room else {
                let only_memory = self.may_pass(&owner, at) && self.leaves_room(bytes, &owner);
                if fits && only_memory && !self.is_crowded(owner.array()) {
                    too_large = Pool::rounded(bytes);
                }
                at += 1;
                continue;
            };
            let Some(Reservation { peer, id, deadline, .. }) = self.queue.remove(at) else { return };
            self.deadlines.remove(&(deadline, peer, id));
            match self.grant(peer, extent, false) {
                Some(grant) => out.push(Output::Send { to: peer, id, reply: Reply::Granted(grant) }),
                None => self.store.release(extent),
            }
        }
        let Some(bytes) = self.queue.front().map(|first| first.bytes) else { return };
        let coming = self.spill_for(bytes, ground, out) || !self.abandoned.is_empty();
        if self.config.when_full == WhenFull::Fail && !coming {
            // They waited for tasks, and these have not made room enough.
            for Reservation { peer, id, bytes, deadline, .. } in std::mem::take(&mut self.queue) {
                self.deadlines.remove(&(deadline, peer, id));
                out.push(Output::Send { to: peer, id, reply: self.no_room(bytes) });
            }
        }
    }

    /// Answers everybody whose deadline has passed.
    pub(super) fn expire(&mut self, out: &mut Vec<Output>) {
        while let Some((at, peer, id)) = self.deadlines.first().copied().filter(|(at, _, _)| *at <= self.now)
        {
            self.deadlines.remove(&(at, peer, id));
            let reply = if let Some(n) = self.queue.iter().position(|r| (r.peer, r.id) == (peer, id)) {
                let kept = self.kept_for_begun(&self.queue[n].owner);
                let waited = self.queue.remove(n).map(|r| (r.bytes, r.deadline.since(r.asked)));
                let (bytes, within) = waited.unwrap_or_default();
                let before = match n {
                    0 => String::new(),
                    n => format!("; {n} earlier puts wait in front"),
                };
                let kept = match kept {
                    0 => String::new(),
                    kept => format!(", {} are kept for what begun versions lack", Bytes(kept as u64)),
                };
                let detail =
                    format!("no room for {bytes} within {within}: {}{kept}{before}", self.fullness());
                refused(Kind::Timeout, "stage.put", detail)
            } else if let Some(waiter) = self.waiting.remove(peer, id) {
                refused(Kind::Timeout, "stage.wait", self.still_missing(&waiter, peer))
            } else if let Some(get) = self.forget_get((peer, id)) {
                self.too_late(&get, peer)
            } else if self.forget_summaries(|asker| asker == (peer, id)) {
                let detail =
                    format!("the numbers were not made in time: {} tasks are under way", self.tasks.len());
                refused(Kind::Timeout, "stage.reduce", detail)
            } else if let Some(wait) = self.describing.remove(&(peer, id)) {
                refused(Kind::Timeout, "stage.open", self.still_undefined(&wait, peer))
            } else {
                continue;
            };
            out.push(Output::Send { to: peer, id, reply });
        }
    }
}
