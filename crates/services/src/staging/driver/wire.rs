//! What client and server say beside the rings: the handshake, the passing of segments, and the frames over TCP.

use super::super::message::{Publication, Question, Reply, Request};
use rustix::fd::{BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use thalweg_foundation::array::{Layout, Shape};
use thalweg_foundation::base::Key;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::Socket;
use thalweg_transport::memory::{Access, Segment};

/// Messages on the Unix socket beside the rings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handshake {
    /// Server: no. First, as in every service's answers to a greeting.
    Refused(Error),
    /// Server: here are control, directory, your bell and mine.
    Welcome {
        /// Bytes of the directory.
        directory: Bytes,
    },
    /// Client: send me a segment's descriptor.
    Segment {
        /// Its number.
        number: u32,
        /// For writing too.
        write: bool,
    },
    /// Server: here it is.
    Descriptor {
        /// Bytes of the segment.
        bytes: Bytes,
    },
}

impl Handshake {
    /// Sends it with descriptors.
    ///
    /// # Errors
    /// As the socket says.
    pub fn send(&self, socket: &Socket, fds: &[BorrowedFd<'_>]) -> Result<()> {
        let bytes =
            postcard::to_stdvec(self).map_err(|e| Error::new(Kind::Protocol, "stage.handshake", e))?;
        socket.send(&bytes, fds)
    }

    /// Receives one.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Protocol` when the bytes are none.
    pub fn receive(socket: &Socket) -> Result<(Handshake, Vec<OwnedFd>)> {
        let packet = socket.receive()?;
        if packet.bytes.is_empty() {
            return Err(Error::new(Kind::Gone, "stage.handshake", "the other end has closed"));
        }
        Ok((Handshake::decode(&packet.bytes)?, packet.fds))
    }

    /// Decodes one.
    ///
    /// # Errors
    /// `Protocol` when the bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<Handshake> {
        postcard::from_bytes(bytes).map_err(|e| {
            Error::new(Kind::Protocol, "stage.handshake", format!("{} bytes that are none: {e}", bytes.len()))
        })
    }
}

/// Sends `segment` to the other end of `socket`.
///
/// # Errors
/// As the socket says.
pub fn send_segment(socket: &Socket, segment: &Segment, write: bool) -> Result<()> {
    let answer = Handshake::Descriptor { bytes: segment.bytes() };
    if write {
        return answer.send(socket, &[segment.fd()]);
    }
    let reader = segment.reader()?;
    answer.send(socket, &[std::os::fd::AsFd::as_fd(&reader)])
}

/// Asks the other end of `socket` for a segment and maps it.
///
/// # Errors
/// As the socket says, or the other end.
pub fn receive_segment(socket: &Socket, number: u32, access: Access) -> Result<Segment> {
    Handshake::Segment { number, write: access == Access::Write }.send(socket, &[])?;
    match Handshake::receive(socket)? {
        (Handshake::Descriptor { bytes }, mut fds) if fds.len() == 1 => {
            Segment::map(fds.remove(0), bytes, access)
        }
        (Handshake::Refused(e), _) => Err(e),
        (other, _) => Err(Error::new(Kind::Protocol, "stage.segment", format!("unexpected {other:?}"))),
    }
}

/// What a client on another node asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemoteRequest {
    /// Make room for an array; its bytes follow the answer `Room`.
    Put {
        /// What they are.
        what: Publication,
        /// How long to wait for room.
        within: Nanos,
    },
    /// Send the bytes of a version.
    Get {
        /// Which.
        key: Key,
        /// How long to wait for it.
        within: Nanos,
    },
    /// Send the bytes of a region, packed.
    GetRegion {
        /// Which, and how.
        question: Question,
        /// How long to wait until it is complete.
        within: Nanos,
    },
    /// Whether a version is there.
    Exists {
        /// Which.
        key: Key,
    },
    /// Anything that needs no bulk bytes.
    Ask(Request),
}

/// What a server answers to a client on another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemoteReply {
    /// The request was refused. First, as in every service's answers to a greeting.
    Failed(Error),
    /// You are in.
    Welcome,
    /// The bulk bytes follow.
    Value(Shape),
    /// To `GetRegion`: the bulk bytes follow.
    Region {
        /// The version that was found.
        version: Version,
        /// How its cells lie.
        layout: Layout,
    },
    /// To `Put`: send the bytes.
    Room,
    /// To `Put`.
    Stored,
    /// To `Put`: the cells are all there, in other regions.
    Covered,
    /// To `Put`: this very region of the version was put before, and stays as it was.
    Known {
        /// By whom.
        by: String,
    },
    /// To `Exists`.
    Exists(bool),
    /// To `Ask`.
    Answer(Reply),
}
