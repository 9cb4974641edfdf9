//! Room for batches in an outbox: handed out around a ring, given back in any order.

use std::collections::VecDeque;

/// Batches begin at multiples of this.
const ALIGN: u64 = 64;

#[derive(Clone, Copy, Debug)]
struct Taken {
    at: u64,
    end: u64,
    free: bool,
}

/// The room in an outbox.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    taken: VecDeque<Taken>,
}

impl Room {
    /// Of so many bytes.
    pub fn new(bytes: u64) -> Room {
        Room { bytes, taken: VecDeque::new() }
    }

    /// Takes `bytes`; where they begin, none when they are not free.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let (tail, head) = match (self.taken.front(), self.taken.back()) {
            (Some(first), Some(last)) => (first.at, last.end),
            _ => (self.bytes, 0),
        };
        let empty = self.taken.is_empty();
        // Behind the newest up to the end or the oldest, else from the start up to the oldest.
        let at = if empty || head > tail {
            match head.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
                true => head,
                false if !empty && bytes <= tail => 0,
                false => return None,
            }
        } else if head + bytes <= tail {
            head
        } else {
            return None;
        };
        self.taken.push_back(Taken { at, end: at + bytes, free: false });
        Some(at)
    }

    /// Gives back what begins at `at`.
    pub fn give_back(&mut self, at: u64) {
        if let Some(found) = self.taken.iter_mut().find(|taken| taken.at == at && !taken.free) {
            found.free = true;
        }
        while self.taken.front().is_some_and(|taken| taken.free) {
            self.taken.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_never_overlaps(steps in prop::collection::vec((0..3u8, 1..900u64, 0..8usize), 1..300)) {
            let mut room = Room::new(4096);
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (what, bytes, which) in steps {
                if what < 2 {
                    if let Some(at) = room.take(bytes) {
                        prop_assert!(at + bytes <= 4096 && at % ALIGN == 0);
                        prop_assert!(held.iter().all(|(a, n)| at + bytes <= *a || a + n <= at));
                        held.push((at, bytes));
                    }
                } else if !held.is_empty() {
                    room.give_back(held.remove(which % held.len()).0);
                }
                if held.is_empty() {
                    prop_assert_eq!(room.take(4096), Some(0));
                    room.give_back(0);
                }
            }
        }
    }
}
