//! Quantities that carry their unit in their type.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);
    };
}

quantity!(/// A number of bytes.
    Bytes(u64));
quantity!(/// A point in time or a duration in nanoseconds, on the clock of whoever drives the service.
    Nanos(u64));
quantity!(/// A bandwidth in bytes a second.
    BytesPerSec(u64));
quantity!(/// The rank of a process within its component.
    Rank(u32));
quantity!(/// The version (time step) of a variable.
    Version(u64));

impl Nanos {
    /// The time `later` nanoseconds after this one, never beyond the end of time.
    pub fn after(self, later: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(later.0))
    }

    /// How long it is from `earlier` to this time; zero when `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same duration for the standard library.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl Version {
    /// The largest, so that a version fits a signed number in every language.
    pub const MAX: Version = Version(i64::MAX as u64);
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            // What would be rounded up to 1000 of one unit is 1 of the next.
            999_950_000.. => (1e9, "s"),
            999_950.. => (1e6, "ms"),
            _ => (1e3, "µs"),
        };
        // Of a deadline that is shared among several waits somewhat less is left: four digits say enough.
        let value = self.0 as f64 / unit;
        let digits = if value < 10.0 {
            3
        } else if value < 100.0 {
            2
        } else {
            1
        };
        let rounded = format!("{value:.digits$}");
        write!(f, "{} {name}", rounded.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        for (size, unit) in UNITS {
            if self.0 >= size {
                let value = format!("{:.2}", self.0 as f64 / size as f64);
                let value = value.trim_end_matches('0').trim_end_matches('.');
                return write!(f, "{value} {unit}");
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_with_their_unit() {
        assert_eq!(Bytes(512).to_string(), "512 bytes");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(64 << 20).to_string(), "64 MiB");
        assert_eq!(Nanos(2_500_000_000).to_string(), "2.5 s");
        assert_eq!(Nanos(250_000_000).to_string(), "250 ms");
        assert_eq!(Nanos(299_999_910).to_string(), "300 ms");
        assert_eq!(Nanos(999_999_950).to_string(), "1 s");
        assert_eq!(Nanos(1_234_567).to_string(), "1.235 ms");
        assert_eq!(Nanos(3_600_000_000_000).to_string(), "3600 s");
        assert_eq!(Nanos(0).to_string(), "0 µs");
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Nanos(u64::MAX).after(Nanos(1)), Nanos(u64::MAX));
        assert_eq!(Nanos(1).since(Nanos(2)), Nanos(0));
    }
}
