//! Shapes: up to eight extents whose product is a number of bytes that exists.

use super::DType;
use crate::base::{Bytes, Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most axes that an array may have.
pub const MAX_DIMS: usize = 8;

/// One number for each of up to eight axes, without a heap allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Extents {
    dims: u8,
    values: [u64; MAX_DIMS],
}

impl Extents {
    /// The numbers of `values`.
    ///
    /// # Errors
    /// `Shape` when there are more than eight.
    pub fn new(values: &[u64]) -> Result<Extents> {
        if values.len() > MAX_DIMS {
            let detail = format!("{} dimensions; accepted are at most {MAX_DIMS}", values.len());
            return Err(Error::new(Kind::Shape, "shape", detail));
        }
        let mut all = [0; MAX_DIMS];
        all[..values.len()].copy_from_slice(values);
        Ok(Extents { dims: values.len() as u8, values: all })
    }

    /// The numbers, slowest axis first.
    pub fn as_slice(&self) -> &[u64] {
        &self.values[..self.dims as usize]
    }

    /// The numbers for change.
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.values[..self.dims as usize]
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, value) in self.as_slice().iter().enumerate() {
            write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(if self.dims == 1 { ",)" } else { ")" })
    }
}

impl Serialize for Extents {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.as_slice().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Extents {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Extents, D::Error> {
        struct Numbers;
        impl<'de> serde::de::Visitor<'de> for Numbers {
            type Value = Extents;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MAX_DIMS} extents")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut all: A,
            ) -> std::result::Result<Extents, A::Error> {
                let mut extents = Extents::default();
                while let Some(value) = all.next_element()? {
                    let at = extents.dims as usize;
                    if at == MAX_DIMS {
                        return Err(serde::de::Error::invalid_length(at + 1, &self));
                    }
                    extents.values[at] = value;
                    extents.dims += 1;
                }
                Ok(extents)
            }
        }
        from.deserialize_seq(Numbers)
    }
}

/// The shape of an array: extents in elements, slowest axis first, and the element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    dtype: DType,
    extents: Extents,
}

impl Shape {
    /// No bytes at all.
    pub const EMPTY: Shape =
        Shape { dtype: DType::BYTES, extents: Extents { dims: 1, values: [0; MAX_DIMS] } };

    /// The shape with `extents` elements of `dtype`.
    ///
    /// # Errors
    /// `Shape` when its size in bytes overflows 63 bits.
    pub fn new(dtype: DType, extents: Extents) -> Result<Shape> {
        let zero = extents.as_slice().contains(&0);
        let size =
            extents.as_slice().iter().try_fold(u64::from(dtype.size()), |size, n| size.checked_mul(*n));
        match size {
            _ if zero => Ok(Shape { dtype, extents }),
            Some(size) if size < 1 << 63 => Ok(Shape { dtype, extents }),
            _ => {
                let detail =
                    format!("shape {extents:?} of {dtype} overflows; accepted are at most 2^63 - 1 bytes");
                Err(Error::new(Kind::Shape, "shape", detail))
            }
        }
    }

    /// Plain bytes.
    pub fn bytes(count: u64) -> Result<Shape> {
        Shape::new(DType::BYTES, Extents::new(&[count])?)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The same extents with elements that are part of this shape's.
    pub(super) fn of_part(&self, dtype: DType) -> Shape {
        debug_assert!(dtype.size() <= self.dtype.size());
        Shape { dtype, ..*self }
    }

    /// Extents in elements, slowest axis first.
    pub fn extents(&self) -> &[u64] {
        self.extents.as_slice()
    }

    /// Its size when packed.
    pub fn size(&self) -> Bytes {
        Bytes(self.extents().iter().product::<u64>() * u64::from(self.dtype.size()))
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Shape, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            dtype: DType,
            extents: Extents,
        }
        let raw = Raw::deserialize(from)?;
        Shape::new(raw.dtype, raw.extents).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.extents, self.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_that_overflows_is_refused_with_its_extents() {
        let dtype = DType::new(b'f', 8).unwrap();
        let error = Shape::new(dtype, Extents::new(&[1 << 40, 1 << 30]).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "shape: shape (1099511627776, 1073741824) of float64 overflows; accepted are at most 2^63 - 1 bytes"
        );
        let empty = Shape::new(dtype, Extents::new(&[1 << 40, 0, 1 << 30]).unwrap()).unwrap();
        assert_eq!(empty.size(), Bytes(0));
        assert!(Extents::new(&[1; 9]).is_err());
    }
}
