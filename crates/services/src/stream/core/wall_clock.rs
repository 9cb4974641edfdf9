//! The time of day, as far as the monotonic clock confirms it.
//!
//! A wall clock may jump: somebody sets it, or a virtual machine gets it wrong for some seconds. What events are older than an age is
//! decided by a time of day that held for a while, by the clock that cannot jump; of several that did, by the earliest, so that a
//! wrong clock keeps events for too long, and never too short.

use std::collections::VecDeque;
use thalweg_foundation::Nanos;

/// Clocks that differ by less tell the same time.
const SAME: i128 = 1_000_000_000;
/// The longest that a jump has to hold before it counts.
const GRACE: Nanos = Nanos(600_000_000_000);
/// Jumps that are remembered; of more the earliest time of day counts for longer.
const JUMPS_MAX: usize = 64;

/// How far the wall clock is ahead of the monotonic one, from some moment on.
#[derive(Clone, Copy, Debug)]
struct Offset {
    since: Nanos,
    ahead: i128,
}

/// A wall clock that is looked at now and then.
#[derive(Clone, Debug, Default)]
pub struct WallClock {
    offsets: VecDeque<Offset>,
}

impl WallClock {
    /// At `now`, by the monotonic clock, the wall clock says `wall`.
    pub fn look(&mut self, now: Nanos, wall: Nanos) {
        let ahead = i128::from(wall.0) - i128::from(now.0);
        match self.offsets.back() {
            Some(last) if (last.ahead - ahead).abs() < SAME => {}
            _ => self.offsets.push_back(Offset { since: now, ahead }),
        }
        // All but the last one that is older than any grace.
        while self.offsets.get(1).is_some_and(|next| next.since.after(GRACE) <= now) {
            self.offsets.pop_front();
        }
        if self.offsets.len() > JUMPS_MAX {
            if let (Some(first), Some(second)) = (self.offsets.pop_front(), self.offsets.front_mut()) {
                *second = Offset { since: first.since, ahead: first.ahead.min(second.ahead) };
            }
        }
    }

    /// The time of day before which events are older than `age`; none as long as nothing confirms it.
    pub fn before(&self, now: Nanos, age: Nanos) -> Option<Nanos> {
        let grace = age.min(GRACE);
        let begin = Nanos(now.0.checked_sub(grace.0)?);
        // It was looked at all the time.
        self.offsets.front().filter(|first| first.since <= begin)?;
        let ended = |next: Option<&Offset>| next.is_some_and(|next| next.since <= begin);
        let held = (0..self.offsets.len()).filter(|n| !ended(self.offsets.get(n + 1)));
        let ahead = held.filter_map(|n| self.offsets.get(n)).map(|offset| offset.ahead).min()?;
        let day = i128::from(now.0) + ahead - i128::from(age.0);
        u64::try_from(day).ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test's way to fail

    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * SECOND;
    /// The time of day at the monotonic clock's zero.
    const NOON: u64 = 20_000 * DAY;

    fn looked(clock: &mut WallClock, seconds: std::ops::Range<u64>, ahead: u64) {
        for second in seconds {
            clock.look(Nanos(second * SECOND), Nanos(NOON + ahead + second * SECOND));
        }
    }

    fn before(clock: &WallClock, second: u64, age: u64) -> Option<u64> {
        clock.before(Nanos(second * SECOND), Nanos(age)).map(|before| before.0)
    }

    #[test]
    fn a_clock_that_is_right_tells_what_is_too_old_when_it_has_held() {
        let mut clock = WallClock::default();
        looked(&mut clock, 0..2_000, 0);
        assert_eq!(before(&clock, 1_999, DAY), Some(NOON + 1_999 * SECOND - DAY));
        assert_eq!(before(&clock, 500, DAY), None); // it was not looked at for long enough then
        assert_eq!(before(&clock, 500, 20 * SECOND), Some(NOON + 480 * SECOND));
        // a short age needs less
    }

    #[test]
    fn a_jump_of_five_days_for_six_seconds_makes_nothing_older() {
        let mut clock = WallClock::default();
        looked(&mut clock, 0..2_000, 0);
        looked(&mut clock, 2_000..2_006, 5 * DAY);
        for second in 2_000..2_006 {
            assert_eq!(before(&clock, second, DAY), Some(NOON + second * SECOND - DAY));
        }
        looked(&mut clock, 2_006..4_000, 0);
        assert_eq!(before(&clock, 3_999, DAY), Some(NOON + 3_999 * SECOND - DAY));
    }

    #[test]
    fn a_clock_that_was_set_counts_after_a_while_and_one_that_was_set_back_at_once() {
        let mut clock = WallClock::default();
        looked(&mut clock, 0..2_000, 0);
        looked(&mut clock, 2_000..2_600, 5 * DAY);
        assert_eq!(before(&clock, 2_599, DAY), Some(NOON + 2_599 * SECOND - DAY));
        looked(&mut clock, 2_600..2_601, 5 * DAY);
        assert_eq!(before(&clock, 2_600, DAY), Some(NOON + 5 * DAY + 2_600 * SECOND - DAY));
        looked(&mut clock, 2_601..2_602, 0);
        assert_eq!(before(&clock, 2_601, DAY), Some(NOON + 2_601 * SECOND - DAY));
    }

    #[test]
    fn a_clock_that_jumps_all_the_time_keeps_events() {
        let mut clock = WallClock::default();
        for second in 0..5_000 {
            let ahead = if second == 0 { 0 } else { second % 7 * DAY };
            clock.look(Nanos(second * SECOND), Nanos(NOON + ahead + second * SECOND));
        }
        assert!(clock.offsets.len() <= JUMPS_MAX);
        assert_eq!(before(&clock, 4_999, DAY), Some(NOON + 4_999 * SECOND - DAY));
    }
}
