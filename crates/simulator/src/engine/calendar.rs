//! The queue of events: a calendar of short days for the near future, a heap for what lies beyond its year.
//!
//! Days are sorted when they come up; a bit for each day finds the next one that is not empty. Source: R. Brown,
//! Calendar queues, CACM 31 (1988); days have a fixed length here, because link delays are known.

use super::Picos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a time; events at the same time happen in the order of `what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When.
    pub at: Picos,
    /// What, in bits that only the model reads.
    pub what: u64,
}

/// Days of 2¹⁰ ps.
const DAY_BITS: u32 = 10;
/// 4096 days are a year of 4.2 µs: longer than a packet needs from one router to the next.
const DAYS: usize = 4096;

/// An event of a day that has not come up; places are used again last in, first out, so that they stay in the cache.
#[derive(Clone, Copy, Debug)]
struct Entry {
    event: Event,
    /// The entry behind it in its day, or among those that are free.
    next: u32,
}

/// No entry.
const NONE: u32 = u32::MAX;

/// A queue that returns events in the order of (time, what).
#[derive(Debug)]
pub struct Calendar {
    entries: Vec<Entry>,
    /// The first entry of those that are free.
    free: u32,
    /// The first entry of each day.
    days: Vec<u32>,
    /// One bit for each day that holds events.
    filled: [u64; DAYS / 64],
    /// The day that is being worked off, counted from the beginning of time.
    today: u64,
    /// What is left of it, the next event last.
    open: Vec<Event>,
    /// What happens a year from now or later.
    beyond: BinaryHeap<Reverse<Event>>,
    len: usize,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar::new()
    }
}

impl Calendar {
    /// An empty calendar at the beginning of time.
    pub fn new() -> Calendar {
        Calendar {
            entries: Vec::new(),
            free: NONE,
            days: vec![NONE; DAYS],
            filled: [0; DAYS / 64],
            today: 0,
            open: Vec::with_capacity(64),
            beyond: BinaryHeap::new(),
            len: 0,
        }
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing will happen any more.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event, which must not lie before the one that was taken last, nor before an `end` that there was no event before.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let day = event.at.0 >> DAY_BITS;
        debug_assert!(day >= self.today, "an event at {} in the past", event.at);
        self.len += 1;
        if day <= self.today {
            let place = self.open.partition_point(|other| *other > event);
            self.open.insert(place, event);
        } else if day - self.today < DAYS as u64 {
            self.add(day, event);
        } else {
            self.beyond.push(Reverse(event));
        }
    }

    #[inline]
    fn add(&mut self, day: u64, event: Event) {
        let slot = day as usize % DAYS;
        let entry = Entry { event, next: self.days[slot] };
        if self.free == NONE {
            self.days[slot] = self.entries.len() as u32;
            self.entries.push(entry);
        } else {
            let place = self.free as usize;
            self.days[slot] = self.free;
            self.free = self.entries[place].next;
            self.entries[place] = entry;
        }
        self.filled[slot / 64] |= 1 << (slot % 64);
    }

    /// When the next event happens; `None` when there is none. Events may still be added before it.
    pub fn next_at(&self) -> Option<Picos> {
        if let Some(event) = self.open.last() {
            return Some(event.at);
        }
        let far = self.beyond.peek().map(|event| event.0.at);
        let near = self.next_filled().and_then(|day| {
            let mut place = self.days[day as usize % DAYS];
            let entries = std::iter::from_fn(|| {
                let entry = self.entries.get(place as usize)?;
                place = entry.next;
                Some(entry.event.at)
            });
            entries.min()
        });
        near.into_iter().chain(far).min()
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        self.pop_before(Picos::NEVER)
    }

    /// Takes the next event if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Picos) -> Option<Event> {
        if self.open.is_empty() && !self.turn(end) {
            return None;
        }
        let next = self.open.pop_if(|event| event.at < end)?;
        self.len -= 1;
        Some(next)
    }

    /// Opens the next day that holds events; false when none does that begins before `end`.
    fn turn(&mut self, end: Picos) -> bool {
        if self.len == 0 {
            return false;
        }
        let near = self.next_filled();
        let far = self.beyond.peek().map(|event| event.0.at.0 >> DAY_BITS);
        let Some(day) = near.into_iter().chain(far).min().filter(|day| day << DAY_BITS < end.0) else {
            return false;
        };
        self.today = day;
        while let Some(Reverse(event)) = self.beyond.peek().copied() {
            let day = event.at.0 >> DAY_BITS;
            if day - self.today >= DAYS as u64 {
                break;
            }
            self.beyond.pop();
            self.add(day, event);
        }
        let slot = self.today as usize % DAYS;
        let mut place = std::mem::replace(&mut self.days[slot], NONE);
        while place != NONE {
            let entry = &mut self.entries[place as usize];
            self.open.push(entry.event);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = place;
            place = next;
        }
        self.filled[slot / 64] &= !(1 << (slot % 64));
        order(&mut self.open);
        true
    }

    /// The next day of this year that holds events.
    fn next_filled(&self) -> Option<u64> {
        let first = (self.today as usize + 1) % DAYS;
        let (word, bit) = (first / 64, first % 64);
        let distance = |slot: usize| ((slot + DAYS - first) % DAYS) as u64;
        let ahead = self.filled[word] & (u64::MAX << bit);
        if ahead != 0 {
            return Some(self.today + 1 + distance(word * 64 + ahead.trailing_zeros() as usize));
        }
        let words = DAYS / 64;
        for step in 1..=words {
            let index = (word + step) % words;
            // The last step returns to the first word, for the days before the bit it began with.
            let bits =
                if step == words { self.filled[index] & !(u64::MAX << bit) } else { self.filled[index] };
            if bits != 0 {
                return Some(self.today + 1 + distance(index * 64 + bits.trailing_zeros() as usize));
            }
        }
        None
    }
}

/// Sorts a day, its last event first; most days hold few.
#[inline]
fn order(day: &mut [Event]) {
    if day.len() > 16 {
        day.sort_unstable_by(|a, b| b.cmp(a));
        return;
    }
    for end in 1..day.len() {
        let event = day[end];
        let mut place = end;
        while place > 0 && day[place - 1] < event {
            day[place] = day[place - 1];
            place -= 1;
        }
        day[place] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_whatever_is_pushed_in_between(
            steps in prop::collection::vec((0u64..3, prop::collection::vec((0u32..34, any::<u16>()), 0..6)), 1..60)
        ) {
            let mut calendar = Calendar::new();
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            for (takes, pushes) in steps {
                for (magnitude, what) in pushes {
                    // From the same picosecond to many years ahead.
                    let event = Event { at: Picos(now + ((1u64 << magnitude) - 1)), what: u64::from(what) };
                    calendar.push(event);
                    heap.push(Reverse(event));
                }
                for _ in 0..takes {
                    let expected = heap.pop().map(|event| event.0);
                    prop_assert_eq!(calendar.pop(), expected);
                    now = expected.map_or(now, |event| event.at.0);
                }
                prop_assert_eq!(calendar.len(), heap.len());
                let next = heap.peek().map(|event| event.0.at);
                prop_assert_eq!(calendar.next_at(), next);
                if let Some(next) = next {
                    prop_assert_eq!(calendar.pop_before(next), None);
                    now = next.0;
                }
            }
            while let Some(Reverse(expected)) = heap.pop() {
                prop_assert_eq!(calendar.next_at(), Some(expected.at));
                prop_assert_eq!(calendar.pop(), Some(expected));
            }
            prop_assert!(calendar.is_empty());
        }
    }
}
