//! What a process and the service say beside the rings.

use rustix::fd::{BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::link::Socket;

/// Messages on the Unix socket beside the rings. Each of the client's is answered with one of the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handshake {
    /// Server: no. First, as in every service's answers to a greeting.
    Refused(Error),
    /// Server: here are control, your bell and mine.
    Welcome,
    /// Client: I want to open this content.
    Content(u64),
    /// Server: here it is.
    Descriptor,
}

impl Handshake {
    /// Sends it with descriptors.
    ///
    /// # Errors
    /// As the socket says.
    pub fn send(&self, socket: &Socket, fds: &[BorrowedFd<'_>]) -> Result<()> {
        let bytes =
            postcard::to_stdvec(self).map_err(|e| Error::new(Kind::Protocol, "redirect.handshake", e))?;
        socket.send(&bytes, fds)
    }

    /// Receives one.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Protocol` when the bytes are none.
    pub fn receive(socket: &Socket) -> Result<(Handshake, Vec<OwnedFd>)> {
        let packet = socket.receive()?;
        if packet.bytes.is_empty() {
            return Err(Error::new(Kind::Gone, "redirect.handshake", "the other end has closed"));
        }
        let decoded = postcard::from_bytes(&packet.bytes).map_err(|e| {
            let detail = format!("{} bytes that are none: {e}", packet.bytes.len());
            Error::new(Kind::Protocol, "redirect.handshake", detail)
        });
        Ok((decoded?, packet.fds))
    }
}
