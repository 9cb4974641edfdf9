//! The staging service as a state machine: no clock, no socket, no thread, no byte of data.
//!
//! It is driven by `step` and acts through `Ground`, the little it needs of the memory below: preparing it, the
//! directory, and who holds what. Real memory, the adversarial world's toy memory and the simulator's imagined one
//! implement it. Replies leave as `Output`s.

mod admission;
mod get;
mod invariants;
mod peers;
mod piece;
mod pool;
mod replica;
mod slots;
mod spill;
mod state;
mod store;
mod task;
mod variable;
mod variables;
mod waiting;
mod words;

pub use pool::{Extent, Pool, ALIGNMENT};
pub use state::{Config, Staging, WhenFull};
pub use task::{Outcome, Taken, Task};
pub use thalweg_foundation::base::PeerId;

/// The segment that is memory.
pub const MEMORY: u32 = 0;
/// Memory that was not used for so long goes back to the system: a loop of puts, also a slow one, stays in warm pages.
const GIVE_BACK_EVERY: Nanos = Nanos(30_000_000_000);
/// The segment that is the spill file.
pub const SPILL: u32 = 1;

use super::message::{Reply, Request};
use super::Location;
use crate::greeting::Hello;
use std::collections::BTreeSet;
use std::ops::Range;
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Nanos};

/// What happens to the service.
#[derive(Clone, Debug)]
pub enum Input {
    /// A client introduced itself, and its token was right.
    Joined {
        /// Its number, never used twice.
        peer: PeerId,
        /// Who it is.
        hello: Hello,
        /// Whether memory ahead of its next put saves it a message.
        takes_spares: bool,
    },
    /// A client asks.
    Request {
        /// Who.
        from: PeerId,
        /// The request's number, unique for the client.
        id: u64,
        /// What.
        body: Request,
    },
    /// A client's connection closed or its process died; its leases count no more.
    Gone(PeerId),
    /// A task has come to its end.
    Done {
        /// Its number.
        number: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// Time has passed.
    Tick,
}

/// What the service wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// An answer is to be sent.
    Send {
        /// To whom.
        to: PeerId,
        /// In answer to which request.
        id: u64,
        /// What.
        reply: Reply,
    },
    /// Work on bytes is to be done; its end comes back as `Done`.
    Work {
        /// Its number, never used twice.
        number: u64,
        /// What.
        task: Task,
    },
}

/// The memory below the service.
pub trait Ground {
    /// Memory up to `end` bytes of segment `segment` will be used soon, for the first time.
    fn prepare(&mut self, segment: u32, end: Bytes);
    /// The system may have the memory of `bytes` of segment `segment` back: nothing is stored there, and what is read there before it
    /// is written again are zeros.
    fn give_back(&mut self, segment: u32, bytes: Range<Bytes>);
    /// Shows an entry to all clients.
    fn publish(&mut self, slot: u64, ticket: Ticket, hash: [u64; 2], location: &Location);
    /// Hides an entry; afterwards nobody gets a new lease on it.
    fn withdraw(&mut self, slot: u64);
    /// Tells searches that nothing stands in or behind `slot`.
    fn clear(&mut self, slot: u64);
    /// Whether anybody still holds a lease on the withdrawn `ticket`; who does will send `Released`.
    fn leased(&mut self, ticket: Ticket) -> bool;
    /// Which of the withdrawn `tickets` somebody still holds a lease on; who does will send `Released`.
    fn still_leased(&mut self, tickets: &BTreeSet<Ticket>) -> BTreeSet<Ticket>;
    /// Puts `grant` into the client's spare words; false when it has no place.
    fn offer(&mut self, peer: PeerId, grant: u64) -> bool;
    /// Takes `grant` back from the client's spare words; false when the client has taken it.
    fn revoke(&mut self, peer: PeerId, grant: u64) -> bool;
}

impl Staging {
    /// Takes one input at time `now` and appends what is to be sent. Time never goes backwards; inputs from clients that
    /// never joined, or have gone, are ignored.
    pub fn step(&mut self, now: Nanos, input: Input, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        self.now = self.now.max(now);
        match input {
            Input::Joined { peer, hello, takes_spares } => self.joined(peer, hello, takes_spares, ground),
            Input::Gone(peer) => self.gone(peer, ground, out),
            Input::Tick => {
                self.expire(out);
                self.admit(ground, out);
            }
            Input::Request { from, id, body } => {
                if let Some(namespace) = self.namespace_of(from) {
                    if let Some(reply) = self.request(from, id, namespace, body, ground, out) {
                        out.push(Output::Send { to: from, id, reply });
                    }
                }
            }
            Input::Done { number, outcome } => self.done(number, outcome, ground, out),
        }
        self.tell_dropped(ground, out);
        if self.give_back_at <= self.now {
            self.give_back_at = self.now.after(GIVE_BACK_EVERY);
            self.store.give_back(ground);
        }
        debug_assert_eq!(self.invariants(), Ok(()));
    }
}
