//! Serving the processes of this node: one thread a service, which sleeps until a ring, a socket or a process needs it.

use super::door::{Arrival, Reception};
use crate::envelope::encode;
use crate::greeting::{Hello, Refusal};
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::thread::JoinHandle;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Bell, Control, Event, Socket, Watch};
use thalweg_transport::memory::Segment;

const ALARM: u64 = 0;
/// A client's watch numbers: its own number times four, plus one of these.
const BELL: u64 = 0;
const SOCKET: u64 = 1;
const PROCESS: u64 = 2;
/// The first client's number; what is below names no client.
const FIRST: u64 = 1;
const CLIENTS_MAX: usize = 4096;
/// Messages taken from one client before the others have their turn.
const TURN: usize = 256;

/// A service, as it meets its clients on this node.
pub(super) trait Hosted: Send + 'static {
    /// Rung when `tick` should be called.
    fn alarm(&self) -> &Bell;
    /// Does what is due; when to call this next, and which clients are to be given up.
    fn tick(&self) -> (Option<Nanos>, Vec<PeerId>);
    /// Whether it has closed.
    fn is_closed(&self) -> bool;
    /// Refuses everything from now on.
    fn close(&self);
    /// Takes a client in.
    fn welcome(&self, hello: Hello, seat: &Seat<'_>) -> Result<PeerId>;
    /// Takes what a client sent through its ring; an error ends the connection.
    fn message(&self, from: PeerId, message: &[u8]) -> Result<()>;
    /// Something can be read from a client's socket; an error ends the connection.
    fn packet(&self, from: PeerId, socket: &Arc<Socket>) -> Result<()>;
    /// A client is gone.
    fn leave(&self, peer: PeerId);
}

/// What a client that comes in shares with its service.
pub(super) struct Seat<'s> {
    socket: &'s Socket,
    pub control: Control,
    theirs: &'s Arc<Bell>,
    ours: &'s Bell,
}

impl Seat<'_> {
    /// Answers the greeting with `answer`, the rings, the bells, and `more`.
    pub fn welcome(&self, answer: &impl Serialize, more: &[BorrowedFd<'_>]) -> Result<()> {
        let bytes = postcard::to_stdvec(answer).map_err(|e| Error::new(Kind::Protocol, "connect", e))?;
        let mut fds = vec![self.control.segment().fd(), self.theirs.fd(), self.ours.fd()];
        fds.extend_from_slice(more);
        self.socket.send(&bytes, &fds)
    }

    /// The way of replies to the client.
    pub fn way(&self) -> Ringing {
        Ringing { control: self.control.clone(), bell: self.theirs.clone(), buffer: Vec::new() }
    }
}

/// The way of replies to a client: its ring and its bell.
pub(super) struct Ringing {
    control: Control,
    bell: Arc<Bell>,
    buffer: Vec<u8>,
}

impl Ringing {
    /// Hands over a reply, or what `failed` makes of the error that it is too long; false when the client does not read.
    pub fn push<R: Serialize>(&mut self, id: u64, reply: &R, failed: impl FnOnce(Error) -> R) -> bool {
        let encoded = encode(id, reply, std::mem::take(&mut self.buffer));
        // A reply that is too long must not cost the client its connection.
        let Ok(message) = encoded.or_else(|e| encode(id, &failed(e), Vec::new())) else {
            return false;
        };
        let pushed = self.control.to_client().push(&message);
        self.buffer = message;
        if pushed == Ok(true) {
            self.bell.ring();
        }
        pushed.is_ok()
    }
}

struct Client {
    peer: PeerId,
    socket: Arc<Socket>,
    control: Control,
    bell: Bell,
    process: Option<OwnedFd>,
}

struct Serving<S: Hosted> {
    service: Arc<S>,
    arrivals: Receiver<Arrival>,
    watch: Watch,
    clients: BTreeMap<u64, Client>,
    next: u64,
    buffer: Vec<u8>,
}

/// Starts the thread of `service`; where its clients come in.
pub(super) fn start<S: Hosted + Sync>(name: &str, service: Arc<S>) -> Result<(Reception, JoinHandle<()>)> {
    let watch = Watch::new()?;
    watch.bell(service.alarm(), ALARM)?;
    let (arriving, arrivals) = channel();
    let alarmed = service.clone();
    let reception = Reception { arrivals: arriving, wake: Box::new(move || alarmed.alarm().ring()) };
    let serving =
        Serving { service, arrivals, watch, clients: BTreeMap::new(), next: FIRST, buffer: Vec::new() };
    let thread = std::thread::Builder::new().name(name.into());
    let thread = thread.spawn(move || serving.run()).map_err(|e| Error::io("server", e))?;
    Ok((reception, thread))
}

