//! Room for batches in an outbox: the lowest place that is free, so that few pages are used and those stay in the caches.

/// Batches begin at multiples of this.
const ALIGN: u64 = 64;

/// The room in an outbox.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    /// Begin and end of what is taken, ascending. A producer has few batches under way.
    taken: Vec<(u64, u64)>,
}

impl Room {
    /// Of so many bytes.
    pub fn new(bytes: u64) -> Room {
        Room { bytes, taken: Vec::new() }
    }

    /// Takes `bytes`; where they begin, none when they are not free.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let mut at = 0;
        let fits = |at: u64, until: u64| at.checked_add(bytes).is_some_and(|end| end <= until);
        let gap = self.taken.iter().position(|(begin, end)| {
            let found = fits(at, *begin);
            at = if found { at } else { *end };
            found
        });
        let place = gap.or_else(|| fits(at, self.bytes).then_some(self.taken.len()))?;
        self.taken.insert(place, (at, at + bytes));
        Some(at)
    }

    /// Gives back what begins at `at`.
    pub fn give_back(&mut self, at: u64) {
        self.taken.retain(|(begin, _)| *begin != at);
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
