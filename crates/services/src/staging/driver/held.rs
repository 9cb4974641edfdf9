//! A region of a variable in the hands of who reads or makes it.

use super::client::{Committed, Loan, View};
use thalweg_foundation::array::{transfers, Cell, DType, Layout, Records, Region, Shape, Side, Strides};
use thalweg_foundation::{Result, Version};
use thalweg_transport::link::Patience;
use thalweg_transport::memory::Buffer;

/// How an array lies in the caller's memory.
#[derive(Clone, Copy, Debug)]
pub enum Lying<'a> {
    /// With strides in bytes, slowest axis of the domain first; the fields of records lie together.
    Strides(&'a Strides),
    /// Packed in a layout.
    Packed(Layout),
}

impl<'a> Lying<'a> {
    pub(super) fn side<'s>(&'s self, region: &'s Region) -> Side<'s>
    where
        'a: 's,
    {
        match self {
            Lying::Strides(strides) => Side::Strided(region, strides),
            Lying::Packed(layout) => Side::Packed(region, layout),
        }
    }

    /// The packed layout that is nearest to it.
    pub(super) fn layout(&self, cell: &Cell, shape: &Shape) -> Result<Layout> {
        match self {
            Lying::Strides(strides) => Layout::nearest(shape, strides),
            Lying::Packed(layout) => Ok(cell.layout(*layout)),
        }
    }
}

/// What keeps the bytes of a view.
enum Keeps {
    Viewed(View),
    Owned(Buffer),
}

/// A region of a version, for reading, as long as this lives.
pub struct RegionView {
    keeps: Keeps,
    /// Which cells the packed array holds in which this region lies.
    held: Region,
    layout: Layout,
    region: Region,
    version: Version,
    cell: Cell,
}

/// Packed bytes of a region.
pub struct Packed<'a> {
    view: &'a RegionView,
    copy: Option<Buffer>,
}

impl Packed<'_> {
    /// The bytes, packed in the view's layout.
    pub fn bytes(&self) -> &[u8] {
        let len = self.view.shape().size().0 as usize;
        let start = self.copy.as_ref().map_or(self.view.base(), Buffer::start);
        // SAFETY: the view, or the copy, holds the packed region.
        unsafe { std::slice::from_raw_parts(start, len) }
    }
}

impl RegionView {
    /// A view of a buffer that holds the packed region.
    pub(super) fn owned(
        buffer: Buffer,
        region: Region,
        layout: Layout,
        version: Version,
        cell: Cell,
    ) -> RegionView {
        RegionView { keeps: Keeps::Owned(buffer), held: region, layout, region, version, cell }
    }

    /// A view of the cells of `region` inside the packed array that `view` shows.
    pub(super) fn inside(
        view: View,
        (held, layout): (Region, Layout),
        region: Region,
        version: Version,
        cell: Cell,
    ) -> RegionView {
        RegionView { keeps: Keeps::Viewed(view), held, layout, region, version, cell }
    }

    fn base(&self) -> *const u8 {
        match &self.keeps {
            Keeps::Viewed(view) => view.start(),
            Keeps::Owned(buffer) => buffer.start(),
        }
    }

    /// Extents of the region and type of its cells.
    pub fn shape(&self) -> Shape {
        shape_of(&self.cell, &self.region)
    }

    /// The cells that it shows.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The version that it is of.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The order of its axes in memory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What a cell is.
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// The address of the first cell and the strides in bytes, slowest axis of the domain first. For records whose fields
    /// lie apart this is the first field; see `field`.
    pub fn array(&self) -> (*const u8, Vec<i64>) {
        let apart = self.layout.records() == Records::Arrays;
        self.component(0, apart)
    }

    /// The address of field `n` of the first cell, its type, and its strides in bytes; none when there is no such field.
    pub fn field(&self, n: usize) -> Option<(*const u8, DType, Vec<i64>)> {
        let dtype = self.cell.fields().get(n)?.dtype;
        let (start, strides) = self.component(n, true);
        Some((start, dtype, strides))
    }

