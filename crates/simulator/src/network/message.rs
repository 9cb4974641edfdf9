//! A message on its way: what is left to make packets of at one end, and what is left to arrive at the other.

use crate::engine::Picos;

/// Of what a message's sender wants to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// When the interface has made its last packet.
    pub made: bool,
    /// When its last packet leaves the interface.
    pub sent: bool,
    /// When its last packet has arrived.
    pub delivered: bool,
    /// That its latency counts among those of messages.
    pub timed: bool,
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order<P> {
    /// The terminal that sends it.
    pub from: u32,
    /// The terminal that it goes to.
    pub to: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// The application that it belongs to, below the number of applications that the network was told.
    pub application: u8,
    /// What it means; the network returns it with its notices, and does not look into it.
    pub content: P,
    /// The notices it wants.
    pub wants: Wants,
}

/// A message at the interface that sends it.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<P> {
    pub order: Order<P>,
    /// Its number where it arrives.
    pub number: u32,
    /// When the interface may begin with it.
    pub enters: Picos,
    /// Bytes that are not in packets yet.
    pub unmade: u64,
    /// The message behind it at its interface.
    pub next: u32,
}

/// A message as its receiver knows it.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<P> {
    pub order: Order<P>,
    /// When its sender sent it.
    pub posted: Picos,
    /// When the last of its packets that are known so far arrives.
    pub arrives: Picos,
    /// Packets that have not arrived yet.
    pub missing: u32,
}

/// Bits of a message's number below the part of the network that sends it.
pub const NUMBER_BITS: u32 = 24;

/// Numbers for the messages from one part of a network to another; each is given again when it is free.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    next: u32,
    free: Vec<u32>,
}

impl Numbers {
    /// A number that no message has.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            assert!(self.next <= 1 << NUMBER_BITS, "more than 16,777,216 messages on their way to one part");
            self.next - 1
        })
    }

    /// The message of a number has arrived.
    pub fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }
}
