//! Geometry of n-d arrays: element types, shapes, regions, layouts, decompositions, and copies between layouts.

mod copy;
mod decomposition;
mod dtype;
mod layout;
mod region;
mod shape;

pub use copy::{gather, scatter};
pub use decomposition::Decomposition;
pub use dtype::DType;
pub use layout::{Layout, Strides};
pub use region::Region;
pub use shape::{Extents, Shape, MAX_DIMS};
