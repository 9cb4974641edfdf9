//! A ring of messages from one process to another.
//!
//! One producer, one consumer, messages of any length up to half the ring. The consumer announces that it is
//! about to sleep; the producer learns from `push` whether it must ring the doorbell. Nothing is trusted that the
//! other side wrote: a length or position that cannot be is `Corrupt`, never a panic.

use super::atomic::{fence, Ordering};
use super::Word;

/// Words in front of the ring's data: head, tail, sleeping flag, each on a cache line of its own.
pub const RING_HEAD_WORDS: usize = 24;
const HEAD: usize = 0;
const TAIL: usize = 8;
const SLEEPING: usize = 16;

/// The ring has no room for the message now.
#[derive(Debug, PartialEq, Eq)]
pub struct RingFull;

/// The other side wrote something impossible into the ring.
#[derive(Debug, PartialEq, Eq)]
pub struct Corrupt;

/// A view of a ring over shared words.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    words: &'a [Word],
    mask: u64,
}

impl<'a> Ring<'a> {
    /// The ring over `words`: `RING_HEAD_WORDS` and then a power of two of data words. All zero is an empty ring.
    ///
    /// # Panics
    /// When the number of data words is not a power of two; it is a constant of the program, never input.
    pub fn over(words: &'a [Word]) -> Ring<'a> {
        let data = words.len() - RING_HEAD_WORDS;
        assert!(data.is_power_of_two(), "ring of {data} data words; a power of two is needed");
        Ring { words, mask: data as u64 - 1 }
    }

    fn data(&self, at: u64) -> &Word {
        &self.words[RING_HEAD_WORDS + (at & self.mask) as usize]
    }

    /// The longest message in bytes.
    pub fn longest(&self) -> usize {
        (self.mask as usize).div_ceil(2) * 8 - 8
    }

    /// Appends `message`; true when the consumer sleeps and its doorbell must be rung.
    ///
    /// # Errors
    /// `RingFull` when there is no room now, or ever (longer than `longest`).
    pub fn push(&self, message: &[u8]) -> Result<bool, RingFull> {
        let need = 1 + message.len().div_ceil(8) as u64;
        let tail = self.words[TAIL].load(Ordering::Relaxed);
        let head = self.words[HEAD].load(Ordering::Acquire);
        let used = tail.wrapping_sub(head);
        if message.len() > self.longest() || used > self.mask + 1 || self.mask + 1 - used < need {
            return Err(RingFull);
        }
        self.data(tail).store(message.len() as u64, Ordering::Relaxed);
        for (i, chunk) in message.chunks(8).enumerate() {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.data(tail.wrapping_add(1 + i as u64)).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.words[TAIL].store(tail.wrapping_add(need), Ordering::Release);
        fence(Ordering::SeqCst);
        Ok(self.words[SLEEPING].load(Ordering::Relaxed) != 0
            && self.words[SLEEPING].swap(0, Ordering::AcqRel) != 0)
    }

    /// Takes the oldest message into `into`; false when there is none.
    ///
    /// # Errors
    /// `Corrupt` when the producer wrote an impossible length or position.
    pub fn pop(&self, into: &mut Vec<u8>) -> Result<bool, Corrupt> {
        let head = self.words[HEAD].load(Ordering::Relaxed);
        let tail = self.words[TAIL].load(Ordering::Acquire);
        let used = tail.wrapping_sub(head);
        if used == 0 {
            return Ok(false);
        }
        let len = self.data(head).load(Ordering::Relaxed);
        if used > self.mask + 1 || len > self.longest() as u64 || 1 + len.div_ceil(8) > used {
            return Err(Corrupt);
        }
        into.clear();
        for i in 0..len.div_ceil(8) {
            let word = self.data(head.wrapping_add(1 + i)).load(Ordering::Relaxed);
            into.extend_from_slice(&word.to_le_bytes());
        }
        into.truncate(len as usize);
        self.words[HEAD].store(head.wrapping_add(1 + len.div_ceil(8)), Ordering::Release);
        Ok(true)
    }

    /// Announces that the consumer is about to sleep; false when a message came meanwhile and it must not.
    pub fn prepare_sleep(&self) -> bool {
        self.words[SLEEPING].store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let head = self.words[HEAD].load(Ordering::Relaxed);
        if self.words[TAIL].load(Ordering::Acquire) != head {
            self.words[SLEEPING].store(0, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// The consumer is awake again, whoever woke it.
    pub fn awake(&self) {
        self.words[SLEEPING].store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(data: usize) -> Vec<Word> {
        (0..RING_HEAD_WORDS + data).map(|_| Word::new(0)).collect()
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in(messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..200)) {
            let words = words(32);
            let ring = Ring::over(&words);
            let (mut sent, mut got) = (0, Vec::new());
            let mut buffer = Vec::new();
            while got.len() < messages.len() {
                while sent < messages.len() && ring.push(&messages[sent]).is_ok() {
                    sent += 1;
                }
                prop_assert!(ring.pop(&mut buffer).unwrap());
                got.push(buffer.clone());
            }
            prop_assert_eq!(got, messages);
        }

        #[test]
        fn garbage_from_the_other_side_never_panics(garbage in prop::collection::vec(any::<u64>(), RING_HEAD_WORDS + 32)) {
            let words: Vec<Word> = garbage.into_iter().map(Word::new).collect();
            let ring = Ring::over(&words);
            let mut buffer = Vec::new();
            for _ in 0..64 {
                if ring.pop(&mut buffer).is_err() { break; }
            }
            let _ = ring.push(&[1, 2, 3]);
        }
    }

    #[test]
    fn a_full_ring_says_so_and_keeps_what_it_has() {
        let words = words(8);
        let ring = Ring::over(&words);
        assert_eq!(ring.longest(), 24);
        assert_eq!(ring.push(&[0; 25]), Err(RingFull));
        assert_eq!(ring.push(&[7; 24]), Ok(false));
        assert_eq!(ring.push(&[8; 24]), Ok(false));
        assert_eq!(ring.push(&[9; 1]), Err(RingFull));
        let mut buffer = Vec::new();
        assert!(ring.pop(&mut buffer).unwrap());
        assert_eq!(buffer, [7; 24]);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::atomic::AtomicBool;
    use loom::sync::Arc;

    #[test]
    fn no_message_is_torn_and_no_wake_up_is_lost() {
        loom::model(|| {
            let words: Arc<Vec<Word>> = Arc::new((0..RING_HEAD_WORDS + 4).map(|_| Word::new(0)).collect());
            let bell = Arc::new(AtomicBool::new(false));
            let (theirs, ringing) = (words.clone(), bell.clone());
            let producer = loom::thread::spawn(move || {
                let ring = Ring::over(&theirs);
                for n in [0x11u8, 0x22] {
                    if ring.push(&[n; 8]).expect("room for two") {
                        ringing.store(true, Ordering::SeqCst);
                    }
                }
            });
            let ring = Ring::over(&words);
            let (mut buffer, mut got) = (Vec::new(), Vec::new());
            while ring.pop(&mut buffer).expect("sound") {
                got.push(buffer.clone());
            }
            let slept = ring.prepare_sleep();
            producer.join().expect("producer");
            if slept && got.len() < 2 {
                assert!(bell.load(Ordering::SeqCst), "asleep with a message in the ring and no bell");
            }
            while ring.pop(&mut buffer).expect("sound") {
                got.push(buffer.clone());
            }
            assert_eq!(got, vec![vec![0x11; 8], vec![0x22; 8]]);
        });
    }
}
