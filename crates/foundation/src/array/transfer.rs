//! Transfers: the copies that bring some cells of one array into another that lies differently in memory.

use super::record::Component;
use super::{Arrangement, Cell, FieldSpan, Layout, Part, Plan, RecordPlan, Records, Region, Shape, Strides};
use crate::base::{Bytes, Error, Kind, Result};

/// One array of a transfer: which cells it holds, and how it lies.
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// Packed in a layout.
    Packed(&'a Region, &'a Layout),
    /// With any strides, in bytes; the fields of records lie together.
    Strided(&'a Region, &'a Strides),
}

impl Side<'_> {
    fn region(&self) -> &Region {
        match self {
            Side::Packed(region, _) | Side::Strided(region, _) => region,
        }
    }

    fn records(&self) -> Records {
        match self {
            Side::Packed(_, layout) => layout.records(),
            Side::Strided(..) => Records::Structs,
        }
    }

    /// The strided arrays of which this one consists, seen from the first of `cells`.
    fn components(&self, cell: &Cell, cells: &Region, apart: bool) -> Result<Vec<Component>> {
        let inside = cells.seen_from(self.region().lower());
        let shape = Shape::new(cell.dtype(), self.region().extents())?;
        Ok(match self {
            Side::Packed(_, layout) => cell.components(&shape, layout, &inside, apart),
            Side::Strided(_, strides) => {
                if strides.len() != inside.lower().len() {
                    let detail = format!("{} strides for region {}", strides.len(), self.region());
                    return Err(Error::new(Kind::Shape, "layout", detail));
                }
                let offset = strides.iter().zip(inside.lower()).map(|(s, l)| s * *l as i64).sum();
                let whole = Component { size: cell.dtype().size(), offset, strides: strides.to_vec() };
                cell.strided(whole, apart)
            }
        })
    }
}

/// One copy.
#[allow(clippy::large_enum_variant)] // a plan needs no heap
#[derive(Clone, Debug)]
pub enum Transfer {
    /// Between strided arrays, each so many bytes behind the start of its whole array.
    Strided {
        /// The copy.
        plan: Plan,
        /// Bytes from the start to the first element, there and here.
        from: i64,
        /// The same in the target.
        to: i64,
    },
    /// Of all cells, which lie in the same order, between structs and arrays.
    Records(RecordPlan),
}

/// The copies that bring `cells`, which both arrays hold, from one to the other.
///
/// # Errors
/// `Shape` when an array does not hold `cells`, or has not one stride for each axis.
pub fn transfers(cell: &Cell, cells: &Region, from: Side<'_>, to: Side<'_>) -> Result<Vec<Transfer>> {
    for side in [&from, &to] {
        if !side.region().contains(cells) {
            let detail = format!("cells {cells} are not all in region {}", side.region());
            return Err(Error::new(Kind::Shape, "layout", detail));
        }
    }
    if let Some(plan) = all_records(cell, cells, &from, &to)? {
        return Ok(vec![Transfer::Records(plan)]);
    }
    let apart = from.records() == Records::Arrays || to.records() == Records::Arrays;
    let (from, to) = (from.components(cell, cells, apart)?, to.components(cell, cells, apart)?);
    let pairs = from.into_iter().zip(to);
    pairs
        .map(|(from, to)| {
            let plan = Plan::new(from.size, cells.extent(), &from.strides, &to.strides)?;
            Ok(Transfer::Strided { plan, from: from.offset, to: to.offset })
        })
        .collect()
}

/// The copy between structs and arrays of all records of two packed arrays whose axes lie alike.
fn all_records(cell: &Cell, cells: &Region, from: &Side<'_>, to: &Side<'_>) -> Result<Option<RecordPlan>> {
    let (Side::Packed(held, here), Side::Packed(wanted, there)) = (from, to) else { return Ok(None) };
    let alike = *held == cells && *wanted == cells && here.axes() == there.axes();
    if !alike || here.records() == there.records() {
        return Ok(None);
    }
    let spans: Vec<FieldSpan> = cell
        .fields()
        .iter()
        .map(|f| FieldSpan { offset: u64::from(f.offset), size: f.dtype.size() })
        .collect();
    let arranged = |layout: &Layout| match layout.records() {
        Records::Structs => Arrangement::Structs(Bytes(u64::from(cell.dtype().size()))),
        Records::Arrays => Arrangement::Arrays,
    };
    let count = u64::try_from(cells.cells()).unwrap_or(u64::MAX);
    RecordPlan::new(&spans, count, arranged(here), arranged(there)).map(Some)
}

impl Transfer {
    /// Bytes that it copies.
    pub fn bytes(&self) -> Bytes {
        match self {
            Transfer::Strided { plan, .. } => plan.bytes(),
            Transfer::Records(plan) => plan.bytes(),
        }
    }

    /// The same copy in at most `parts` of about equal size that write disjoint memory; whoever has threads runs them side
    /// by side.
    pub fn split(self, parts: usize) -> Vec<Transfer> {
        match self {
            Transfer::Strided { plan, from, to } => {
                let moved = |part: Part| Transfer::Strided {
                    plan: part.plan,
                    from: from + part.from,
                    to: to + part.to,
                };
                plan.split(parts).into_iter().map(moved).collect()
            }
            records => vec![records],
        }
    }

