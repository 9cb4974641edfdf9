//! Geometry of n-d arrays: element types, shapes, regions, layouts, decompositions, and copies between layouts.

mod decomposition;
mod dtype;
mod layout;
mod region;
mod relayout;
mod shape;

pub use decomposition::Decomposition;
pub use dtype::DType;
pub use layout::{Layout, Strides};
pub use region::Region;
pub use relayout::{gather, scatter, Arrangement, Field, Part, Plan, Records};
pub use shape::{Extents, Shape, MAX_DIMS};
