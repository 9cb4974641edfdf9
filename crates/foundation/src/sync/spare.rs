//! Spare grants: memory that a client holds ahead of its next put, and that the service can take back.
//!
//! A grant's number stands in a word that both share; whoever swaps it for zero has it.

use super::atomic::Ordering;
use super::Word;

/// A view of one client's spare grants over shared words.
#[derive(Clone, Copy)]
pub struct Spares<'a> {
    words: &'a [Word],
}

impl<'a> Spares<'a> {
    /// The spares over `words`; all zero is none.
    pub fn over(words: &'a [Word]) -> Spares<'a> {
        Spares { words }
    }

    /// Offers `grant` (not zero); false when all places are taken. Only the service calls this.
    pub fn offer(&self, grant: u64) -> bool {
        self.words.iter().any(|w| w.compare_exchange(0, grant, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }

    /// Takes `grant`: the client to use it, or the service to have it back; true for exactly one of them.
    pub fn take(&self, grant: u64) -> bool {
        self.words.iter().any(|w| w.compare_exchange(grant, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_spare_is_taken_once_and_places_are_bounded() {
        let words: Vec<Word> = (0..2).map(|_| Word::new(0)).collect();
        let spares = Spares::over(&words);
        assert!(spares.offer(7) && spares.offer(8) && !spares.offer(9));
        assert!(spares.take(7) && !spares.take(7) && !spares.take(9));
        assert!(spares.offer(9));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn exactly_one_side_gets_a_spare() {
        loom::model(|| {
            let words: Arc<Vec<Word>> = Arc::new(vec![Word::new(0)]);
            assert!(Spares::over(&words).offer(5));
            let theirs = words.clone();
            let client = loom::thread::spawn(move || Spares::over(&theirs).take(5));
            let service = Spares::over(&words).take(5);
            assert!(service ^ client.join().expect("client"));
        });
    }
}
