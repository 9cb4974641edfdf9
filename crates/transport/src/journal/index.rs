//! The index of a segment file: where to begin to search it.

use super::check;
use super::head::number;
use thalweg_foundation::Nanos;

/// Bytes of an item.
pub const ITEM: usize = 32;
/// A segment file has an item for about so many bytes.
pub const EVERY: u64 = 256 << 10;

/// Where an entry lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The number of its first record.
    pub first: u64,
    /// Its time.
    pub time: Nanos,
    /// Its place in the segment file.
    pub place: u64,
}

impl Item {
    /// As it lies in the file.
    pub fn encode(&self) -> [u8; ITEM] {
        let mut bytes = [0; ITEM];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.place.to_le_bytes());
        let check = check(&bytes[..24]);
        bytes[24..28].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads one of `ITEM` bytes.
    pub fn decode(bytes: &[u8]) -> Option<Item> {
        let good = number::<4>(bytes, 24) == u64::from(check(&bytes[..24])) && bytes[28..] == [0; 4];
        let time = Nanos(number::<8>(bytes, 8));
        good.then(|| Item { first: number::<8>(bytes, 0), time, place: number::<8>(bytes, 16) })
    }
}

/// The items of one segment file, in order.
#[derive(Clone, Debug, Default)]
pub struct Items(Vec<Item>);

impl Items {
    /// The good items at the beginning of `bytes`, which lay behind the head of an index.
    pub fn decode(bytes: &[u8]) -> Items {
        let mut items = Items::default();
        for item in bytes.chunks_exact(ITEM).map_while(Item::decode) {
            let grows = |last: &Item| {
                last.first < item.first && last.place + EVERY <= item.place && last.time <= item.time
            };
            if !items.0.last().is_none_or(grows) {
                break;
            }
            items.0.push(item);
        }
        items
    }

    /// The item to be written for an entry, where it is time for one.
    pub fn due(&mut self, item: Item) -> Option<Item> {
        let due = self.0.last().is_none_or(|last| last.place + EVERY <= item.place);
        due.then(|| {
            self.0.push(item);
            item
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The last one.
    pub fn last(&self) -> Option<&Item> {
        self.0.last()
    }

    /// The last one of which `before` holds, which holds of all in front of it.
    pub fn last_where(&self, before: impl Fn(&Item) -> bool) -> Option<&Item> {
        self.0[..self.0.partition_point(before)].last()
    }

    /// Forgets those from `place` on.
    pub fn cut(&mut self, place: u64) {
        self.0.retain(|item| item.place < place);
    }
}
