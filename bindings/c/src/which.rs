//! Which version is meant, as C gives it.

use crate::status::invalid;
use thalweg::{Result, Version, Which};

/// The version of `thalweg_which.version`.
pub const THALWEG_HOW_EXACTLY: u32 = 0;
/// The newest version in which the region is complete.
pub const THALWEG_HOW_LATEST: u32 = 1;
/// The oldest version behind `thalweg_which.version` in which the region is complete.
pub const THALWEG_HOW_AFTER: u32 = 2;

/// Which version of a variable: `THALWEG_EXACTLY(version)`, `THALWEG_LATEST` or `THALWEG_AFTER(version)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_which {
    /// `THALWEG_HOW_EXACTLY`, `THALWEG_HOW_LATEST` or `THALWEG_HOW_AFTER`.
    pub how: u32,
    /// The version that `how` speaks of.
    pub version: u64,
}

/// The version of a number, at most 2^63 - 1: no larger one is meant, it was negative before it came here.
pub fn version(operation: &str, given: u64) -> Result<Version> {
    match i64::try_from(given) {
        Ok(_) => Ok(Version(given)),
        Err(_) => {
            let signed = given as i64;
            let detail = format!("version {given}, as a signed number {signed}; accepted are 0 to 2^63 - 1");
            Err(invalid(operation, detail))
        }
    }
}

/// What `given` asks for.
pub fn which(operation: &str, given: thalweg_which) -> Result<Which> {
    match given.how {
        THALWEG_HOW_EXACTLY => Ok(Which::Exactly(version(operation, given.version)?)),
        THALWEG_HOW_LATEST => Ok(Which::LATEST),
        THALWEG_HOW_AFTER => Ok(Which::From(Version(version(operation, given.version)?.0 + 1))),
        other => {
            let detail = format!(
                "which.how = {other}; accepted are THALWEG_EXACTLY(v), THALWEG_LATEST and THALWEG_AFTER(v)"
            );
            Err(invalid(operation, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_a_negative_number_is_no_version() {
        assert_eq!(version("stage.put", i64::MAX as u64).unwrap(), Version(i64::MAX as u64));
        assert_eq!(
            version("stage.put", -1_i64 as u64).unwrap_err().message,
            "stage.put: version 18446744073709551615, as a signed number -1; accepted are 0 to 2^63 - 1"
        );
        for how in [THALWEG_HOW_EXACTLY, THALWEG_HOW_AFTER] {
            assert!(which("stage.get", thalweg_which { how, version: 1 << 63 }).is_err());
        }
    }
}
