//! The link between two processes on one node: rings in shared memory, doorbells, and a socket that notices death.

use super::bell::{Bell, Event, Watch};
use super::socket::Socket;
use super::{now, Patience};
use crate::memory::Segment;
use std::sync::Arc;
use thalweg_foundation::sync::{Hazards, Ring, Spares, Word, RING_HEAD_WORDS};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// The most leases that one client can hold at a time.
pub const LEASES_MAX: usize = 4096;
const SPARES: usize = 4;
const RING_WORDS: usize = RING_HEAD_WORDS + (64 << 10);
const HAZARD_WORDS: usize = Hazards::words_for(LEASES_MAX);
const WORDS: usize = 2 * RING_WORDS + HAZARD_WORDS + SPARES;

/// The memory that one client shares with the service: two rings, its leases, its spare grants.
#[derive(Debug, Clone)]
pub struct Control(Arc<Segment>);

impl Control {
    /// Its size.
    pub const BYTES: Bytes = Bytes((WORDS as u64 * 8).next_multiple_of(4096));

    /// Over `segment`, which must be of `Control::BYTES`.
    pub fn over(segment: Arc<Segment>) -> Control {
        Control(segment)
    }

    fn part(&self, from: usize, words: usize) -> &[Word] {
        &self.0.words()[from..from + words]
    }

    /// Messages to the service.
    pub fn to_service(&self) -> Ring<'_> {
        Ring::over(self.part(0, RING_WORDS))
    }

    /// Messages to the client.
    pub fn to_client(&self) -> Ring<'_> {
        Ring::over(self.part(RING_WORDS, RING_WORDS))
    }

    /// The client's leases.
    pub fn hazards(&self) -> Hazards<'_> {
        Hazards::over(self.part(2 * RING_WORDS, HAZARD_WORDS))
    }

    /// The client's spare grants.
    pub fn spares(&self) -> Spares<'_> {
        Spares::over(self.part(2 * RING_WORDS + HAZARD_WORDS, SPARES))
    }

    /// The memory.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.0
    }
}

/// Which end of the channel this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client's.
    Client,
    /// The service's.
    Service,
}

/// One end of the link.
#[derive(Debug)]
pub struct Channel {
    control: Control,
    side: Side,
    theirs: Bell,
    watch: Watch,
    socket: Arc<Socket>,
    _ours: Bell,
}

const BELL: u64 = 0;
const SOCKET: u64 = 1;

impl Channel {
    /// The end on `side`, which watches the bell `ours` and rings `theirs`.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn new(
        control: Control,
        side: Side,
        ours: Bell,
        theirs: Bell,
        socket: Arc<Socket>,
    ) -> Result<Channel> {
        let watch = Watch::new()?;
        watch.bell(&ours, BELL)?;
        watch.readable(socket.fd(), SOCKET)?;
        Ok(Channel { control, side, theirs, watch, socket, _ours: ours })
    }

    fn rings(&self) -> (Ring<'_>, Ring<'_>) {
        match self.side {
            Side::Client => (self.control.to_service(), self.control.to_client()),
            Side::Service => (self.control.to_client(), self.control.to_service()),
        }
    }

    /// Sends one message if there is room; one thread at a time. Never blocks.
    ///
    /// # Errors
    /// `Invalid` when it is longer than any message may be.
    pub fn try_send(&self, message: &[u8]) -> Result<bool> {
        let ring = self.rings().0;
        if message.len() > ring.longest() {
            let detail = format!("{} bytes; accepted are {}", message.len(), ring.longest());
            return Err(Error::new(Kind::Invalid, "link.channel", detail));
        }
        let pushed = ring.push(message);
        if pushed == Ok(true) {
            self.theirs.ring();
        }
        Ok(pushed.is_ok())
    }

    /// Pauses after a `try_send` for which there was no room; the wait began at `start`.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Timeout` when it does not read, or what the tick says.
    pub fn wait_for_room(&self, start: Nanos, patience: Patience<'_>) -> Result<()> {
        if self.socket.ended() {
            return Err(Error::new(Kind::Gone, "link.channel", "the other end has closed"));
        }
        if now().since(start) > patience.within {
            return Err(Error::new(
                Kind::Timeout,
                "link.channel",
                "the other end does not read its messages",
            ));
        }
        // A full ring is rare (its reader is slower than half a megabyte of messages): look again soon.
        std::thread::sleep(std::time::Duration::from_micros(200));
        (patience.tick)()
    }

    /// Takes the next message into `into`, sleeping until there is one; one thread at a time.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Timeout` when no message comes in time, `Protocol` when the ring is corrupt.
    pub fn receive(&self, into: &mut Vec<u8>, patience: Patience<'_>) -> Result<()> {
        let ring = self.rings().1;
        let corrupt =
            |_| Error::new(Kind::Protocol, "link.channel", "the other end wrote an impossible message");
        let deadline = now().after(patience.within);
        let mut events: Vec<Event> = Vec::new();
        loop {
            if ring.pop(into).map_err(corrupt)? {
                return Ok(());
            }
            if !ring.prepare_sleep() {
                continue;
            }
            let left = deadline.since(now());
            if left == Nanos(0) {
                ring.awake();
                return Err(Error::new(Kind::Timeout, "link.channel", "no message in time"));
            }
            events.clear();
            let slept = self.watch.wait(Some(left.min(Patience::SLICE)), &mut events);
            ring.awake();
            slept?;
            if events.iter().any(|e| e.id == SOCKET && e.ended) {
                // A last message may have come before the end.
                return match ring.pop(into).map_err(corrupt)? {
                    true => Ok(()),
                    false => Err(Error::new(Kind::Gone, "link.channel", "the other end has closed")),
                };
            }
            if events.is_empty() {
                (patience.tick)()?;
            }
        }
    }

    /// The socket beside the rings.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The shared memory.
    pub fn control(&self) -> &Control {
        &self.control
    }
}
