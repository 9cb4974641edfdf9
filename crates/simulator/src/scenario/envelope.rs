//! What messages between nodes mean, and what timers are for.

use super::partition::Partition;
use crate::engine::Picos;
use crate::network::{Order, Wants};
use crate::workload::operation::Tag;

/// What a message means.
#[derive(Clone, Copy, Debug)]
pub enum Envelope {
    /// Between ranks of an application, with its number in their order. A blocking send has no request.
    Rank { application: u16, from: u32, to: u32, tag: Tag, number: u32, request: Option<u32> },
    /// Between ranks: a message of so many bytes is held back until it is received, under a number of its sender.
    Call { application: u16, from: u32, to: u32, tag: Tag, number: u32, bytes: u64, held: u32 },
    /// The answer, from its receiver: it may come. The request is that of the receive; a blocking one has none.
    Answer { application: u16, from: u32, to: u32, held: u32, request: Option<u32> },
    /// The message, with the requests of its send and of its receive.
    Held { application: u16, from: u32, to: u32, sends: Option<u32>, receives: Option<u32> },
    /// From a rank to its server: a request; of no bytes, to be told that the server has heard it.
    Ask { client: u64, file: u32, at: u64, bytes: u64, writes: bool },
    /// From a server: asks for a unit of a job, which has so many bytes.
    Pull { job: u32, unit: u64, bytes: u64 },
    /// A unit of a job.
    Data { job: u32, unit: u64 },
    /// A unit of a job that reads, to a client who says that it has it.
    Fetched { job: u32 },
    /// From a client: it has a unit of a job.
    Got { job: u32 },
    /// From a server: the job is done.
    Done { client: u64 },
}

/// Sizes of messages to and from servers that carry no data.
pub(super) const CONTROL_BYTES: u64 = 128;

/// Timers, in the upper bits of their cookies: a rank has computed; a device is done with a unit; a rank's own device is done.
pub(super) const COMPUTED: u64 = 0;
pub(super) const COMMITTED: u64 = 1;
pub(super) const STORED: u64 = 2;
pub(super) const TIMER_SHIFT: u32 = 56;
/// In the number of a client, and of a rank in a timer: bits of the rank below the application.
pub(super) const RANK_BITS: u32 = 24;
/// In the timer of a device: bits of the unit below the job.
pub(super) const UNIT_BITS: u32 = 28;

impl Partition {
    /// Hands a message to the network.
    pub(super) fn post(
        &mut self,
        application: usize,
        from: u32,
        to: u32,
        bytes: u64,
        envelope: Envelope,
        delay: Picos,
    ) {
        let sent = matches!(envelope, Envelope::Rank { .. } | Envelope::Held { .. });
        // Handshakes are not what a program sends.
        let timed = !matches!(envelope, Envelope::Call { .. } | Envelope::Answer { .. });
        let wants = Wants { made: false, sent, delivered: true, timed };
        let order = Order { from, to, bytes, application: application as u8, content: envelope, wants };
        self.network.send_after(delay, order);
    }
}

/// A rank as a client of the storage.
pub(super) fn client(application: usize, rank: usize) -> u64 {
    (application as u64) << RANK_BITS | rank as u64
}

/// The application and the rank of a client.
pub(super) fn who(client: u64) -> (usize, usize) {
    ((client >> RANK_BITS) as usize, (client & ((1 << RANK_BITS) - 1)) as usize)
}
