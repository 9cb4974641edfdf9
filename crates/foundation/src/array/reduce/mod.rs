//! Reductions over a strided array, in pieces that can be merged.

mod histogram;
mod rows;
mod summary;
#[cfg(test)]
mod tests;

pub use histogram::Histogram;
pub use summary::{Number, Sum, Summary};

/// Expands `$with!(type)` for the element type of `$shape`.
macro_rules! with_number {
    ($shape:expr, $with:ident) => {
        match ($shape.dtype().kind(), $shape.dtype().size()) {
            (b'b', 1) | (b'u', 1) => $with!(u8),
            (b'u', 2) => $with!(u16),
            (b'u', 4) => $with!(u32),
            (b'u', 8) => $with!(u64),
            (b'i', 1) => $with!(i8),
            (b'i', 2) => $with!(i16),
            (b'i', 4) => $with!(i32),
            (b'i', 8) => $with!(i64),
            (b'f', 4) => $with!(f32),
            (b'f', 8) => $with!(f64),
            _ => {
                let detail = format!(
                    "elements of {}; accepted are bool, int8 to int64, uint8 to uint64, float32 and float64",
                    $shape.dtype()
                );
                Err(Error::new(Kind::DType, "reduce", detail))
            }
        }
    };
}
use with_number;
