//! The network interface of a terminal: makes packets of messages, one message after the other, and sends them.

use super::arena::NONE;
use super::calls::Calls;
use super::packet::List;
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
    /// One that has nothing to do.
    pub fn idle() -> Interface {
        Interface {
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
            calls: Calls::default(),
            entered: 0,
        }
    }
}
