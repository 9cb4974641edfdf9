//! The redirect service, as it meets its processes on this node.

use super::node::{Hosted, Ringing, Seat};
use crate::envelope::decode;
use crate::greeting::Hello;
use crate::redirect::driver::{Delivery, Handshake, Host};
use crate::redirect::message::{Reply, Request};
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
        seat.welcome(&Handshake::Welcome, &[])?;
        Ok(self.join(hello.namespace, hello.name, hello.pid, Box::new(seat.way())))
    }

    fn message(&self, from: PeerId, message: &[u8]) -> Result<()> {
        let (id, body): (u64, Request) = decode(message)?;
        self.submit(from, id, body);
        Ok(())
    }

    /// Hands the bytes of a file to a process that asks for them, or notices its end.
    fn packet(&self, _: PeerId, socket: &Arc<Socket>) -> Result<()> {
        match Handshake::receive(socket)? {
            (Handshake::Content(number), _) => match self.content(number) {
                Ok(content) => Handshake::Descriptor.send(socket, &[content.as_fd()]),
                Err(e) => Handshake::Refused(e).send(socket, &[]),
            },
            (other, _) => Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}"))),
        }
    }

    fn leave(&self, peer: PeerId) {
        self.leave(peer);
    }
}
