//! What the queue of events alone can do: the limit that a simulation is measured against.

use super::random::{below, bits, Purpose};
use super::{Calendar, Event, Picos};

/// The longest gap between an event and the one that it causes: as long as a packet needs from a router to the next.
const GAP: u32 = 2_000_000;

/// Takes an event and adds one in its place, `events` times, while `pending` of them wait; the time of the last.
///
/// The hold model of D. Jones, An empirical comparison of priority-queue and event-set implementations, CACM 29 (1986).
pub fn hold(events: u64, pending: u32) -> Picos {
    let mut calendar = Calendar::new();
    let gap = |count| Picos(u64::from(below(bits(1, Purpose::Gap, 0, count), GAP)) + 1);
    for number in 0..pending {
        calendar.push(Event { at: gap(u64::from(number)), what: u64::from(number) });
    }
    let mut now = Picos::ZERO;
    for count in 0..events {
        let Some(event) = calendar.pop() else { break };
        now = event.at;
        calendar.push(Event { at: now + gap(u64::from(pending) + count), what: event.what });
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_events_as_wait_pass_in_a_mean_gap() {
        let end = hold(100_000, 1000);
        assert!((0.95..1.05).contains(&(end.0 as f64 / (100.0 * f64::from(GAP) / 2.0))), "{end}");
    }
}
