//! The order of messages: those of a rank to another are matched as they were sent, however they overtake each other on their way.

use std::collections::HashMap;

/// Another rank, and whether the messages are those of collectives: these have an order of their own, as they have a context of
/// their own in MPI.
pub type Lane = (u32, bool);

/// Numbers what a rank sends, and holds back what comes to it before its turn.
#[derive(Clone, Debug)]
pub struct InOrder<M> {
    sent: HashMap<Lane, u32>,
    taken: HashMap<Lane, u32>,
    early: HashMap<(Lane, u32), M>,
}

impl<M> Default for InOrder<M> {
    fn default() -> InOrder<M> {
        InOrder { sent: HashMap::new(), taken: HashMap::new(), early: HashMap::new() }
    }
}

impl<M> InOrder<M> {
    /// The number of the next message to a rank.
    pub fn number(&mut self, to: Lane) -> u32 {
        let sent = self.sent.entry(to).or_default();
        *sent = sent.wrapping_add(1);
        sent.wrapping_sub(1)
    }

    /// A message has come; it is given back when all before it have, and else kept for [`InOrder::next`].
    pub fn arrive(&mut self, from: Lane, number: u32, message: M) -> Option<M> {
        let taken = self.taken.entry(from).or_default();
        if *taken != number {
            self.early.insert((from, number), message);
            return None;
        }
        *taken = taken.wrapping_add(1);
        Some(message)
    }

    /// The message behind the one that was given last, if it has come.
    pub fn next(&mut self, from: Lane) -> Option<M> {
        if self.early.is_empty() {
            return None;
        }
        let taken = self.taken.entry(from).or_default();
        let message = self.early.remove(&(from, *taken))?;
        *taken = taken.wrapping_add(1);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_lane_are_given_in_their_order() {
        let (mut sender, mut receiver) = (InOrder::<&str>::default(), InOrder::default());
        let (ranks, collective) = ((7, false), (7, true));
        assert_eq!([0; 3].map(|_| sender.number(ranks)), [0, 1, 2]);
        assert_eq!(sender.number(collective), 0);
        assert_eq!(receiver.arrive(ranks, 2, "third"), None);
        assert_eq!(receiver.arrive(collective, 0, "barrier"), Some("barrier"));
        assert_eq!(receiver.arrive(ranks, 1, "second"), None);
        assert_eq!(receiver.next(ranks), None);
        assert_eq!(receiver.arrive(ranks, 0, "first"), Some("first"));
        assert_eq!([0; 3].map(|_| receiver.next(ranks)), [Some("second"), Some("third"), None]);
    }

    #[test]
    fn numbers_begin_again_behind_the_last() {
        let (mut sender, mut receiver) = (InOrder::<()>::default(), InOrder::default());
        let lane = (0, false);
        sender.sent.insert(lane, u32::MAX);
        receiver.taken.insert(lane, u32::MAX);
        let numbers = [sender.number(lane), sender.number(lane)];
        assert_eq!(numbers, [u32::MAX, 0]);
        assert_eq!(receiver.arrive(lane, 0, 'b'), None);
        assert_eq!((receiver.arrive(lane, u32::MAX, 'a'), receiver.next(lane)), (Some('a'), Some('b')));
    }
}
