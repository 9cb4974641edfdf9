//! Geometry of n-d arrays: element types, shapes, regions, layouts, decompositions, copies between layouts, and reductions.

mod decomposition;
mod dtype;
mod layout;
mod record;
mod reduce;
mod region;
mod relayout;
mod shape;
mod transfer;

pub use decomposition::Decomposition;
pub use dtype::DType;
pub use layout::{Layout, Records, Strides};
pub use record::{Cell, Component, Field, FIELDS_MAX};
pub use reduce::{Histogram, Number, Sum, Summary};
pub use region::Region;
pub use relayout::{gather, scatter, Arrangement, FieldSpan, Part, Plan, RecordPlan};
pub use shape::{Extents, Shape, MAX_DIMS};
pub use transfer::{transfers, Side, Transfer};