    fn component(&self, n: usize, apart: bool) -> (*const u8, Vec<i64>) {
        let inside = self.region.seen_from(self.held.lower());
        let held = shape_of(&self.cell, &self.held);
        let all = self.cell.components(&held, &self.layout, &inside, apart);
        match all.into_iter().nth(n) {
            // SAFETY: the region lies inside the packed array that is kept.
            Some(c) => (unsafe { self.base().offset(c.offset as isize) }, c.strides),
            None => (self.base(), Vec::new()),
        }
    }

    /// Its bytes, packed in its layout; copied only where the region is part of a larger array.
    ///
    /// # Errors
    /// `Full` when there is no memory for a copy.
    pub fn packed(&self) -> Result<Packed<'_>> {
        if self.held == self.region {
            return Ok(Packed { view: self, copy: None });
        }
        let mut buffer = Buffer::new("stage.get", self.shape().size())?;
        let to = buffer.start_mut();
        // SAFETY: the buffer holds the packed region.
        unsafe { self.copy_to(&self.region, to, &Lying::Packed(self.layout))? };
        Ok(Packed { view: self, copy: Some(buffer) })
    }

    /// Copies the region into the array of the cells of `whole` at `to`.
    ///
    /// # Errors
    /// `Shape` when that array does not hold the region.
    ///
    /// # Safety
    /// The array must lie at `to` as `lying` says, be writable, and not overlap the view.
    pub unsafe fn copy_to(&self, whole: &Region, to: *mut u8, lying: &Lying<'_>) -> Result<()> {
        let from = Side::Packed(&self.held, &self.layout);
        for transfer in transfers(&self.cell, &self.region, from, lying.side(whole))? {
            // SAFETY: the view keeps the packed array; the rest is the caller's promise.
            unsafe { transfer.run(self.base(), to) };
        }
        Ok(())
    }
}

/// `view`, reorganised if it does not lie as `wanted`.
pub(super) fn in_layout(view: RegionView, wanted: Option<Layout>) -> Result<RegionView> {
    let Some(layout) = wanted.filter(|l| *l != view.layout) else { return Ok(view) };
    let mut buffer = Buffer::new("stage.get", view.shape().size())?;
    // SAFETY: the buffer holds the packed region.
    unsafe { view.copy_to(&view.region, buffer.start_mut(), &Lying::Packed(layout))? };
    let region = view.region;
    Ok(RegionView { keeps: Keeps::Owned(buffer), held: region, layout, ..view })
}

/// The shape of `region`; it was checked when the region came.
pub(super) fn shape_of(cell: &Cell, region: &Region) -> Shape {
    Shape::new(cell.dtype(), region.extents()).unwrap_or(Shape::EMPTY)
}

/// Memory for a region that the caller fills and then commits; given back when dropped without.
pub struct RegionLoan {
    loan: Loan,
    region: Region,
    layout: Layout,
    shape: Shape,
}

impl RegionLoan {
    pub(super) fn over(loan: Loan, region: Region, layout: Layout, shape: Shape) -> RegionLoan {
        RegionLoan { loan, region, layout, shape }
    }

    /// The first byte.
    pub fn start(&mut self) -> *mut u8 {
        self.loan.start()
    }

    /// The cells that it is for.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// How they lie, packed.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Extents and type of the cells.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Publishes the region, once. The memory stays mapped until the loan is dropped, but must not be written any more.
    ///
    /// # Errors
    /// `Invalid` when the loan has ended already; `Exists` when the region was put before, or the version sealed meanwhile;
    /// `NotFound` when it is past; `Gone`.
    pub fn commit(&mut self, patience: Patience<'_>) -> Result<()> {
        let committed = self.committed(patience)?;
        committed.or_exists(self.loan.what().key(), &self.region)
    }

    /// As `commit`; that the region was put before is no error.
    pub(super) fn committed(&mut self, patience: Patience<'_>) -> Result<Committed> {
        self.loan.commit(patience)
    }

    /// Gives the memory back.
    pub fn discard(&mut self) {
        self.loan.discard();
    }
}
