//! Serving the processes of this node: one thread that sleeps until a ring, a socket or a process needs it.

use super::admissible;
use crate::staging::core::{PeerId, MEMORY};
use crate::staging::driver::{send_segment, Delivery, Handshake, Host};
use crate::staging::message::{decode, encode, Hello, Reply, Request};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Bell, Control, Event, Listener, Socket, Watch};
use thalweg_transport::memory::Segment;

const ALARM: u64 = 0;
const LISTENER: u64 = 1;
/// A client's watch numbers: its own number times four, plus one of these.
const BELL: u64 = 0;
const SOCKET: u64 = 1;
const PROCESS: u64 = 2;
/// The first client's number; what is below names no client.
const FIRST: u64 = 1;
/// Connections that have not introduced themselves yet.
const STRANGERS_MAX: usize = 256;
const CLIENTS_MAX: usize = 4096;
/// A connection that does not introduce itself is closed after this.
const HELLO_WITHIN: Nanos = Nanos(5_000_000_000);
/// How long to wait after a connection could not be accepted.
const PAUSE: Nanos = Nanos(200_000_000);
/// Messages taken from one client before the others have their turn.
const TURN: usize = 256;
/// A client that does not read what it asked for is not waited for longer than this.
const SEND_WITHIN: Nanos = Nanos(100_000_000);

struct Client {
    peer: PeerId,
    socket: Socket,
    control: Control,
    bell: Bell,
    process: Option<OwnedFd>,
}

struct Stranger {
    socket: Socket,
    pid: u32,
    since: Nanos,
}

struct Ringing {
    control: Control,
    bell: Bell,
    buffer: Vec<u8>,
}

