//! A message on its way: what is left to make packets of, and what is left to arrive.

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
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The terminal that sends it.
    pub from: u32,
    /// The terminal that it goes to.
    pub to: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// The application that it belongs to, below the number of applications that the network was told.
    pub application: u16,
    /// Anything that the sender wants back with its notices.
    pub cookie: u64,
    /// The notices it wants.
    pub wants: Wants,
}

/// A message that the network has taken.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub order: Order,
    /// When its sender sent it.
    pub posted: Picos,
    /// When the interface may begin with it.
    pub enters: Picos,
    /// When the last of its packets that are known so far arrives.
    pub arrives: Picos,
    /// Bytes that are not in packets yet.
    pub unmade: u64,
    /// Packets that have not arrived yet.
    pub missing: u32,
    /// The message behind it at its interface.
    pub next: u32,
}
