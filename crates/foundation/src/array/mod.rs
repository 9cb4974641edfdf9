//! Geometry of n-d arrays: element types, shapes, regions, layouts, decompositions, and copies between layouts.

mod copy;
mod decomposition;
mod dtype;
mod layout;
mod record;
mod region;
mod shape;
mod transfer;

pub use copy::{gather, scatter};
pub use decomposition::Decomposition;
pub use dtype::DType;
pub use layout::{Layout, Records, Strides};
pub use record::{Cell, Component, Field, FIELDS_MAX};
pub use region::Region;
pub use shape::{Extents, Shape, MAX_DIMS};
pub use transfer::{transfers, Side, Transfer};
