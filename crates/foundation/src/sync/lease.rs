//! Finding and leasing what was put, without a message.
//!
//! The service alone writes the `Directory`: a hash table of published entries in memory that every client maps
//! read-only. A client leases an entry by writing its ticket into one of its own `Hazards` and then looking whether the
//! entry is still published; the service withdraws an entry first and then looks whether anybody holds it (hazard
//! pointers: M. M. Michael, IEEE TPDS 15(6), 2004). One of the two always sees the other, so memory is never reused
//! under a reader. A ticket is never used twice; the words of an entry are read between two looks at its ticket
//! (a sequence lock), so a half-written entry is never believed.

use super::atomic::{fence, Ordering};
use super::Word;
use serde::{Deserialize, Serialize};

/// Words of one slot of the directory: two cache lines.
pub const SLOT_WORDS: usize = 16;
/// Words of an entry that the service may fill: its key's hash first, in two words.
pub const PAYLOAD_WORDS: usize = SLOT_WORDS - 1;
const HEAD_WORDS: usize = 16;
const EPOCH: usize = 0;
const NEVER: u64 = 0;
const WITHDRAWN: u64 = 1;

/// What stands in a slot beside the ticket.
pub type Payload = [u64; PAYLOAD_WORDS];

/// The name of one publication: at least 2, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The smallest ticket.
    pub const FIRST: Ticket = Ticket(2);
}

/// What a look into the directory found.
#[derive(Debug, PartialEq, Eq)]
pub enum Probe {
    /// The entry, leased if a hazard was given.
    Found(Ticket, Payload),
    /// It was not published at one moment during the look.
    Absent,
    /// The directory changed too often; ask the service.
    Unsure,
}

/// A view of the directory over shared words.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    words: &'a [Word],
    mask: u64,
}

impl<'a> Directory<'a> {
    /// An entry stands at most this many slots behind its hash's own slot.
    #[cfg(not(loom))]
    pub const WINDOW: u64 = 64;
    /// An entry stands at most this many slots behind its hash's own slot.
    #[cfg(loom)]
    pub const WINDOW: u64 = 2;
    const TRIES: usize = if cfg!(loom) { 2 } else { 64 };

    /// Words needed for a directory of `slots`.
    pub const fn words_for(slots: usize) -> usize {
        HEAD_WORDS + slots * SLOT_WORDS
    }

    /// The directory over `words`; all zero is an empty one.
    ///
    /// # Panics
    /// When the number of slots is not a power of two; it is a constant of the program, never input.
    pub fn over(words: &'a [Word]) -> Directory<'a> {
        let slots = (words.len() - HEAD_WORDS) / SLOT_WORDS;
        assert!(slots.is_power_of_two(), "directory of {slots} slots; a power of two is needed");
        Directory { words, mask: slots as u64 - 1 }
    }

    fn slot(&self, slot: u64) -> &'a [Word] {
        let at = HEAD_WORDS + (slot & self.mask) as usize * SLOT_WORDS;
        &self.words[at..at + SLOT_WORDS]
    }

    /// Fills the free `slot`. Only the service calls this.
    pub fn publish(&self, slot: u64, ticket: Ticket, payload: &Payload) {
        let words = self.slot(slot);
        fence(Ordering::Release);
        for (word, value) in words[1..].iter().zip(payload) {
            word.store(*value, Ordering::Relaxed);
        }
        words[0].store(ticket.0, Ordering::Release);
    }

