//! Records: elements that consist of named fields.

use super::{DType, Layout, Records, Region, Shape, Strides};
use crate::base::{Error, Kind, Name, Result};
use serde::{Deserialize, Serialize};

/// The most fields that a record may have.
pub const FIELDS_MAX: usize = 256;

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// What it is called.
    pub name: Name,
    /// The type of its value.
    pub dtype: DType,
    /// Bytes from the record's start.
    pub offset: u32,
}

/// What one cell of a variable is: a plain element, or a record with fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cell {
    dtype: DType,
    fields: Vec<Field>,
}

/// One strided array that is part of a packed one: the whole of it, or one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Bytes of one element.
    pub size: u32,
    /// Bytes from the start to the first element.
    pub offset: i64,
    /// Bytes from one element to the next along each axis.
    pub strides: Vec<i64>,
}

impl Cell {
    /// A plain element.
    pub fn plain(dtype: DType) -> Cell {
        Cell { dtype, fields: Vec::new() }
    }

    /// A record of `size` bytes.
    ///
    /// # Errors
    /// `DType` when a field lies outside the record or over another one, two have one name, or there are none or more
    /// than 256.
    pub fn record(size: u32, fields: Vec<Field>) -> Result<Cell> {
        let refuse = |detail: String| Err(Error::new(Kind::DType, "record", detail));
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return refuse(format!("{} fields; accepted are 1 to {FIELDS_MAX}", fields.len()));
        }
        let mut places: Vec<(u32, u32, &Name)> =
            fields.iter().map(|f| (f.offset, f.dtype.size(), &f.name)).collect();
        places.sort();
        for (i, (offset, bytes, name)) in places.iter().enumerate() {
            let end = u64::from(*offset) + u64::from(*bytes);
            if end > u64::from(size) {
                return refuse(format!("field {name} ends at byte {end} of a record of {size} bytes"));
            }
            if places.get(i + 1).is_some_and(|next| u64::from(next.0) < end) {
                return refuse(format!("fields {name} and {} lie over each other", places[i + 1].2));
            }
            if fields.iter().filter(|f| f.name == **name).count() > 1 {
                return refuse(format!("two fields are called {name}"));
            }
        }
        Ok(Cell { dtype: DType::new(b'V', size)?, fields })
    }

    /// The element type; opaque for a record.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The fields of a record; none for a plain element.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// `layout` as it matters for such cells: plain elements know no struct of arrays.
    pub fn layout(&self, layout: Layout) -> Layout {
        if self.fields.is_empty() {
            layout.with_records(Records::Structs)
        } else {
            layout
        }
    }

    /// The strided arrays of a packed array of `shape` in `layout`, each seen from the first cell of `inside`; `apart`:
    /// one for each field, else one for whole records, which then lie together.
    pub fn components(&self, shape: &Shape, layout: &Layout, inside: &Region, apart: bool) -> Vec<Component> {
        let one = |shape: &Shape, start: i64| {
            let strides = layout.strides(shape);
            let offset = start + corner(&strides, inside.lower());
            Component { size: shape.dtype().size(), offset, strides }
        };
        if self.fields.is_empty() || layout.records() == Records::Structs {
            return self.strided(one(shape, 0), apart);
        }
        let mut start = 0;
        let array = |field: &Field| {
            let array = shape.of_part(field.dtype);
            let component = one(&array, start);
            start += array.size().0 as i64;
            component
        };
        self.fields.iter().map(array).collect()
    }

    /// The strided arrays of an array whose cells are whole: itself, or with `apart` one for each field.
    pub(super) fn strided(&self, whole: Component, apart: bool) -> Vec<Component> {
        if self.fields.is_empty() || !apart {
            return vec![whole];
        }
        let field = |field: &Field| Component {
            size: field.dtype.size(),
            offset: whole.offset + i64::from(field.offset),
            strides: whole.strides.clone(),
        };
        self.fields.iter().map(field).collect()
    }
}

fn corner(strides: &Strides, lower: &[u64]) -> i64 {
    strides.iter().zip(lower).map(|(s, l)| s * *l as i64).sum()
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Cell, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            dtype: DType,
            fields: Vec<Field>,
        }
        let Raw { dtype, fields } = Raw::deserialize(from)?;
        let cell = match fields.is_empty() {
            true => Ok(Cell::plain(dtype)),
            false => Cell::record(dtype.size(), fields),
        };
        cell.map_err(serde::de::Error::custom)
    }
}
