//! What can happen: the kinds of events, and how they stand in what the calendar keeps.

use super::Flows;
use crate::engine::{Event, Picos};

/// The message that flows and ends first ends.
pub const END: u64 = 0;
/// Rates are worked out anew.
pub const SETTLE: u64 = 1;
/// A short message has left its interface.
pub const LEAVE: u64 = 2;
/// An interface begins with its next message.
pub const BEGIN: u64 = 3;
/// A message that was sent for later enters its interface.
pub const ENTER: u64 = 4;
/// A message has arrived.
pub const DELIVER: u64 = 5;
/// A time that was asked for has come.
pub const TIMER: u64 = 6;

/// Where the kind begins; below it stands a message, a terminal or a cookie.
const SHIFT: u32 = 60;

/// The kind of an event, and what it is about.
pub fn read(event: &Event) -> (u64, u64) {
    (event.what >> SHIFT, event.what & ((1 << SHIFT) - 1))
}

impl<P: Copy> Flows<P> {
    pub(super) fn schedule(&mut self, at: Picos, kind: u64, what: u64) {
        self.calendar.push(Event { at, what: kind << SHIFT | what });
    }
}