// However the thread ends, nobody waits for its answers: over TCP too the service is gone.
impl<S: Hosted> Drop for Serving<S> {
    fn drop(&mut self) {
        self.service.close();
    }
}

impl<S: Hosted> Serving<S> {
    fn run(mut self) {
        let mut events: Vec<Event> = Vec::new();
        while !self.service.is_closed() {
            // Who comes in may have asked for something already, which may be due before anything else.
            while let Ok(arrival) = self.arrivals.try_recv() {
                self.take_in(arrival);
            }
            let (deadline, broken) = self.service.tick();
            broken.into_iter().for_each(|peer| self.give_up(peer));
            events.clear();
            if self.watch.wait(deadline.map(|at| at.since(now())), &mut events).is_err() {
                break;
            }
            for event in events.drain(..) {
                self.handle(event);
            }
        }
        let peers: Vec<u64> = self.clients.keys().copied().collect();
        peers.into_iter().for_each(|n| self.part(n));
    }

    fn handle(&mut self, event: Event) {
        let n = event.id / 4;
        let alive = match (event.id % 4, self.clients.get(&n)) {
            (_, None) => return,
            (BELL, _) => self.messages(n),
            (SOCKET, Some(client)) => self.service.packet(client.peer, &client.socket),
            _ => Err(Error::new(Kind::Gone, "server", "the process has ended")),
        };
        if alive.is_err() {
            self.part(n);
        }
    }

    fn take_in(&mut self, Arrival { socket, pid, hello }: Arrival) {
        let (n, socket) = (self.next, Arc::new(socket));
        self.next += 1;
        match self.welcome(n, &socket, pid, hello) {
            Ok(client) => {
                // From here on the ring is watched; what came before the watch is read at once.
                self.clients.insert(n, client);
                if self.messages(n).is_err() {
                    self.part(n);
                }
            }
            Err(e) => {
                self.watch.remove(socket.fd());
                let e = match e.kind {
                    Kind::Io => Error::new(Kind::Full, "connect: the server cannot take another client", e),
                    _ => e,
                };
                let _ = socket.send(&Refusal::encode(e), &[]);
            }
        }
    }

    fn welcome(&self, n: u64, socket: &Arc<Socket>, pid: u32, hello: Hello) -> Result<Client> {
        if self.clients.len() >= CLIENTS_MAX {
            let detail = format!("{CLIENTS_MAX} clients are connected; no more are accepted");
            return Err(Error::new(Kind::Full, "connect", detail));
        }
        let control = Control::over(Arc::new(Segment::create(Control::BYTES)?));
        let (theirs, ours) = (Arc::new(Bell::new()?), Bell::new()?);
        self.watch.bell(&ours, n * 4 + BELL)?;
        self.watch.readable(socket.fd(), n * 4 + SOCKET)?;
        // A socket stays open when a dead client's forked child inherited it; the process itself tells the truth.
        let process = rustix::process::Pid::from_raw(pid as i32)
            .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
        if let Some(process) = &process {
            self.watch.readable(process.as_fd(), n * 4 + PROCESS)?;
        }
        let seat = Seat { socket, control: control.clone(), theirs: &theirs, ours: &ours };
        let peer = self.service.welcome(hello, &seat)?;
        Ok(Client { peer, socket: socket.clone(), control, bell: ours, process })
    }

    /// Takes what a client has sent.
    fn messages(&mut self, n: u64) -> Result<()> {
        let Some(client) = self.clients.get(&n) else { return Ok(()) };
        let ring = client.control.to_service();
        let corrupt = |_| Error::new(Kind::Protocol, "server", "a client wrote an impossible message");
        for _ in 0..TURN {
            if ring.pop(&mut self.buffer).map_err(corrupt)? {
                self.service.message(client.peer, &self.buffer)?;
            } else if ring.prepare_sleep() {
                return Ok(());
            }
        }
        client.bell.ring();
        Ok(())
    }

    fn give_up(&mut self, peer: PeerId) {
        let found = self.clients.iter().find(|(_, c)| c.peer == peer).map(|(n, _)| *n);
        if let Some(n) = found {
            self.part(n);
        }
    }

    fn part(&mut self, n: u64) {
        let Some(client) = self.clients.remove(&n) else { return };
        self.watch.remove(client.socket.fd());
        self.watch.remove(client.bell.fd());
        if let Some(process) = &client.process {
            self.watch.remove(process.as_fd());
        }
        self.service.leave(client.peer);
    }
}
