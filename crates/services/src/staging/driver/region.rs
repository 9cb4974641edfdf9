//! Regions of variables at one service: put in the writer's layout, got in the reader's.

use super::super::message::{Lies, Part, Publication, Question, Reply, Request, Which, Wish};
use super::super::{Definition, Print, Strategy};
use super::client::{bytes_of, Client, View, Way};
use super::held::{in_layout, shape_of, Lying, RegionLoan, RegionView};
use super::shared::unexpected;
use thalweg_foundation::array::{transfers, Cell, Layout, Region, Shape, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Buffer;

/// Does something with the parts of a version (none: they are too many for one answer); none when one of them is gone.
type Attempt<'a, T> = dyn FnMut(Version, Option<&[Part]>, Patience<'_>) -> Result<Option<T>> + 'a;

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

    /// Memory for `region`, which is put or is part of what is put, packed in `layout`.
    ///
    /// # Errors
    /// `NotFound`, `Exists` when the version is past or sealed; `Shape`; `Full`, `Timeout`, `Gone`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    pub fn lend_region(
        &self,
        cell: &Cell,
        (key, of): (Key, Print),
        (region, put): (&Region, &Region),
        layout: Layout,
        patience: Patience<'_>,
    ) -> Result<RegionLoan> {
        let shape = Shape::new(cell.dtype(), region.extents())?;
        let what = Publication::Piece { key, of, shape, region: *region, put: Box::new(*put), layout };
        Ok(RegionLoan::over(self.lend(what, patience)?, *region, layout, shape))
    }

    /// A region of a variable as the service knows it.
    ///
    /// # Errors
    /// As `region_of`.
    pub fn region(&self, question: &Question, patience: Patience<'_>) -> Result<RegionView> {
        let at_once = Patience { within: Nanos(0), ..patience };
        let there = self.describe(question.name.clone(), at_once)?;
        if there.definition.print() != question.of {
            return Err(there.definition.anew("stage.get", question.name.as_str()));
        }
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
        self.until_there(question, patience, &mut |version, parts, left| {
            if let Some([part]) = parts {
                if part.region.contains(&question.region) && question.layout.is_none_or(|l| l == part.layout)
                {
                    let (held, region) = ((part.region, part.layout), question.region);
                    let view = self.view_of(cell, part, left)?;
                    return Ok(view.map(|view| RegionView::inside(view, held, region, version, cell.clone())));
                }
            }
            let common = parts.and_then(|all| {
                let layout = all.first()?.layout;
                all.iter().all(|p| p.layout == layout).then_some(layout)
            });
            let region = question.region;
            let layout = question.layout.or(common).unwrap_or_else(|| Layout::right(region.lower().len()));
            let mut buffer = Buffer::new("stage.get", shape_of(cell, &region).size())?;
            let to = (&region, buffer.start_mut());
            // SAFETY: the buffer holds the packed region.
            let whole =
                unsafe { self.copied(cell, question, version, parts, to, &Lying::Packed(layout), left)? };
            Ok(whole.then(|| RegionView::owned(buffer, region, layout, version, cell.clone())))
        })
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
        self.until_there(question, patience, &mut |version, parts, left| {
            // SAFETY: the caller's promise.
            let whole = unsafe { self.copied(cell, question, version, parts, (whole, to), lying, left)? };
            Ok(whole.then_some(version))
        })
    }

    /// Does `attempt` with the parts that hold a region until it finds them all.
    fn until_there<T>(
        &self,
        question: &Question,
        patience: Patience<'_>,
        attempt: &mut Attempt<'_, T>,
    ) -> Result<T> {
        let deadline = now().after(patience.within);
        let mut tries = 0;
        loop {
            // The first time as the caller said it, for the message's sake.
            let within = if tries == 0 { patience.within } else { deadline.since(now()) };
            let left = Patience { within, ..patience };
            let (version, parts) = self.parts(question, left)?;
            if let Some(done) = attempt(version, parts.as_deref(), left)? {
                return Ok(done);
            }
            tries += 1;
            if tries >= TRIES && now() >= deadline {
                let detail = format!(
                    "region {} of {:?} was dropped or moved {tries} times while it was asked for; keep more versions \
                     (keep_last) or raise the memory limit",
                    question.region,
                    question.name.as_str()
                );
                return Err(Error::new(Kind::Timeout, "stage.get", detail));
            }
            (patience.tick)()?;
        }
    }

    /// Copies the parts of a region into the array of the cells of `whole` at `to`, each leased only meanwhile; false when
    /// one is gone.
    ///
    /// # Safety
    /// The array must lie at `to` as `lying` says, be writable, and no two of its elements may share memory.
    #[allow(clippy::too_many_arguments)]
    unsafe fn copied(
        &self,
        cell: &Cell,
        question: &Question,
        version: Version,
        parts: Option<&[Part]>,
        (whole, to): (&Region, *mut u8),
        lying: &Lying<'_>,
        patience: Patience<'_>,
    ) -> Result<bool> {
        let Some(parts) = parts else {
            for half in question.region.halves().into_iter().flatten() {
                let (which, strategy) = (Which::Exactly(version), Some(Strategy::AtDestination));
                let question = Question { which, strategy, ..question.of_part(half) };
                // SAFETY: the caller's promise.
                unsafe { self.region_into(cell, &question, (whole, to), lying, patience)? };
            }
            return Ok(true);
        };
        for part in parts {
            let Some(view) = self.view_of(cell, part, patience)? else { return Ok(false) };
            for cells in &part.cells {
                let from = Side::Packed(&part.region, &part.layout);
                for transfer in transfers(cell, cells, from, lying.side(whole))? {
                    // SAFETY: the view keeps the packed part; the rest is the caller's promise.
                    unsafe { transfer.run(view.start(), to) };
                }
            }
        }
        Ok(true)
    }

    /// The version that a get of `region` would give, without its bytes.
    ///
    /// # Errors
    /// As `region_of`.
    /// # Blocking
    /// Until there is one.
    pub fn newest_or_oldest(
        &self,
        (name, of): (&Name, Print),
        which: Which,
        region: &Region,
        patience: Patience<'_>,
    ) -> Result<Version> {
        let body = Request::Get {
            name: name.clone(),
            of,
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

    fn parts(&self, question: &Question, patience: Patience<'_>) -> Result<(Version, Option<Vec<Part>>)> {
        let Question { name, of, which, region, layout, strategy } = question.clone();
        let wish = Wish::Parts { layout, strategy };
        let body = Request::Get { name, of, which, region, wish, within: patience.within };
        match self.ask(body, patience)? {
            Reply::Parts { version, parts } => Ok((version, Some(parts))),
            Reply::Scattered { version } => Ok((version, None)),
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

impl Question {
    /// The question for part of the region.
    pub(super) fn of_part(&self, region: Region) -> Question {
        Question { region, ..self.clone() }
    }
}
