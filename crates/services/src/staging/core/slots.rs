//! Which slot of the directory an entry takes.

use thalweg_foundation::sync::Directory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Never,
    Withdrawn,
    Taken,
}

/// The service's own picture of the directory.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
}

impl Slots {
    /// A directory of `count` slots, a power of two.
    pub fn new(count: usize) -> Slots {
        Slots { slots: vec![Slot::Never; count] }
    }

    /// Takes the first free slot for `hash`; none when its window is full.
    pub fn take(&mut self, hash: [u64; 2]) -> Option<u64> {
        let mask = self.slots.len() as u64 - 1;
        let window = Directory::WINDOW.min(mask + 1);
        let slot = (0..window)
            .map(|i| hash[0].wrapping_add(i) & mask)
            .find(|s| self.slots[*s as usize] != Slot::Taken)?;
        self.slots[slot as usize] = Slot::Taken;
        Some(slot)
    }

    /// Frees `slot`; returns the slots that a search need not pass any more, because nothing can stand behind them.
    pub fn free(&mut self, slot: u64) -> Vec<u64> {
        let mask = self.slots.len() as u64 - 1;
        self.slots[slot as usize] = Slot::Withdrawn;
        let (mut at, mut cleared) = (slot, Vec::new());
        while self.slots[at as usize] == Slot::Withdrawn
            && self.slots[((at + 1) & mask) as usize] == Slot::Never
        {
            self.slots[at as usize] = Slot::Never;
            cleared.push(at);
            at = at.wrapping_sub(1) & mask;
        }
        cleared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_shorten_the_search_again() {
        let mut slots = Slots::new(8);
        let taken: Vec<u64> = (0..3).map(|_| slots.take([6, 0]).unwrap()).collect();
        assert_eq!(taken, [6, 7, 0]);
        assert_eq!(slots.free(7), [] as [u64; 0], "slot 0 stands behind it");
        assert_eq!(slots.free(0), [0, 7]);
        assert_eq!(slots.take([7, 0]), Some(7));
    }
}
