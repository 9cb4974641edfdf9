//! RecordPlan: copies between arrays of structs and structs of arrays, one plan for fields that lie alike.

use super::Plan;
use crate::base::{Bytes, Error, Kind, Result};

/// One field of a record, whose other bytes may be padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpan {
    /// Where it begins in the record, in bytes.
    pub offset: u64,
    /// Bytes of its value.
    pub size: u32,
}

/// How the fields of many records lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// An array of structs: record behind record, the next one so many bytes further.
    Structs(Bytes),
    /// A struct of arrays: for each field, in the order in which they are given, one packed array of its values.
    Arrays,
}

/// So many bytes of records are taken at a time when they need several plans, which then find them in the cache.
const BLOCK: u64 = 128 << 10;

/// A copy of records from one arrangement into another, planned once and run as often as wanted.
///
/// ```
/// use thalweg_foundation::array::{Arrangement, FieldSpan, RecordPlan};
/// use thalweg_foundation::Bytes;
/// // struct { u16 a; u8 b; } with a byte of padding
/// let fields = [FieldSpan { offset: 0, size: 2 }, FieldSpan { offset: 2, size: 1 }];
/// let records = RecordPlan::new(&fields, 3, Arrangement::Structs(Bytes(4)), Arrangement::Arrays)?;
/// let (from, mut to) = ([1, 2, 9, 0, 3, 4, 8, 0, 5, 6, 7, 0], [0u8; 9]);
/// // SAFETY: three records on both sides.
/// unsafe { records.run(from.as_ptr(), to.as_mut_ptr()) };
/// assert_eq!(to, [1, 2, 3, 4, 5, 6, 9, 8, 7]);
/// # Ok::<(), thalweg_foundation::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordPlan {
    groups: Vec<Group>,
    blocks: u64,
}

/// Fields of one size behind each other: where their values begin, and how they are copied.
#[derive(Clone, Debug)]
struct Group {
    block: Plan,
    rest: Plan,
    from: Place,
    to: Place,
}

/// Where the values of a group begin on one side, and how far a block of records reaches there.
#[derive(Clone, Copy, Debug)]
struct Place {
    begin: u64,
    block: u64,
}

impl RecordPlan {
    /// The copy of `count` records of `fields` that lie as `from` says into records that lie as `to` says. Padding is not
    /// copied.
    ///
    /// # Errors
    /// `Shape` when a field reaches beyond its struct, two fields share a byte, or the size overflows; `DType` when a field
    /// has no bytes.
    pub fn new(fields: &[FieldSpan], count: u64, from: Arrangement, to: Arrangement) -> Result<RecordPlan> {
        let end = checked(fields, &[from, to])?;
        let groups = grouped(fields);
        let per_block = if groups.len() == 1 { count } else { (BLOCK / end.max(1)).max(1).min(count) };
        let blocks = count.checked_div(per_block).unwrap_or(0);
        let plan = |group: &[FieldSpan], records: u64| {
            let size = group[0].size;
            let strides = |side| match side {
                Arrangement::Structs(stride) => Ok([signed(stride.0)?, i64::from(size)]),
                Arrangement::Arrays => Ok([i64::from(size), signed(product(count, size)?)?]),
            };
            Plan::new(size, &[records, group.len() as u64], &strides(from)?, &strides(to)?)
        };
        let place = |side, group: &[FieldSpan], before: u64| match side {
            Arrangement::Structs(stride) => Place { begin: group[0].offset, block: stride.0 * per_block },
            Arrangement::Arrays => {
                Place { begin: before * count, block: u64::from(group[0].size) * per_block }
            }
        };
        let mut before = 0;
        let mut planned = Vec::with_capacity(groups.len());
        for group in groups {
            planned.push(Group {
                block: plan(group, per_block)?,
                rest: plan(group, count - blocks * per_block)?,
                from: place(from, group, before),
                to: place(to, group, before),
            });
            before += group.iter().map(|field| u64::from(field.size)).sum::<u64>();
        }
        Ok(RecordPlan { groups: planned, blocks })
    }

    /// Bytes that one run copies.
    pub fn bytes(&self) -> Bytes {
        Bytes(
            self.groups.iter().map(|group| group.block.bytes().0 * self.blocks + group.rest.bytes().0).sum(),
        )
    }

    /// Copies the records at `from` to `to`.
    ///
    /// # Safety
    /// The records must be readable at `from` and writable at `to` in their arrangements, and the two must not overlap.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        for block in 0..=self.blocks {
            for group in &self.groups {
                let plan = if block < self.blocks { &group.block } else { &group.rest };
                let at = |place: Place| (place.begin + place.block * block) as usize;
                // SAFETY: the values of this group in this block of the caller's records.
                unsafe { plan.run(from.wrapping_add(at(group.from)), to.wrapping_add(at(group.to))) };
            }
        }
    }
}

/// Checks the fields; where the last one ends.
fn checked(fields: &[FieldSpan], sides: &[Arrangement]) -> Result<u64> {
    let refuse = |detail: String| Err(Error::new(Kind::Shape, "records", detail));
    let mut sorted = fields.to_vec();
    sorted.sort_by_key(|field| field.offset);
    let mut end = 0;
    for field in &sorted {
        if field.offset < end {
            return refuse(format!(
                "a field at offset {} begins before the one before it ends, at {end}",
                field.offset
            ));
        }
        end = match field.offset.checked_add(u64::from(field.size)) {
            Some(end) => end,
            None => {
                return refuse(format!(
                    "a field at offset {} of {} bytes overflows",
                    field.offset, field.size
                ))
            }
        };
    }
    for side in sides {
        if let Arrangement::Structs(stride) = side {
            if stride.0 < end {
                return refuse(format!("fields reach to byte {end} of structs of {} bytes", stride.0));
            }
        }
    }
    Ok(end)
}

/// Neighbours of one size that follow each other without a gap: they are one more axis.
fn grouped(fields: &[FieldSpan]) -> Vec<&[FieldSpan]> {
    fields
        .chunk_by(|a, b| a.size == b.size && a.offset.checked_add(u64::from(a.size)) == Some(b.offset))
        .collect()
}

fn signed(bytes: u64) -> Result<i64> {
    i64::try_from(bytes).map_err(|_| Error::new(Kind::Shape, "records", format!("{bytes} bytes overflow")))
}

fn product(count: u64, size: u32) -> Result<u64> {
    let detail = || format!("{count} values of {size} bytes overflow");
    count.checked_mul(u64::from(size)).ok_or_else(|| Error::new(Kind::Shape, "records", detail()))
}
