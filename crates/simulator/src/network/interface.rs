//! The network interface of a terminal: makes packets of messages, one message after the other, and sends them.

use super::arena::NONE;
use super::packet::List;
use crate::engine::random::Purpose;
use crate::engine::Picos;

/// Its state. Messages and packets are lists through their records.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// When the next message can begin to enter.
    pub enters: Picos,
    /// When the next packet can be made; [`Picos::NEVER`] when only after the next sending.
    pub ready: Picos,
    /// When what was sent so far is on the link.
    pub free: Picos,
    /// Messages, some of whose packets are not sent yet.
    pub messages: List,
    /// The one of them that packets are made of.
    pub current: u32,
    /// Packets that were made and not sent.
    pub packets: List,
    /// The port of its router.
    pub into: u32,
    /// How many packets were made and not sent.
    pub queued: u16,
    /// Whether an event will make the next packet.
    pub making: bool,
    /// Whether an event will send the next packet.
    pub sending: bool,
    /// Messages on their way from the node.
    pub calls: Calls,
    /// Messages entered so far.
    pub entered: u64,
}

impl Interface {
    pub const IDLE: Interface = Interface {
        enters: Picos::ZERO,
        ready: Picos::ZERO,
        free: Picos::ZERO,
        messages: List::EMPTY,
        current: NONE,
        packets: List::EMPTY,
        into: NONE,
        queued: 0,
        making: false,
        sending: false,
        calls: Calls { count: 0, last: Picos::NEVER, behind: Picos::ZERO },
        entered: 0,
    };
}

/// A node's calls that send messages: what is called at one time is called one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    count: u64,
    /// The time of the last call, and how far it was behind the first one of that time.
    last: Picos,
    behind: Picos,
}

impl Calls {
    /// Another call, now: how much later its message is for that. `draw` gives the small time that passes for a purpose.
    pub fn another(&mut self, now: Picos, draw: impl Fn(Purpose, u64) -> Picos) -> Picos {
        self.count += 1;
        self.behind =
            if now == self.last { self.behind + draw(Purpose::Calling, self.count) } else { Picos::ZERO };
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
            let mut calls = Interface::IDLE.calls;
            let first: Vec<_> = (0..8).map(|_| calls.another(Picos(7), draw)).collect();
            assert!(first.is_sorted(), "{first:?}");
            assert!(calls.another(Picos(8), draw) <= Picos(1000), "a later call is not behind them");
        }
    }
}
