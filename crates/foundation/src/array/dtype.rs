//! Element types.

use crate::base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one element: a kind as NumPy names it, and its size in bytes. Byte order is the machine's (little).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct DType {
    kind: u8,
    size: u32,
}

impl DType {
    /// Plain bytes without a shape of their own.
    pub const BYTES: DType = DType { kind: b'B', size: 1 };

    /// The type with NumPy's kind letter and `size` in bytes.
    ///
    /// # Errors
    /// `DType` when the pair is none of: `b` 1; `i`, `u` 1, 2, 4, 8; `f` 2, 4, 8, 16; `c` 8, 16, 32; `V` (opaque) 1 to
    /// 65536; `B` (bytes) 1.
    pub fn new(kind: u8, size: u32) -> Result<DType> {
        let known = match kind {
            b'b' | b'B' => size == 1,
            b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
            b'f' => matches!(size, 2 | 4 | 8 | 16),
            b'c' => matches!(size, 8 | 16 | 32),
            b'V' => (1..=65536).contains(&size),
            _ => false,
        };
        if known {
            return Ok(DType { kind, size });
        }
        let detail = format!(
            "elements of kind '{}' and {size} bytes; accepted are bool, int, uint, float, complex and void of up to 65536 bytes",
            (kind as char).escape_default()
        );
        Err(Error::new(Kind::DType, "dtype", detail))
    }

    /// NumPy's kind letter (`B` for plain bytes).
    pub fn kind(self) -> u8 {
        self.kind
    }

    /// Bytes of one element.
    pub fn size(self) -> u32 {
        self.size
    }

    /// The type in one word.
    pub fn to_word(self) -> u64 {
        u64::from(self.kind) << 32 | u64::from(self.size)
    }

    /// The type that `to_word` packed.
    ///
    /// # Errors
    /// `DType` when the word holds none.
    pub fn from_word(word: u64) -> Result<DType> {
        let kind = u8::try_from(word >> 32).unwrap_or(0);
        DType::new(kind, word as u32)
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<DType, D::Error> {
        let (kind, size) = Deserialize::deserialize(from)?;
        DType::new(kind, size).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.size * 8;
        match self.kind {
            b'b' => f.write_str("bool"),
            b'B' => f.write_str("bytes"),
            b'i' => write!(f, "int{bits}"),
            b'u' => write!(f, "uint{bits}"),
            b'f' => write!(f, "float{bits}"),
            b'c' => write!(f, "complex{bits}"),
            kind => write!(f, "{}{}", kind as char, self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_survive_a_word_and_unknown_ones_are_refused() {
        for (kind, size, name) in
            [(b'f', 8, "float64"), (b'c', 8, "complex64"), (b'V', 12, "V12"), (b'B', 1, "bytes")]
        {
            let dtype = DType::new(kind, size).unwrap();
            assert_eq!(DType::from_word(dtype.to_word()).unwrap(), dtype);
            assert_eq!(dtype.to_string(), name);
        }
        assert!(DType::new(b'O', 8).is_err());
        assert!(DType::from_word(u64::MAX).is_err());
    }
}
