//! A variable as its writers and readers use it, whatever services hold it.

mod agreement;
mod kept;

pub(super) use self::kept::Kept;
use super::client::{Client, Committed, Identity};
use super::held::{in_layout, shape_of, Lying, RegionLoan, RegionView};
use super::shared::unexpected;
use super::stage::Stage;
use super::together::{self, Shared};
use crate::staging::message::{Bins, Habit, Question, Reduction, Reply, Request, VersionState, Which, Wish};
use crate::staging::{Definition, Print, Strategy};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_foundation::array::{transfers, Layout, Records, Region, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Result, Version};
use thalweg_transport::link::Patience;
use thalweg_transport::memory::Buffer;

/// A variable of a stage.
pub struct Variable {
    stage: Stage,
    name: Name,
    definition: Definition,
    print: Print,
    parts: Vec<Region>,
}

impl Variable {
    pub(super) fn over(stage: Stage, name: Name, definition: Definition, parts: Vec<Region>) -> Variable {
        let print = definition.print();
        Variable { stage, name, definition, print, parts }
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

    /// Copies the array at `from`, which holds the cells of `region`, into the stage: one copy, in the writer's own layout.
    /// Cells that were put before stay as they are.
    ///
    /// # Errors
    /// `Shape` outside the domain; `Exists` when this very region was put before, or the version is sealed; `NotFound` when it is past; `Full`, `Timeout`, `Gone`.
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
        let from = Shared(from);
        let part = |&(client, cells): &(&Arc<Client>, Region), left: Patience<'_>| {
            let mut loan =
                client.lend_region(cell, (self.key(version), self.print), (&cells, region), layout, left)?;
            for transfer in transfers(cell, &cells, lying.side(region), Side::Packed(&cells, &layout))? {
                // SAFETY: the loan holds the packed cells and nobody else sees it; the rest is the caller's promise.
                unsafe { transfer.run(from.address(), loan.start()) };
            }
            loan.committed(left)
        };
        let done = together::each(&self.holders(region), shape_of(cell, region).size(), patience, &part)?;
        self.new_somewhere(version, region, done)?;
        self.settle(patience)
    }

    /// Where a put was cut short between services and is done again, some of them know their part already.
    fn new_somewhere(&self, version: Version, region: &Region, done: Vec<Committed>) -> Result<()> {
        if done.contains(&Committed::Now) {
            return Ok(());
        }
        let key = self.key(version);
        done.into_iter().try_for_each(|committed| committed.or_exists(&key, region))
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
                client.lend_region(
                    cell,
                    (self.key(version), self.print),
                    (cells, region),
                    cell.layout(layout),
                    patience,
                )
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

    /// A region of a version, in `layout` (none: whatever is cheapest, with the fields of records together); without a
    /// copy where one piece or replica in this node's memory holds it so.
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
        let question =
            Question { name: self.name.clone(), of: self.print, which, region: *region, layout, strategy };
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
        let to = Shared(to);
        let each = |which: Which, left: Patience<'_>| {
            let question = Question {
                name: self.name.clone(),
                of: self.print,
                which,
                region: *region,
                layout,
                strategy,
            };
            let part = |&(client, cells): &(&Arc<Client>, Region), left: Patience<'_>| {
                let part = question.of_part(cells);
                // SAFETY: the caller's promise; `cells` are in `region`, and in no other part.
                unsafe { client.region_into(cell, &part, (region, to.address()), lying, left) }
            };
            let versions = together::each(&self.holders(region), shape_of(cell, region).size(), left, &part)?;
            versions.last().copied().ok_or_else(|| nobody_holds("stage.get"))
        };
        self.of_one_version(which, region, patience, &each)
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
        // That may have made it complete.
        self.settle(patience)
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
            let part = |&(client, region): &(&Arc<Client>, Region), left: Patience<'_>| {
                let (name, of) = (self.name.clone(), self.print);
                let (wish, within) = (Wish::Summary { bins }, left.within);
                match client.ask(Request::Get { name, of, which, region, wish, within }, left)? {
                    Reply::Summary { version, found } => Ok((version, found)),
                    other => Err(unexpected(&other)),
                }
            };
            let bytes = shape_of(&self.definition.cell, region).size();
            let parts = together::each(&self.holders(region), bytes, left, &part)?;
            let mut parts = parts.into_iter();
            let first = parts.next().ok_or_else(|| nobody_holds("stage.reduce"))?;
            parts.try_fold(first, |(_, before), (version, found)| Ok((version, found.merge(&before)?)))
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

fn nobody_holds(operation: &str) -> Error {
    Error::new(Kind::Shape, operation, "a region without a service")
}
