//! A packet on its way: 32 bytes, so that two of them share a cache line.

use super::arena::{Arena, NONE};
use crate::engine::Picos;

/// What a router must know of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// When its network interface sent it.
    pub born: Picos,
    /// The message that it is a part of.
    pub message: u32,
    /// The channel whose buffer it fills until the router that it came to accepts it; see [`from_terminal`].
    pub upstream: u32,
    /// The packet behind it in a list.
    pub next: u32,
    /// The terminal that it goes to.
    pub destination: u32,
    /// Bytes of data.
    pub size: u16,
    /// The group or the router through which it goes round; [`NOWHERE`] before one was drawn.
    pub intermediate: u16,
    /// Routers so far.
    pub hops: u8,
    /// In a dragonfly: links to routers of the same group so far, and to other groups in the upper half.
    pub legs: u8,
    /// The application that it belongs to.
    pub application: u8,
    /// [`NON_MINIMAL`], [`VISITED`], [`LAST`].
    pub state: u8,
}

const _: () = assert!(std::mem::size_of::<Packet>() == 32);

/// No place to go through was drawn yet.
pub const NOWHERE: u16 = u16::MAX;
/// The packet left the shortest path for a detour.
pub const NON_MINIMAL: u8 = 1;
/// It has been where it goes through.
pub const VISITED: u8 = 2;
/// The last packet of its message.
pub const LAST: u8 = 4;

/// In `upstream`: the number of a terminal rather than a channel of a router.
const TERMINAL: u32 = 1 << 31;

/// `upstream` of a packet that fills the buffer of `terminal`.
#[inline]
pub fn from_terminal(terminal: u32) -> u32 {
    terminal | TERMINAL
}

/// The terminal in `upstream`, if it is one.
#[inline]
pub fn as_terminal(upstream: u32) -> Option<u32> {
    (upstream & TERMINAL != 0).then_some(upstream & !TERMINAL)
}

impl Packet {
    /// Whether every bit of `state` is set.
    #[inline]
    pub fn is(&self, state: u8) -> bool {
        self.state & state == state
    }

    /// Links to routers of the same group so far.
    #[inline]
    pub fn local_hops(&self) -> u8 {
        self.legs & 15
    }

    /// Links to other groups so far.
    #[inline]
    pub fn global_hops(&self) -> u8 {
        self.legs >> 4
    }

    /// It takes a link within its group.
    #[inline]
    pub fn count_local_hop(&mut self) {
        self.legs += 1;
    }

    /// It takes a link to another group.
    #[inline]
    pub fn count_global_hop(&mut self) {
        self.legs += 16;
    }
}

/// A first-in, first-out list of packets, linked through them.
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub head: u32,
    pub tail: u32,
}

impl List {
    pub const EMPTY: List = List { head: NONE, tail: NONE };

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// Puts a packet at the end of a list.
#[inline]
pub fn append(packets: &mut Arena<Packet>, list: &mut List, number: u32) {
    packets[number].next = NONE;
    if list.is_empty() {
        list.head = number;
    } else {
        packets[list.tail].next = number;
    }
    list.tail = number;
}

/// Takes the first packet of a list that is not empty.
#[inline]
pub fn take(packets: &mut Arena<Packet>, list: &mut List) -> u32 {
    let number = list.head;
    list.head = packets[number].next;
    number
}
