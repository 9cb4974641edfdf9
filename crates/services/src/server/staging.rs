//! The staging service, as it meets its clients on this node.

use super::node::{Hosted, Ringing, Seat};
use crate::envelope::decode;
use crate::greeting::Hello;
use crate::staging::core::MEMORY;
use crate::staging::driver::{send_segment, Delivery, Handshake, Host};
use crate::staging::message::{Reply, Request};
use std::os::fd::AsFd;
use std::sync::Arc;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{Bell, Socket};

impl Delivery for Ringing {
    fn deliver(&mut self, id: u64, reply: Reply) -> bool {
        self.push(id, &reply, Reply::Failed)
    }
}

impl Hosted for Host {
    fn alarm(&self) -> &Bell {
        self.alarm()
    }

    fn tick(&self) -> (Option<Nanos>, Vec<PeerId>) {
        self.tick()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn close(&self) {
        self.close();
    }

    fn welcome(&self, hello: Hello, seat: &Seat<'_>) -> Result<PeerId> {
        let table = self.directory();
        let reader = table.reader()?;
        seat.welcome(&Handshake::Welcome { directory: table.bytes() }, &[reader.as_fd()])?;
        self.join(hello, seat.control.clone(), true, Box::new(seat.way()))
    }

    fn message(&self, from: PeerId, message: &[u8]) -> Result<()> {
        let (id, body): (u64, Request) = decode(message)?;
        self.submit(from, id, body)
    }

    /// Hands a segment to a client that asks for it, or notices its end.
    fn packet(&self, _: PeerId, socket: &Arc<Socket>) -> Result<()> {
        match Handshake::receive(socket)? {
            // Clients write where they were granted memory, which is never in the spill file.
            (Handshake::Segment { number, write: true }, _) if number != MEMORY => {
                let detail = format!("segment {number} for writing; accepted is {MEMORY}");
                let refused = Error::new(Kind::Access, "stage.segment", detail);
                Handshake::Refused(refused).send(socket, &[])
            }
            (Handshake::Segment { number, write }, _) => match self.segment(number) {
                Ok(segment) => send_segment(socket, &segment, write),
                Err(e) => Handshake::Refused(e).send(socket, &[]),
            },
            (other, _) => Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}"))),
        }
    }

    fn leave(&self, peer: PeerId) {
        self.leave(peer);
    }
}