    /// Copies; the pointers are to the first byte of either whole array.
    ///
    /// # Safety
    /// The arrays must lie at `from` and `to` as the two sides said, the one readable and the other writable, and must
    /// not overlap.
    pub unsafe fn run(&self, source: *const u8, target: *mut u8) {
        // SAFETY: the caller's promise: the offsets and strides are those of arrays that hold the cells.
        unsafe {
            match self {
                Transfer::Strided { plan, from, to } => {
                    plan.run(source.offset(*from as isize), target.offset(*to as isize));
                }
                Transfer::Records(plan) => plan.run(source, target),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DType, Extents, Field};
    use super::*;
    use crate::base::Name;
    use proptest::prelude::*;

    fn record() -> Cell {
        let field = |name: &str, size, offset| Field {
            name: Name::new("", name).unwrap(),
            dtype: DType::new(b'u', size).unwrap(),
            offset,
        };
        Cell::record(16, vec![field("a", 8, 0), field("b", 2, 12), field("c", 4, 8)]).unwrap()
    }

    /// The bytes of one cell in a packed array, field by field in their own order.
    fn read(cell: &Cell, memory: &[u8], region: &Region, layout: &Layout, at: &Region) -> Vec<u8> {
        let shape = Shape::new(cell.dtype(), region.extents()).unwrap();
        let inside = at.seen_from(region.lower());
        let parts = cell.components(&shape, layout, &inside, true);
        parts.iter().flat_map(|c| memory[c.offset as usize..][..c.size as usize].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn cells_arrive_whatever_the_layouts(
            axes in prop::collection::vec((0u64..3, 1u64..5, 0u64..3, 0u64..3), 1..4),
            orders in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            arrays in (any::<bool>(), any::<bool>()),
            plain in any::<bool>(),
        ) {
            let cell = if plain { Cell::plain(DType::new(b'f', 8).unwrap()) } else { record() };
            let lower: Vec<u64> = axes.iter().map(|a| a.0 + 2).collect();
            let cells = Region::new(&lower, &axes.iter().map(|a| a.1).collect::<Vec<_>>()).unwrap();
            let around = |by: Vec<u64>| {
                let low: Vec<u64> = axes.iter().zip(&by).map(|(a, b)| a.0 + 2 - b.min(&2)).collect();
                let ext: Vec<u64> = axes.iter().zip(&by).map(|(a, b)| a.1 + 2 * b).collect();
                Region::new(&low, &ext).unwrap()
            };
            let outer = around(axes.iter().map(|a| a.2).collect());
            let inner = around(axes.iter().map(|a| a.3).collect());
            let order = |index: prop::sample::Index, arrays: bool| {
                let mut all: Vec<u8> = (0..axes.len() as u8).collect();
                all.rotate_left(index.index(axes.len()));
                if index.index(7) > 3 { all.reverse(); }
                let records = if arrays { Records::Arrays } else { Records::Structs };
                cell.layout(Layout::of(&all).unwrap().with_records(records))
            };
            let (from, to) = (order(orders.0, arrays.0), order(orders.1, arrays.1));
            let bytes = |r: &Region| r.cells() as usize * cell.dtype().size() as usize;
            let source: Vec<u8> = (0..bytes(&outer)).map(|i| (i * 31 % 251) as u8).collect();
            let mut target = vec![0u8; bytes(&inner)];
            for one in transfers(&cell, &cells, Side::Packed(&outer, &from), Side::Packed(&inner, &to)).unwrap() {
                // SAFETY: both vectors hold packed arrays of their regions.
                unsafe { one.run(source.as_ptr(), target.as_mut_ptr()) };
            }
            let dims = axes.len();
            for n in 0..cells.cells() as u64 {
                let (mut at, mut rest) = (cells.lower().to_vec(), n);
                for (index, extent) in at.iter_mut().zip(cells.extent()) {
                    *index += rest % extent;
                    rest /= extent;
                }
                let one = Region::new(&at, &vec![1; dims]).unwrap();
                prop_assert_eq!(
                    read(&cell, &source, &outer, &from, &one),
                    read(&cell, &target, &inner, &to, &one)
                );
            }
        }
    }

    #[test]
    fn cells_that_an_array_does_not_hold_are_refused() {
        let cell = Cell::plain(DType::new(b'f', 8).unwrap());
        let (small, large) = (Region::new(&[0], &[2]).unwrap(), Region::new(&[0], &[3]).unwrap());
        let layout = Layout::right(1);
        let refused =
            transfers(&cell, &large, Side::Packed(&large, &layout), Side::Strided(&small, &[8])).unwrap_err();
        assert_eq!(refused.to_string(), "layout: cells [0:3] are not all in region [0:2]");
        assert!(transfers(&cell, &small, Side::Packed(&large, &layout), Side::Strided(&small, &[])).is_err());
        assert_eq!(Region::whole(&Extents::new(&[3]).unwrap()), large);
    }
}
