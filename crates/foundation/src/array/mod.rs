//! Geometry of n-d arrays: element types, shapes, regions, layouts, decompositions, copies between layouts, and reductions.

mod decomposition;
mod dtype;
mod layout;
mod reduce;
mod region;
mod relayout;
mod shape;

pub use decomposition::Decomposition;
pub use dtype::DType;
pub use layout::{Layout, Strides};
pub use reduce::{Histogram, Number, Sum, Summary};
pub use region::Region;
pub use relayout::{gather, scatter, Arrangement, Field, Part, Plan, Records};
pub use shape::{Extents, Shape, MAX_DIMS};
