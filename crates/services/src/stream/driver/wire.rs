//! What a client and the service say beside the rings, and the frames over TCP.

use super::super::message::{Place, Reply, Request};
use rustix::fd::{BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::link::Socket;

/// Messages on the Unix socket beside the rings. Each of the client's is answered with one of the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handshake {
    /// Server: no. First, as in every service's answers to a greeting.
    Refused(Error),
    /// Server: here are control, your bell and mine.
    Welcome,
    /// Client: I want memory for batches, instead of what I have.
    Outbox {
        /// How much.
        bytes: Bytes,
    },
    /// Server: here it is.
    Descriptor {
        /// How much.
        bytes: Bytes,
    },
    /// Client: I want to read an event.
    Segment {
        /// The partition.
        place: Place,
        /// The event's number.
        event: u64,
    },
    /// Client: I want to read data that lie apart.
    Data {
        /// The partition.
        place: Place,
        /// Their position in the data store.
        position: u64,
    },
    /// Client: which is the first event that was appended at this time or later?
    Since {
        /// The partition.
        place: Place,
        /// Nanoseconds since 1970.
        time: Nanos,
    },
    /// Server: here is the file, for reading.
    File(Whereabouts),
    /// Server: this one.
    Event(u64),
}

/// Which file was sent, and where to begin in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The file's number.
    pub number: u64,
    /// Of a segment file, where to begin to search.
    pub place: u64,
    /// The event that begins there.
    pub next: u64,
    /// The first event of the file behind it; none: it is the newest.
    pub end: Option<u64>,
}

impl Handshake {
    /// Sends it with descriptors.
    ///
    /// # Errors
    /// As the socket says.
    pub fn send(&self, socket: &Socket, fds: &[BorrowedFd<'_>]) -> Result<()> {
        let bytes =
            postcard::to_stdvec(self).map_err(|e| Error::new(Kind::Protocol, "stream.handshake", e))?;
        socket.send(&bytes, fds)
    }

    /// Receives one.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Protocol` when the bytes are none.
    pub fn receive(socket: &Socket) -> Result<(Handshake, Vec<OwnedFd>)> {
        let packet = socket.receive()?;
        if packet.bytes.is_empty() {
            return Err(Error::new(Kind::Gone, "stream.handshake", "the other end has closed"));
        }
        Ok((Handshake::decode(&packet.bytes)?, packet.fds))
    }

    /// Decodes one.
    ///
    /// # Errors
    /// `Protocol` when the bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<Handshake> {
        postcard::from_bytes(bytes).map_err(|e| {
            let detail = format!("{} bytes that are none: {e}", bytes.len());
            Error::new(Kind::Protocol, "stream.handshake", detail)
        })
    }
}

/// The longest piece of a partition that is sent at a time.
pub const PIECE_MAX: u64 = 160 << 20;

/// What a client on another node asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemoteRequest {
    /// As on one node. A batch's bytes follow, as they would lie in an outbox: its body, padded to a multiple of 64 where its
    /// data lie apart, and the data.
    Ask(Request),
    /// Send entries.
    Fetch {
        /// Of which partition.
        place: Place,
        /// From this event on.
        wanted: u64,
        /// Those before this one.
        until: u64,
        /// About so many bytes.
        most: u64,
    },
    /// Make memory for batches.
    Outbox(Bytes),
    /// Which is the first event that was appended at this time or later?
    Since {
        /// Of which partition.
        place: Place,
        /// Nanoseconds since 1970.
        time: Nanos,
    },
    /// Send data that lie apart.
    Data {
        /// Of which partition.
        place: Place,
        /// The event.
        event: u64,
        /// Which bytes of the data of the batch that it is in.
        range: Range<u64>,
    },
}

/// What a server answers to a client on another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemoteReply {
    /// No. First, as in every service's answers to a greeting.
    Failed(Error),
    /// You are in.
    Welcome,
    /// To `Ask`.
    Answer(Reply),
    /// To `Fetch`: so many bytes of whole entries follow.
    Entries {
        /// How many bytes.
        bytes: u64,
        /// The segment file's number.
        number: u64,
        /// Its salt.
        salt: u64,
        /// Where they lie in it.
        place: u64,
        /// The first event's number.
        next: u64,
    },
    /// To `Fetch`: events before this one cannot be read.
    Damaged {
        /// The next that can.
        next: u64,
        /// What is wrong.
        why: Error,
    },
    /// To `Since`.
    Event(u64),
    /// To `Data`: so many bytes follow.
    Bytes(u64),
}
