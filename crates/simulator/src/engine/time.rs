//! Simulated time: whole picoseconds, so that sums are exact and results cannot depend on their order.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time or a duration in picoseconds; 2⁶⁴ of them are 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// The beginning of every simulation.
    pub const ZERO: Picos = Picos(0);
    /// Later than anything that happens.
    pub const NEVER: Picos = Picos(u64::MAX);
    /// Simulations end before: 53 days.
    pub const LATEST: Picos = Picos(1 << 62);
    /// What sums end at.
    const END: u64 = u64::MAX - 1;

    /// The nearest picosecond to `nanos`; zero for what is negative or not a number.
    pub fn from_nanos(nanos: f64) -> Picos {
        Picos((nanos * 1e3).round() as u64)
    }

    /// The same in nanoseconds.
    pub fn nanos(self) -> f64 {
        self.0 as f64 * 1e-3
    }

    /// The same in microseconds.
    pub fn micros(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// The same in days.
    pub fn days(self) -> f64 {
        self.0 as f64 * 1e-12 / 86_400.0
    }

    /// The same in milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

/// Sums end before [`Picos::NEVER`]: beyond [`Picos::LATEST`] a simulation does not go on.
impl Add for Picos {
    type Output = Picos;

    fn add(self, other: Picos) -> Picos {
        Picos(self.0.saturating_add(other.0).min(Picos::END))
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, other: Picos) {
        *self = *self + other;
    }
}

impl Sub for Picos {
    type Output = Picos;

    fn sub(self, other: Picos) -> Picos {
        Picos(self.0 - other.0)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            1_000_000_000_000.. => (self.0 as f64 * 1e-12, "s"),
            1_000_000_000.. => (self.millis(), "ms"),
            1_000_000.. => (self.micros(), "µs"),
            _ => (self.nanos(), "ns"),
        };
        write!(f, "{value:.3} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_end_before_never() {
        assert_eq!(Picos(3) + Picos(4), Picos(7));
        assert!(Picos::LATEST < Picos::LATEST + Picos(1));
        for late in [Picos::LATEST, Picos::NEVER] {
            assert_eq!(late + Picos::NEVER, Picos(u64::MAX - 1));
        }
        assert_eq!(Picos::from_nanos(1e300), Picos::NEVER);
    }
}
