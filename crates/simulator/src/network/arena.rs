//! Records under small numbers, given out again when they are free.

/// No record.
pub const NONE: u32 = u32::MAX;

/// Records of one kind, side by side.
#[derive(Debug)]
pub struct Arena<T> {
    records: Vec<T>,
    free: Vec<u32>,
}

impl<T> Arena<T> {
    pub fn new() -> Arena<T> {
        Arena { records: Vec::new(), free: Vec::new() }
    }

    /// How many records are in use.
    pub fn live(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Puts a record in, and returns its number.
    #[inline]
    pub fn insert(&mut self, record: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.records[place as usize] = record;
                place
            }
            None => {
                self.records.push(record);
                (self.records.len() - 1) as u32
            }
        }
    }

    /// Gives the number of a record back; nobody may use it any more.
    #[inline]
    pub fn release(&mut self, place: u32) {
        self.free.push(place);
    }
}

impl<T> std::ops::Index<u32> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.records[place as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.records[place as usize]
    }
}
