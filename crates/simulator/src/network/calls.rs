//! The calls of a node that send messages: what is called at one time is called one after the other.

use crate::engine::random::Purpose;
use crate::engine::Picos;

/// How many there were, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    count: u64,
    /// The time of the last call, and how far it was behind the first one of that time.
    last: Picos,
    behind: Picos,
}

impl Calls {
    /// Another call, now: how much later its message is for that. `draw` gives the small time that passes for a purpose.
    pub fn another(&mut self, now: Picos, draw: impl Fn(Purpose, u64) -> Picos) -> Picos {
        let follows = self.count > 0 && now == self.last;
        self.count += 1;
        self.behind = if follows { self.behind + draw(Purpose::Calling, self.count) } else { Picos::ZERO };
        self.last = now;
        self.behind + draw(Purpose::Handing, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_time_keep_the_order_of_their_calls() {
        // Whatever passes on the way, from 500 to 1,000 ps: the second message of a pair never overtakes the first.
        for late in 0..16u64 {
            let draw = |purpose, count: u64| {
                let bit = 2 * (count % 2) + u64::from(purpose == Purpose::Calling);
                Picos(if late >> bit & 1 == 1 { 1000 } else { 500 })
            };
            let mut calls = Calls::default();
            let first: Vec<_> = (0..8).map(|_| calls.another(Picos(7), draw)).collect();
            assert!(first.is_sorted(), "{first:?}");
            assert!(calls.another(Picos(8), draw) <= Picos(1000), "a later call is not behind them");
        }
    }
}
