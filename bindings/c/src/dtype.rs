//! Element types as one number: the kind as NumPy names it, and the size.

use thalweg::{DType, Error, Kind, Result};

/// The type of one element: its kind's letter as NumPy has it (`b` bool, `i` signed, `u` unsigned, `f` real, `c`
/// complex, `V` opaque) in the highest byte, and its size in bytes in the others. Byte order is the machine's.
///
/// `THALWEG_FLOAT64` and the others name the usual ones; `THALWEG_OPAQUE(size_bytes)` is a record.
pub type thalweg_dtype = u32;

/// The element type of `code`.
pub fn dtype(operation: &str, code: thalweg_dtype) -> Result<DType> {
    if code >> 24 == 0 {
        // A size alone, such as Fortran's real64, or a definition whose type nobody set.
        let detail = format!(
            "dtype {code:#x} is no element type; give THALWEG_FLOAT64, in Fortran thalweg_real64, or their like"
        );
        return Err(Error::new(Kind::DType, operation, detail));
    }
    let made = DType::new((code >> 24) as u8, code & 0x00ff_ffff);
    made.map_err(|error| {
        let detail = format!("dtype {code:#010x}: {}", error.message.trim_start_matches("dtype: "));
        Error::new(Kind::DType, operation, detail)
    })
}

/// The number of an element type.
pub fn code(dtype: DType) -> thalweg_dtype {
    u32::from(dtype.kind()) << 24 | dtype.size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_survives_its_number() {
        let float64 = 0x6600_0008;
        assert_eq!(code(dtype("test", float64).unwrap()), float64);
        assert_eq!(dtype("test", float64).unwrap().to_string(), "float64");
        let error = dtype("test", 0x6600_0003).unwrap_err();
        assert_eq!(error.kind, Kind::DType);
        assert!(
            error.message.starts_with("test: dtype 0x66000003: elements of kind 'f' and 3 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_size_is_no_type() {
        let error = dtype("test", 8).unwrap_err();
        assert_eq!(error.kind, Kind::DType);
        assert!(
            error.message.starts_with("test: dtype 0x8 is no element type; give THALWEG_FLOAT64"),
            "{error}"
        );
    }
}
