//! A variable as its writers and readers use it, whatever services hold it.

use super::super::message::{Bins, Habit, Question, Reduction, Reply, Request, VersionState, Which, Wish};
use super::super::{Definition, Strategy};
use super::client::{Client, Identity};
use super::exchange::tcp_address;
use super::region::{in_layout, shape_of, Lying, RegionLoan, RegionView};
use super::shared::unexpected;
use super::stage::Stage;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::array::{transfers, Layout, Records, Region, Shape, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Buffer;
use thalweg_transport::process;

/// A variable of a stage.
pub struct Variable {
    stage: Stage,
    name: Name,
    definition: Definition,
    parts: Vec<Region>,
    /// Arrays that this process keeps for its readers.
    kept: Mutex<Vec<(Version, Arc<Client>, Key)>>,
}

impl Variable {
    pub(super) fn over(stage: Stage, name: Name, definition: Definition, parts: Vec<Region>) -> Variable {
        Variable { stage, name, definition, parts, kept: Mutex::default() }
    }

    /// What it is called.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// How it is; layouts may have been registered since.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Who the clients of its stage are.
    pub fn identity(&self) -> &Identity {
        self.stage.clients()[0].identity()
    }

    fn key(&self, version: Version) -> Key {
        Key { name: self.name.clone(), version }
    }

    fn check(&self, operation: &str, region: &Region) -> Result<()> {
        let whole = self.definition.whole();
        if !region.is_empty() && whole.contains(region) {
            return Ok(());
        }
        let detail = format!(
            "region {region} of variable {:?}; accepted are regions with cells inside {whole}",
            self.name.as_str()
        );
        Err(Error::new(Kind::Shape, operation, detail))
    }

    /// The services that hold cells of `region`, each with which.
    fn holders(&self, region: &Region) -> Vec<(&Arc<Client>, Region)> {
        let all = self.stage.clients().iter().zip(&self.parts);
        all.filter_map(|(client, part)| Some((client, part.intersection(region)?))).collect()
    }

    /// One version for all services that hold cells of `region`: the one, or the oldest or newest that each of them can give.
    fn agreed(&self, which: Which, region: &Region, patience: Patience<'_>) -> Result<Which> {
        let holders = self.holders(region);
        if holders.len() < 2 || matches!(which, Which::Exactly(_)) {
            return Ok(which);
        }
        if let Which::UpTo(newest) = which {
            let at_once = Patience { within: Nanos(0), ..patience };
            match self.fixed(&holders, newest, Which::UpTo, at_once) {
                Err(e) if e.kind == Kind::Timeout => {}
                found => return found.map(Which::Exactly),
            }
        }
        // None is there on all of them: the first that will be.
        let oldest = if let Which::From(oldest) = which { oldest } else { Version(0) };
        self.fixed(&holders, oldest, Which::From, patience).map(Which::Exactly)
    }

    /// Asks the services in turn, each from what the one before could give, until all give the same version.
    fn fixed(
        &self,
        holders: &[(&Arc<Client>, Region)],
        from: Version,
        which: fn(Version) -> Which,
        patience: Patience<'_>,
    ) -> Result<Version> {
        let deadline = now().after(patience.within);
        let (mut version, mut agreeing) = (from, 0);
        for (client, region) in holders.iter().cycle() {
            let within = if patience.within == Nanos(0) { Nanos(0) } else { deadline.since(now()) };
            let found = client.newest_or_oldest(
                &self.name,
                which(version),
                region,
                Patience { within, ..patience },
            )?;
            agreeing = if found == version { agreeing + 1 } else { 1 };
            version = found;
            if agreeing >= holders.len() {
                break;
            }
        }
        Ok(version)
    }

    /// Copies the array at `from`, which holds the cells of `region`, into the stage: one copy, in the writer's own layout.
    /// Cells that were put before stay as they are.
    ///
    /// # Errors
    /// `Shape` outside the domain; `Exists` when the version is sealed, `NotFound` when it is past; `Full`, `Timeout`, `Gone`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    ///
    /// # Safety
    /// Every element of the array must be readable.
    pub unsafe fn put(
        &self,
        version: Version,
        region: &Region,
        from: *const u8,
        lying: &Lying<'_>,
        patience: Patience<'_>,
    ) -> Result<()> {
        self.check("stage.put", region)?;
        let cell = &self.definition.cell;
        let layout = lying.layout(cell, &shape_of(cell, region))?;
        for (client, cells) in self.holders(region) {
            let mut loan = client.lend_region(cell, self.key(version), &cells, layout, patience)?;
            let to = Side::Packed(&cells, &layout);
            for transfer in transfers(cell, &cells, lying.side(region), to)? {
                // SAFETY: the loan holds the packed cells and nobody else sees it; the rest is the caller's promise.
                unsafe { transfer.run(from, loan.start()) };
            }
            loan.commit(patience)?;
        }
        self.settle(patience)
    }

    /// Releases what is not kept any more: several services cannot know of each other which versions are complete.
    fn settle(&self, patience: Patience<'_>) -> Result<()> {
        let (Some(keep), true) = (self.definition.keep_last, self.parts.len() > 1) else { return Ok(()) };
        let there = self.versions(patience)?;
        let complete = there.iter().rev().filter(|state| state.complete);
        let Some(oldest) = complete.take(keep as usize).nth(keep as usize - 1) else { return Ok(()) };
        for old in there.iter().take_while(|state| state.version < oldest.version) {
            self.release_everywhere(old.version, patience)?;
        }
        Ok(())
    }

    /// As `put`, but the bytes stay in `keeper`, a service in this process, and readers fetch them there: nothing is copied
    /// to the stage's services. They are lost when this process ends.
    ///
    /// # Errors
    /// As `put`; `Invalid` when a service is reached over TCP.
    ///
    /// # Safety
    /// As `put`.
    pub unsafe fn put_local(
        &self,
        keeper: &Arc<Client>,
        version: Version,
        region: &Region,
        from: *const u8,
        lying: &Lying<'_>,
        patience: Patience<'_>,
    ) -> Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.check("stage.put", region)?;
        if let Some(far) = self.stage.clients().iter().find(|c| tcp_address(c.address()).is_some()) {
            let detail = format!(
                "the service at {:?} is reached over TCP, and its readers may not be on this node; put without local",
                far.address()
            );
            return Err(Error::new(Kind::Invalid, "stage.put", detail));
        }
        self.drop_kept(patience)?;
        let cell = &self.definition.cell;
        let layout = lying.layout(cell, &shape_of(cell, region))?;
        for (client, cells) in self.holders(region) {
            let shape = Shape::new(cell.dtype(), cells.extents())?;
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = Name::new("stage.put", &format!("kept by {} / {n}", process::id()))?;
            let source = Key { name, version };
            let mut loan = keeper.loan(source.clone(), shape, false, patience)?;
            for transfer in transfers(cell, &cells, lying.side(region), Side::Packed(&cells, &layout))? {
                // SAFETY: the loan holds the packed cells and nobody else sees it; the rest is the caller's promise.
                unsafe { transfer.run(from, loan.start()) };
            }
            loan.commit(patience)?;
            let address = keeper.address().to_string();
            let body = Request::Refer {
                key: self.key(version),
                region: cells,
                layout,
                address,
                source: source.clone(),
            };
            match client.ask(body, patience) {
                Ok(Reply::Done) => self.kept().push((version, keeper.clone(), source)),
                Ok(other) => return Err(unexpected(&other)),
                Err(e) => {
                    keeper.delete(source, patience)?;
                    return Err(e);
                }
            }
        }
        self.settle(patience)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<(Version, Arc<Client>, Key)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what this process keeps of versions that are past.
    fn drop_kept(&self, patience: Patience<'_>) -> Result<()> {
        if self.kept().is_empty() {
            return Ok(());
        }
        let there: Vec<Version> = self.versions(patience)?.into_iter().map(|v| v.version).collect();
        let past: Vec<(Version, Arc<Client>, Key)> = {
            let mut kept = self.kept();
            let (stay, past) = kept.drain(..).partition(|(version, ..)| there.contains(version));
            *kept = stay;
            past
        };
        for (_, keeper, key) in past {
            keeper.delete(key, patience)?;
        }
        Ok(())
    }

    /// Memory of the stage for `region`, packed in `layout`, to be made in place; it lies with one service, so a region over
    /// several cannot be lent.
    ///
    /// # Errors
    /// As `put`; `Invalid` when the region lies over several services.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    pub fn loan(
        &self,
        version: Version,
        region: &Region,
        layout: Layout,
        patience: Patience<'_>,
    ) -> Result<RegionLoan> {
        self.check("stage.put", region)?;
        self.settle(patience)?;
        match self.holders(region).as_slice() {
            [(client, cells)] => {
                let cell = &self.definition.cell;
                client.lend_region(cell, self.key(version), cells, cell.layout(layout), patience)
            }
            several => {
                let parts: Vec<String> = several.iter().map(|(_, cells)| cells.to_string()).collect();
                let detail = format!(
                    "region {region} lies with {} services; lend {} one by one",
                    several.len(),
                    parts.join(", ")
                );
                Err(Error::new(Kind::Invalid, "stage.put", detail))
            }
        }
    }

    /// A region of a version, in `layout` (none: whatever is cheapest, with the fields of records together); without a copy where one piece or replica in this
    /// node's memory holds it so.
    ///
    /// # Errors
    /// `Timeout` says what is missing and who is connected; `NotFound` when the version is past, or sealed without these
    /// cells; `Shape` outside the domain; `Gone` names the service.
    /// # Blocking
    /// Until the region is complete.
    pub fn get(
        &self,
        which: Which,
        region: &Region,
        layout: Option<Layout>,
        strategy: Option<Strategy>,
        patience: Patience<'_>,
    ) -> Result<RegionView> {
        self.check("stage.get", region)?;
        let cell = &self.definition.cell;
        let layout = layout.map(|l| cell.layout(l));
        let question = Question { name: self.name.clone(), which, region: *region, layout, strategy };
        if let [(client, _)] = self.holders(region).as_slice() {
            let view = client.region_of(cell, &question, patience)?;
            // Who has not asked for fields apart wants records.
            let together = layout.is_none() && view.layout().records() == Records::Arrays;
            let structs = view.layout().with_records(Records::Structs);
            return in_layout(view, together.then_some(structs));
        }
        let layout = layout.unwrap_or_else(|| Layout::right(region.lower().len()));
        let mut buffer = Buffer::new("stage.get", shape_of(cell, region).size())?;
        let to = buffer.start_mut();
        // SAFETY: the buffer holds the packed region.
        let version =
            unsafe { self.get_into(which, region, to, &Lying::Packed(layout), strategy, patience)? };
        Ok(RegionView::owned(buffer, *region, layout, version, cell.clone()))
    }

    /// Copies a region of a version into the array at `to`; the version that it is of.
    ///
    /// # Errors
    /// As `get`.
    /// # Blocking
    /// Until the region is complete.
    ///
    /// # Safety
    /// Every element of the array must be writable, and no two may share memory.
    pub unsafe fn get_into(
        &self,
        which: Which,
        region: &Region,
        to: *mut u8,
        lying: &Lying<'_>,
        strategy: Option<Strategy>,
        patience: Patience<'_>,
    ) -> Result<Version> {
        self.check("stage.get", region)?;
        let cell = &self.definition.cell;
        let layout = Some(lying.layout(cell, &shape_of(cell, region))?);
        let each = |which: Which, left: Patience<'_>| {
            let question = Question { name: self.name.clone(), which, region: *region, layout, strategy };
            let mut version = Version(0);
            let deadline = now().after(left.within);
            for (client, cells) in self.holders(region) {
                let left = Patience { within: deadline.since(now()), ..left };
                let part = question.of_part(cells);
                // SAFETY: the caller's promise; `cells` are in `region`.
                version = unsafe { client.region_into(cell, &part, (region, to), lying, left)? };
            }
            Ok(version)
        };
        self.of_one_version(which, region, patience, &each)
    }

    /// Does `each` for one version that all services agree on; again with another one when that is past meanwhile.
    fn of_one_version<T>(
        &self,
        which: Which,
        region: &Region,
        patience: Patience<'_>,
        each: &dyn Fn(Which, Patience<'_>) -> Result<T>,
    ) -> Result<T> {
        let deadline = now().after(patience.within);
        let mut left = patience;
        loop {
            let chosen = self.agreed(which, region, left)?;
            match each(chosen, left) {
                Err(e) if e.kind == Kind::NotFound && chosen != which && now() < deadline => {}
                done => return done,
            }
            left = Patience { within: deadline.since(now()), ..patience };
        }
    }

    /// Says that one of the variable's writers has put all that it will of a version.
    ///
    /// # Errors
    /// `Invalid` for a number that no writer has, `NotFound` when the version is past, `Gone`.
    pub fn seal(&self, version: Version, writer: u32, patience: Patience<'_>) -> Result<()> {
        for client in self.stage.clients() {
            match client.ask(Request::Seal { key: self.key(version), writer }, patience)? {
                Reply::Done => {}
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    /// Lets go of a version; whether it was there. Views of it stay valid.
    ///
    /// # Errors
    /// `Gone`.
    pub fn release(&self, version: Version, patience: Patience<'_>) -> Result<bool> {
        let there = self.release_everywhere(version, patience)?;
        self.drop_kept(patience)?;
        Ok(there)
    }

    fn release_everywhere(&self, version: Version, patience: Patience<'_>) -> Result<bool> {
        let mut there = false;
        for client in self.stage.clients() {
            match client.ask(Request::Release { key: self.key(version) }, patience)? {
                Reply::Released(one) => there |= one,
                other => return Err(unexpected(&other)),
            }
        }
        Ok(there)
    }

    /// The versions that are there, in order, over all services.
    ///
    /// # Errors
    /// `Gone`.
    pub fn versions(&self, patience: Patience<'_>) -> Result<Vec<VersionState>> {
        let mut all: BTreeMap<Version, (usize, VersionState)> = BTreeMap::new();
        for client in self.stage.clients() {
            let mut after = None;
            loop {
                let body = Request::Versions { name: self.name.clone(), after };
                let Reply::Versions { versions, more } = client.ask(body, patience)? else {
                    return Err(Error::new(Kind::Protocol, "stage", "unexpected answer to a listing"));
                };
                after = versions.last().map(|v| v.version);
                for state in versions {
                    all.entry(state.version)
                        .and_modify(|(services, known)| {
                            *services += 1;
                            known.cells += state.cells;
                            known.complete &= state.complete;
                            known.seals = known.seals.min(state.seals);
                            known.pieces += state.pieces;
                            known.replicas += state.replicas;
                        })
                        .or_insert((1, state));
                }
                if !more {
                    break;
                }
            }
        }
        let services = self.stage.clients().len();
        let whole = |(n, state): (usize, VersionState)| VersionState {
            complete: state.complete && n == services,
            ..state
        };
        Ok(all.into_values().map(whole).collect())
    }

    /// Count, least, greatest and sum of the cells of a region, and perhaps a histogram, made where the data are.
    ///
    /// # Errors
    /// As `get`; `DType` for cells that are not numbers; `Invalid` for bins that are none, or cells that their writer keeps.
    /// # Blocking
    /// Until the region is complete.
    pub fn reduce(
        &self,
        which: Which,
        region: &Region,
        bins: Option<Bins>,
        patience: Patience<'_>,
    ) -> Result<(Version, Reduction)> {
        self.check("stage.reduce", region)?;
        let each = |which: Which, left: Patience<'_>| {
            let mut found: Option<(Version, Reduction)> = None;
            let deadline = now().after(left.within);
            for (client, region) in self.holders(region) {
                let left = Patience { within: deadline.since(now()), ..left };
                let (name, wish, within) = (self.name.clone(), Wish::Summary { bins }, left.within);
                let here = match client.ask(Request::Get { name, which, region, wish, within }, left)? {
                    Reply::Summary { version, found } => (version, found),
                    other => return Err(unexpected(&other)),
                };
                found = Some(match found {
                    None => here,
                    Some((_, before)) => (here.0, here.1.merge(&before)?),
                });
            }
            found.ok_or_else(|| Error::new(Kind::Shape, "stage.reduce", "a region without a service"))
        };
        self.of_one_version(which, region, patience, &each)
    }

    /// Notes `value` about the variable for those who read it; an empty value removes the attribute.
    ///
    /// # Errors
    /// `Invalid` without a name or with more than 64 KiB in all, `Gone`.
    pub fn annotate(&self, attribute: &str, value: &str, patience: Patience<'_>) -> Result<()> {
        let (attribute, value) = (attribute.to_string(), value.to_string());
        let body = Request::Annotate { name: self.name.clone(), attribute, value };
        match self.stage.clients()[0].ask(body, patience)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// What was noted about the variable.
    ///
    /// # Errors
    /// `Gone`.
    pub fn attributes(&self, patience: Patience<'_>) -> Result<Vec<(String, String)>> {
        self.stage.clients()[0].describe(self.name.clone(), patience).map(|there| there.attributes)
    }

    /// The regions and layouts in which it is read again and again, as each service knows them.
    ///
    /// # Errors
    /// `Gone`.
    pub fn patterns(&self, patience: Patience<'_>) -> Result<Vec<Habit>> {
        let mut all = Vec::new();
        for client in self.stage.clients() {
            match client.ask(Request::Patterns { name: self.name.clone() }, patience)? {
                Reply::Patterns(habits) => all.extend(habits),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(all)
    }
}
