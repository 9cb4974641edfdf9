//! Regions of variables at one service: put in the writer's layout, got in the reader's.

use super::super::message::{Lies, Part, Publication, Question, Reply, Request, Which, Wish};
use super::super::Definition;
use super::client::{bytes_of, Client, View, Way};
use super::held::{in_layout, shape_of, Lying, RegionLoan, RegionView};
use super::shared::unexpected;
use thalweg_foundation::array::{transfers, Cell, Layout, Region, Shape, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Buffer;

/// How often a get is tried at least, however short its deadline, when a part is gone before it is leased because its
/// version was replaced by a newer one meanwhile.
const TRIES: usize = 16;

/// What a service knows of a variable.
#[derive(Clone, Debug)]
pub struct Description {
    /// How it is.
    pub definition: Definition,
    /// The part of its domain that the service holds.
    pub part: Region,
    /// What was noted about it.
    pub attributes: Vec<(String, String)>,
}

impl Client {
    /// How a variable is, once somebody has defined it.
    ///
    /// # Errors
    /// `Timeout` names who is connected.
    /// # Blocking
    /// Until it is defined.
    pub fn describe(&self, name: Name, patience: Patience<'_>) -> Result<Description> {
        match self.ask(Request::Describe { name, within: patience.within }, patience)? {
            Reply::Defined { definition, part, attributes } => {
                Ok(Description { definition: *definition, part, attributes })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Memory for `region`, packed in `layout`.
    ///
    /// # Errors
    /// `NotFound`, `Exists` when the version is past or sealed; `Shape`; `Full`, `Timeout`, `Gone`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    pub fn lend_region(
        &self,
        cell: &Cell,
        key: Key,
        region: &Region,
        layout: Layout,
        patience: Patience<'_>,
    ) -> Result<RegionLoan> {
        let shape = Shape::new(cell.dtype(), region.extents())?;
        let what = Publication::Piece { key, shape, region: *region, layout };
        Ok(RegionLoan::over(self.lend(what, patience)?, *region, layout, shape))
    }

    /// A region of a variable as the service knows it.
    ///
    /// # Errors
    /// As `region_of`.
    pub fn region(&self, question: &Question, patience: Patience<'_>) -> Result<RegionView> {
        let at_once = Patience { within: Nanos(0), ..patience };
        let there = self.describe(question.name.clone(), at_once)?;
        self.region_of(&there.definition.cell, question, patience)
    }

    /// A region of a variable whose cells are `cell`, in the layout that is asked for; without a copy where one piece or
    /// replica in this node's memory holds it so.
    ///
    /// # Errors
    /// `Timeout` says what is missing and who is connected; `NotFound` when the version is past, or sealed without these
    /// cells; `Shape` outside the domain; `Gone`.
    /// # Blocking
    /// Until the region is complete.
    pub fn region_of(&self, cell: &Cell, question: &Question, patience: Patience<'_>) -> Result<RegionView> {
        if let Way::Remote(remote) = self.way()? {
            let shape = Shape::new(cell.dtype(), question.region.extents())?;
            let place = |layout: Layout| {
                let mut buffer = Buffer::new("stage.get", shape.size())?;
                let into = bytes_of(&mut buffer);
                Ok(((layout, buffer), into))
            };
            let (version, (layout, buffer)) = remote.get_region(question.clone(), place, patience)?;
            let view = RegionView::owned(buffer, question.region, layout, version, cell.clone());
            return in_layout(view, question.layout);
        }
        let (version, found) = self.found(cell, question, patience)?;
        assemble(cell, question, version, found)
    }

    /// Copies a region of a variable straight into the array of the cells of `whole` at `to`.
    ///
    /// # Errors
    /// As `region_of`; `Shape` when that array does not hold the region.
    /// # Blocking
    /// Until the region is complete.
    ///
    /// # Safety
    /// The array must lie at `to` as `lying` says, be writable, and no two of its elements may share memory.
    pub unsafe fn region_into(
        &self,
        cell: &Cell,
        question: &Question,
        (whole, to): (&Region, *mut u8),
        lying: &Lying<'_>,
        patience: Patience<'_>,
    ) -> Result<Version> {
        let packed = matches!(lying, Lying::Packed(_)) && whole == &question.region;
        if let Way::Remote(remote) = self.way()? {
            if packed {
                let shape = Shape::new(cell.dtype(), question.region.extents())?;
                let place = |layout: Layout| match question.layout == Some(layout) {
                    // SAFETY: packed writable memory of that size, by the caller's promise.
                    true => Ok(((), unsafe { std::slice::from_raw_parts_mut(to, shape.size().0 as usize) })),
                    false => Err(Error::new(Kind::Protocol, "stage.get", "the answer lies otherwise")),
                };
                return remote.get_region(question.clone(), place, patience).map(|(version, ())| version);
            }
            let view = self.region_of(cell, question, patience)?;
            // SAFETY: the caller's promise.
            unsafe { view.copy_to(whole, to, lying)? };
            return Ok(view.version());
        }
        let (version, found) = self.found(cell, question, patience)?;
        for (part, view) in &found {
            for cells in &part.cells {
                let from = Side::Packed(&part.region, &part.layout);
                for transfer in transfers(cell, cells, from, lying.side(whole))? {
                    // SAFETY: the view keeps the packed part; the rest is the caller's promise.
                    unsafe { transfer.run(view.start(), to) };
                }
            }
        }
        Ok(version)
    }

    /// The parts that hold a region, each with its bytes.
    fn found(
        &self,
        cell: &Cell,
        question: &Question,
        patience: Patience<'_>,
    ) -> Result<(Version, Vec<(Part, View)>)> {
        let deadline = now().after(patience.within);
        let mut attempt = 0;
        loop {
            // The first time as the caller said it, for the message's sake.
            let within = if attempt == 0 { patience.within } else { deadline.since(now()) };
            let left = Patience { within, ..patience };
            let (version, parts) = self.parts(question, left)?;
            let count = parts.len();
            let mut found = Vec::with_capacity(count);
            for part in parts {
                match self.view_of(cell, &part, left)? {
                    Some(view) => found.push((part, view)),
                    None => break,
                }
            }
            if found.len() == count {
                return Ok((version, found));
            }
            attempt += 1;
            if attempt >= TRIES && now() >= deadline {
                let detail = format!(
                    "region {} of {:?} was dropped or moved {attempt} times while it was asked for; keep more versions \
                     (keep_last) or raise the memory limit",
                    question.region,
                    question.name.as_str()
                );
                return Err(Error::new(Kind::Timeout, "stage.get", detail));
            }
            (patience.tick)()?;
        }
    }

    /// The version that a get of `region` would give, without its bytes.
    ///
    /// # Errors
    /// As `region_of`.
    /// # Blocking
    /// Until there is one.
    pub fn newest_or_oldest(
        &self,
        name: &Name,
        which: Which,
        region: &Region,
        patience: Patience<'_>,
    ) -> Result<Version> {
        let body = Request::Get {
            name: name.clone(),
            which,
            region: *region,
            wish: Wish::Version,
            within: patience.within,
        };
        match self.ask(body, patience)? {
            Reply::Parts { version, .. } => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    fn parts(&self, question: &Question, patience: Patience<'_>) -> Result<(Version, Vec<Part>)> {
        let Question { name, which, region, layout, strategy } = question.clone();
        let wish = Wish::Parts { layout, strategy };
        let body = Request::Get { name, which, region, wish, within: patience.within };
        match self.ask(body, patience)? {
            Reply::Parts { version, parts } => Ok((version, parts)),
            other => Err(unexpected(&other)),
        }
    }

    /// The bytes of a part, if it is still there.
    fn view_of(&self, cell: &Cell, part: &Part, patience: Patience<'_>) -> Result<Option<View>> {
        match (&part.lies, self.way()?) {
            (Lies::There { address, source, keeper }, _) => {
                let fetch = || {
                    let service = self.keeper(address, patience)?;
                    service.get(source.clone(), Patience { within: Nanos(0), ..patience })
                };
                match fetch() {
                    Ok(view) => Ok(Some(view)),
                    // Who released it meanwhile says so to the service; who has died is missed there.
                    Err(e) if e.kind == Kind::Timeout => Ok(None),
                    Err(e) => Err(Error {
                        message: format!("stage.get: region {} is kept by {keeper}: {e}", part.region),
                        ..e
                    }),
                }
            }
            (Lies::Here { .. }, Way::Shared(shared)) => {
                Ok(shared.lease_part(part, cell.dtype())?.map(View::Lease))
            }
            (Lies::Here { .. }, Way::Remote(_)) => {
                Err(Error::new(Kind::Protocol, "stage.get", "a part in another node's memory"))
            }
        }
    }
}

/// One view of the region over its parts: the part itself where one holds it as it is wanted, else a copy.
fn assemble(
    cell: &Cell,
    question: &Question,
    version: Version,
    mut found: Vec<(Part, View)>,
) -> Result<RegionView> {
    let (region, cell) = (question.region, cell.clone());
    let as_it_is = |part: &Part| {
        part.region.contains(&region) && question.layout.is_none_or(|wanted| wanted == part.layout)
    };
    if found.len() == 1 && as_it_is(&found[0].0) {
        if let Some((part, view)) = found.pop() {
            return Ok(RegionView::inside(view, (part.region, part.layout), region, version, cell));
        }
    }
    let common = found.first().map(|(p, _)| p.layout).filter(|l| found.iter().all(|(p, _)| p.layout == *l));
    let layout = question.layout.or(common).unwrap_or_else(|| Layout::right(region.lower().len()));
    let mut buffer = Buffer::new("stage.get", shape_of(&cell, &region).size())?;
    for (part, view) in &found {
        for cells in &part.cells {
            let (from, to) = (Side::Packed(&part.region, &part.layout), Side::Packed(&region, &layout));
            for transfer in transfers(&cell, cells, from, to)? {
                // SAFETY: the view keeps the packed part, the buffer holds the packed region.
                unsafe { transfer.run(view.start(), buffer.start_mut()) };
            }
        }
    }
    Ok(RegionView::owned(buffer, region, layout, version, cell))
}

impl Question {
    /// The question for part of the region.
    pub(super) fn of_part(&self, region: Region) -> Question {
        Question { region, ..self.clone() }
    }
}