    /// Withdraws what stands in `slot`; afterwards nobody gets a new lease on it. Only the service calls this.
    pub fn withdraw(&self, slot: u64) {
        let epoch = self.words[EPOCH].load(Ordering::Relaxed);
        // Release: who reads this epoch also sees the replacement that was published before it.
        self.words[EPOCH].store(epoch.wrapping_add(1), Ordering::Release);
        self.slot(slot)[0].store(WITHDRAWN, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Tells searches to stop at the withdrawn `slot`, since nothing stands behind it. Only the service calls this.
    pub fn clear(&self, slot: u64) {
        self.slot(slot)[0].store(NEVER, Ordering::Release);
    }

    /// Looks for the entry whose payload begins with `hash`; leases it when `hazard` is given.
    pub fn look(&self, hash: [u64; 2], hazard: Option<&Word>) -> Probe {
        for _ in 0..Self::TRIES {
            let epoch = self.words[EPOCH].load(Ordering::Acquire);
            if let Some((ticket, payload)) = self.scan(hash, hazard) {
                return Probe::Found(ticket, payload);
            }
            fence(Ordering::Acquire);
            if self.words[EPOCH].load(Ordering::Relaxed) == epoch {
                return Probe::Absent;
            }
        }
        Probe::Unsure
    }

    /// Leases what stands in `slot` when it still is `ticket`.
    pub fn lease(&self, slot: u64, ticket: Ticket, hazard: &Word) -> bool {
        hazard.store(ticket.0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.slot(slot)[0].load(Ordering::Acquire) == ticket.0 {
            return true;
        }
        hazard.store(0, Ordering::Release);
        false
    }

    fn scan(&self, hash: [u64; 2], hazard: Option<&Word>) -> Option<(Ticket, Payload)> {
        for i in 0..Self::WINDOW.min(self.mask + 1) {
            let words = self.slot(hash[0].wrapping_add(i));
            let ticket = words[0].load(Ordering::Acquire);
            if ticket == NEVER {
                return None;
            }
            if ticket == WITHDRAWN || words[1].load(Ordering::Relaxed) != hash[0] {
                continue;
            }
            let mut payload = [0; PAYLOAD_WORDS];
            for (value, word) in payload.iter_mut().zip(&words[1..]) {
                *value = word.load(Ordering::Relaxed);
            }
            if let Some(hazard) = hazard {
                hazard.store(ticket, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            if words[0].load(Ordering::Relaxed) == ticket && payload[..2] == hash {
                return Some((Ticket(ticket), payload));
            }
            if let Some(hazard) = hazard {
                hazard.store(0, Ordering::Release);
            }
        }
        None
    }
}

/// A view of one client's leases over words that the client and the service share.
#[derive(Clone, Copy)]
pub struct Hazards<'a> {
    words: &'a [Word],
}

const HIGH: usize = 0;
const NOTIFY: usize = 8;

impl<'a> Hazards<'a> {
    /// Words needed for `count` leases at a time.
    pub const fn words_for(count: usize) -> usize {
        HEAD_WORDS + count
    }

    /// The leases over `words`; all zero is none.
    pub fn over(words: &'a [Word]) -> Hazards<'a> {
        Hazards { words }
    }

    /// The word of lease `index`; the service looks at it from now on. Only the client calls this.
    pub fn word(&self, index: usize) -> &'a Word {
        if self.words[HIGH].load(Ordering::Relaxed) <= index as u64 {
            self.words[HIGH].store(index as u64 + 1, Ordering::Relaxed);
        }
        &self.words[HEAD_WORDS + index]
    }

    /// Ends lease `index`; true when the service waits for it and must be told. Only the client calls this.
    pub fn release(&self, index: usize) -> bool {
        self.words[HEAD_WORDS + index].store(0, Ordering::Release);
        fence(Ordering::SeqCst);
        self.words[NOTIFY].load(Ordering::Relaxed) != 0 && self.words[NOTIFY].swap(0, Ordering::AcqRel) != 0
    }

    /// Whether this client holds a lease on `ticket`; if so, it will tell when it ends one. Only the service calls this,
    /// after it withdrew the entry.
    pub fn holds(&self, ticket: Ticket) -> bool {
        !self.held(&|t| t == ticket).is_empty()
    }

    /// Which of the `wanted` tickets this client holds leases on; if any, it will tell when it ends one. Only the service
    /// calls this, after it withdrew the entries.
    pub fn held(&self, wanted: &dyn Fn(Ticket) -> bool) -> Vec<Ticket> {
        if self.of_interest(wanted).next().is_none() {
            return Vec::new();
        }
        self.words[NOTIFY].store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.of_interest(wanted).collect()
    }

    fn of_interest<'w>(
        &self,
        wanted: &'w dyn Fn(Ticket) -> bool,
    ) -> impl Iterator<Item = Ticket> + use<'a, 'w> {
        let most = self.words.len() - HEAD_WORDS;
        let high = (self.words[HIGH].load(Ordering::Relaxed) as usize).min(most);
        let leases = self.words[HEAD_WORDS..HEAD_WORDS + high].iter();
        leases.map(|word| Ticket(word.load(Ordering::Acquire))).filter(|ticket| wanted(*ticket))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<Word> {
        (0..count).map(|_| Word::new(0)).collect()
    }

    #[test]
    fn what_is_published_is_found_until_it_is_withdrawn() {
        let memory = words(Directory::words_for(8));
        let directory = Directory::over(&memory);
        let mut payload = [0; PAYLOAD_WORDS];
        payload[..2].copy_from_slice(&[5, 6]);
        assert_eq!(directory.look([5, 6], None), Probe::Absent);
        directory.publish(5, Ticket(2), &payload);
        assert_eq!(directory.look([5, 6], None), Probe::Found(Ticket(2), payload));
        assert_eq!(directory.look([5, 7], None), Probe::Absent, "only half of the hash agrees");
        directory.withdraw(5);
        assert_eq!(directory.look([5, 6], None), Probe::Absent);
    }

    #[test]
    fn a_lease_is_seen_and_its_end_is_told_to_who_waits() {
        let (table, mine) = (words(Directory::words_for(8)), words(Hazards::words_for(4)));
        let (directory, hazards) = (Directory::over(&table), Hazards::over(&mine));
        let mut payload = [0; PAYLOAD_WORDS];
        payload[..2].copy_from_slice(&[1, 1]);
        directory.publish(1, Ticket(9), &payload);
        assert!(matches!(directory.look([1, 1], Some(hazards.word(2))), Probe::Found(Ticket(9), _)));
        directory.withdraw(1);
        assert!(hazards.holds(Ticket(9)));
        assert!(!hazards.holds(Ticket(8)));
        assert!(hazards.release(2), "the service waits for it");
        assert!(!hazards.holds(Ticket(9)));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    fn words(count: usize) -> Arc<Vec<Word>> {
        Arc::new((0..count).map(|_| Word::new(0)).collect())
    }

    fn bounded(test: impl Fn() + Sync + Send + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(test);
    }

    fn payload(mark: u64) -> Payload {
        let mut payload = [mark; PAYLOAD_WORDS];
        payload[..2].copy_from_slice(&[0, 7]);
        payload
    }

    /// The service withdraws and, when nobody holds a lease, overwrites the memory; a reader with a lease must not see that.
    #[test]
    fn memory_is_never_reused_under_a_reader() {
        bounded(|| {
            let (table, mine, memory) =
                (words(HEAD_WORDS + SLOT_WORDS), words(Hazards::words_for(1)), words(1));
            memory[0].store(42, Ordering::Relaxed);
            Directory::over(&table).publish(0, Ticket(2), &payload(1));
            let (t, m, d) = (table.clone(), mine.clone(), memory.clone());
            let reader = loom::thread::spawn(move || {
                let hazards = Hazards::over(&m);
                if let Probe::Found(ticket, found) = Directory::over(&t).look([0, 7], Some(hazards.word(0))) {
                    assert_eq!((ticket, found), (Ticket(2), payload(1)));
                    assert_eq!(d[0].load(Ordering::Relaxed), 42);
                    hazards.release(0);
                }
            });
            Directory::over(&table).withdraw(0);
            if !Hazards::over(&mine).holds(Ticket(2)) {
                memory[0].store(666, Ordering::Relaxed);
            }
            reader.join().expect("reader");
        });
    }

    /// The same for a reader that knows the slot and the ticket.
    #[test]
    fn memory_is_never_reused_under_who_leases_by_ticket() {
        bounded(|| {
            let (table, mine, memory) =
                (words(HEAD_WORDS + SLOT_WORDS), words(Hazards::words_for(1)), words(1));
            memory[0].store(42, Ordering::Relaxed);
            Directory::over(&table).publish(0, Ticket(2), &payload(1));
            let (t, m, d) = (table.clone(), mine.clone(), memory.clone());
            let reader = loom::thread::spawn(move || {
                let hazards = Hazards::over(&m);
                if Directory::over(&t).lease(0, Ticket(2), hazards.word(0)) {
                    assert_eq!(d[0].load(Ordering::Relaxed), 42);
                    hazards.release(0);
                }
            });
            Directory::over(&table).withdraw(0);
            if !Hazards::over(&mine).holds(Ticket(2)) {
                memory[0].store(666, Ordering::Relaxed);
            }
            reader.join().expect("reader");
        });
    }

    /// Either the service sees that the lease ended, or the client learns that it must tell.
    #[test]
    fn the_end_of_a_lease_is_never_lost() {
        bounded(|| {
            let mine = words(Hazards::words_for(1));
            Hazards::over(&mine).word(0).store(2, Ordering::Relaxed);
            let m = mine.clone();
            let reader = loom::thread::spawn(move || Hazards::over(&m).release(0));
            let held = Hazards::over(&mine).holds(Ticket(2));
            let told = reader.join().expect("reader");
            assert!(!held || told, "held, and nobody will tell of its end");
        });
    }

    /// A replacement (publish the new, then withdraw the old) is never seen as an absence, nor as a mixture.
    #[test]
    fn a_replacement_is_never_seen_as_an_absence() {
        bounded(|| {
            let table = words(HEAD_WORDS + 2 * SLOT_WORDS);
            Directory::over(&table).publish(1, Ticket(2), &payload(1));
            Directory::over(&table).slot(0)[0].store(WITHDRAWN, Ordering::Relaxed);
            let t = table.clone();
            let reader = loom::thread::spawn(move || Directory::over(&t).look([0, 7], None));
            let directory = Directory::over(&table);
            directory.publish(0, Ticket(3), &payload(2));
            directory.withdraw(1);
            match reader.join().expect("reader") {
                Probe::Found(ticket, found) => assert_eq!(found, payload(ticket.0 - 1)),
                Probe::Absent => panic!("absent during a replacement"),
                Probe::Unsure => {}
            }
        });
    }
}