impl Delivery for Ringing {
    fn deliver(&mut self, id: u64, reply: Reply) -> bool {
        let encoded = encode(id, &reply, std::mem::take(&mut self.buffer));
        // A reply that is too long must not cost the client its connection.
        let Ok(message) = encoded.or_else(|e| encode(id, &Reply::Failed(e), Vec::new())) else {
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

struct Serving {
    host: Arc<Host>,
    listener: Listener,
    watch: Watch,
    clients: BTreeMap<u64, Client>,
    strangers: BTreeMap<u64, Stranger>,
    /// No descriptors are left: new clients wait in the listener's queue until this time.
    pause: Option<Nanos>,
    next: u64,
    buffer: Vec<u8>,
}

/// Starts the thread.
pub(super) fn start(host: Arc<Host>, listener: Listener) -> Result<JoinHandle<()>> {
    let watch = Watch::new()?;
    watch.bell(host.alarm(), ALARM)?;
    watch.readable(listener.fd(), LISTENER)?;
    let serving = Serving {
        host,
        listener,
        watch,
        clients: BTreeMap::new(),
        strangers: BTreeMap::new(),
        pause: None,
        next: FIRST,
        buffer: Vec::new(),
    };
    let thread = std::thread::Builder::new().name("thalweg-server".into());
    thread.spawn(move || serving.run()).map_err(|e| Error::io("server", e))
}

// However the thread ends, nobody waits for its answers: over TCP too the service is gone.
impl Drop for Serving {
    fn drop(&mut self) {
        self.host.close();
    }
}

impl Serving {
    fn run(mut self) {
        let mut events: Vec<Event> = Vec::new();
        while !self.host.is_closed() {
            let (deadline, broken) = self.host.tick();
            broken.into_iter().for_each(|peer| self.give_up(peer));
            let chores = self.chores();
            let within = [deadline, chores].into_iter().flatten().min().map(|at| at.since(now()));
            events.clear();
            if self.watch.wait(within, &mut events).is_err() {
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
        if event.id == LISTENER {
            self.accept();
            return;
        }
        let n = event.id / 4;
        if n < FIRST {
            return;
        }
        let alive = match (event.id % 4, self.strangers.contains_key(&n)) {
            (SOCKET, true) => {
                self.introduce(n);
                return;
            }
            (BELL, _) => self.messages(n),
            (SOCKET, false) => self.segment(n),
            (PROCESS, _) => Err(Error::new(Kind::Gone, "server", "the process has ended")),
            _ => Ok(()),
        };
        if alive.is_err() {
            self.part(n);
        }
    }

    /// Lets go of connections that do not introduce themselves, and listens again after a pause; when to call this next.
    fn chores(&mut self) -> Option<Nanos> {
        let now = now();
        let silent: Vec<u64> = self
            .strangers
            .iter()
            .filter(|(_, s)| s.since.after(HELLO_WITHIN) <= now)
            .map(|(n, _)| *n)
            .collect();
        for n in silent {
            if let Some(stranger) = self.strangers.remove(&n) {
                self.watch.remove(stranger.socket.fd());
            }
        }
        if self.pause.is_some_and(|until| until <= now) {
            let listening = self.watch.readable(self.listener.fd(), LISTENER).is_ok();
            self.pause = (!listening).then(|| now.after(PAUSE));
        }
        let stranger = self.strangers.values().map(|s| s.since.after(HELLO_WITHIN)).min();
        [stranger, self.pause].into_iter().flatten().min()
    }

    fn accept(&mut self) {
        let (socket, pid) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(e) => {
                if e.kind == Kind::Io {
                    self.watch.remove(self.listener.fd());
                    self.pause = Some(now().after(PAUSE));
                }
                return;
            }
        };
        let full = self.strangers.len() >= STRANGERS_MAX || self.clients.len() >= CLIENTS_MAX;
        if full || socket.set_patience(SEND_WITHIN).is_err() {
            let detail = format!("{} clients are connected; no more are accepted", self.clients.len());
            let _ = Handshake::Refused(Error::new(Kind::Full, "stage.connect", detail)).send(&socket, &[]);
            return;
        }
        let n = self.next;
        self.next += 1;
        if self.watch.readable(socket.fd(), n * 4 + SOCKET).is_ok() {
            self.strangers.insert(n, Stranger { socket, pid, since: now() });
        }
    }

    /// Reads a new connection's first message and takes the client in.
    fn introduce(&mut self, n: u64) {
        let Some(Stranger { socket, pid, .. }) = self.strangers.remove(&n) else {
            return;
        };
        let hello = match Handshake::receive(&socket) {
            Ok((Handshake::Hello(hello), _)) => admissible(hello.protocol).map(|()| hello),
            Ok((other, _)) => {
                Err(Error::new(Kind::Protocol, "stage.connect", format!("unexpected {other:?}")))
            }
            Err(e) => Err(e),
        };
        let refused = match hello {
            Ok(hello) => self.welcome(n, &socket, pid, hello),
            Err(e) => Err(e),
        };
        match refused {
            Ok((peer, control, bell, process)) => {
                // From here on the ring is watched; what came before the watch is read at once.
                self.clients.insert(n, Client { peer, socket, control, bell, process });
                if self.messages(n).is_err() {
                    self.part(n);
                }
            }
            Err(e) => {
                self.watch.remove(socket.fd());
                let e = match e.kind {
                    Kind::Io => {
                        Error::new(Kind::Full, "stage.connect: the server cannot take another client", e)
                    }
                    _ => e,
                };
                let _ = Handshake::Refused(e).send(&socket, &[]);
            }
        }
    }

    fn welcome(
        &self,
        n: u64,
        socket: &Socket,
        pid: u32,
        hello: Hello,
    ) -> Result<(PeerId, Control, Bell, Option<OwnedFd>)> {
        let control = Control::over(Arc::new(Segment::create(Control::BYTES)?));
        let (theirs, ours) = (Bell::new()?, Bell::new()?);
        self.watch.bell(&ours, n * 4 + BELL)?;
        let table = self.host.directory();
        let reader = table.reader()?;
        let fds = [control.segment().fd(), reader.as_fd(), theirs.fd(), ours.fd()];
        Handshake::Welcome { directory: table.bytes() }.send(socket, &fds)?;
        // A socket stays open when a dead client's forked child inherited it; the process itself tells the truth.
        let process = rustix::process::Pid::from_raw(pid as i32)
            .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
        if let Some(process) = &process {
            self.watch.readable(process.as_fd(), n * 4 + PROCESS)?;
        }
        let way = Ringing { control: control.clone(), bell: theirs, buffer: Vec::new() };
        let peer = self.host.join(hello, control.clone(), true, Box::new(way))?;
        Ok((peer, control, ours, process))
    }

    /// Takes what a client has sent.
    fn messages(&mut self, n: u64) -> Result<()> {
        let Some(client) = self.clients.get(&n) else {
            return Ok(());
        };
        let ring = client.control.to_service();
        let corrupt = |_| Error::new(Kind::Protocol, "server", "a client wrote an impossible message");
        for _ in 0..TURN {
            if ring.pop(&mut self.buffer).map_err(corrupt)? {
                let (id, body): (u64, Request) = decode(&self.buffer)?;
                self.host.submit(client.peer, id, body)?;
            } else if ring.prepare_sleep() {
                return Ok(());
            }
        }
        client.bell.ring();
        Ok(())
    }

    /// Hands a segment to a client that asks for it, or notices its end.
    fn segment(&mut self, n: u64) -> Result<()> {
        let Some(client) = self.clients.get(&n) else {
            return Ok(());
        };
        match Handshake::receive(&client.socket)? {
            // Clients write where they were granted memory, which is never in the spill file.
            (Handshake::Segment { number, write: true }, _) if number != MEMORY => {
                let detail = format!("segment {number} for writing; accepted is {MEMORY}");
                let refused = Error::new(Kind::Access, "stage.segment", detail);
                Handshake::Refused(refused).send(&client.socket, &[])
            }
            (Handshake::Segment { number, write }, _) => match self.host.segment(number) {
                Ok(segment) => send_segment(&client.socket, &segment, write),
                Err(e) => Handshake::Refused(e).send(&client.socket, &[]),
            },
            (other, _) => Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}"))),
        }
    }

    fn give_up(&mut self, peer: PeerId) {
        let found = self.clients.iter().find(|(_, c)| c.peer == peer).map(|(n, _)| *n);
        if let Some(n) = found {
            self.part(n);
        }
    }

    fn part(&mut self, n: u64) {
        let Some(client) = self.clients.remove(&n) else {
            return;
        };
        self.watch.remove(client.socket.fd());
        self.watch.remove(client.bell.fd());
        if let Some(process) = &client.process {
            self.watch.remove(process.as_fd());
        }
        self.host.leave(client.peer);
    }
}
