//! The door: accepts connections on this node, hears who comes, and sends them to the service that they want.

use crate::greeting::{Greeting, Hello, Refusal};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::thread::JoinHandle;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Bell, Event, Listener, Socket, Watch};

const STOP: u64 = 0;
const LISTENER: u64 = 1;
/// The first connection's number.
const FIRST: u64 = 2;
/// Connections that have not introduced themselves yet.
const STRANGERS_MAX: usize = 256;
/// A connection that does not introduce itself is closed after this.
const HELLO_WITHIN: Nanos = Nanos(5_000_000_000);
/// How long to wait after a connection could not be accepted.
const PAUSE: Nanos = Nanos(200_000_000);
/// A client that does not read what it asked for is not waited for longer than this.
const SEND_WITHIN: Nanos = Nanos(100_000_000);

/// A client that has introduced itself.
pub(super) struct Arrival {
    /// Its connection.
    pub socket: Socket,
    /// Its process, as the system says.
    pub pid: u32,
    /// What it says of itself.
    pub hello: Hello,
}

/// Where a service takes in those who want it.
pub(super) struct Reception {
    /// The arrivals.
    pub arrivals: Sender<Arrival>,
    /// Wakes it.
    pub wake: Box<dyn Fn() + Send>,
}

impl Reception {
    fn receive(&self, arrival: Arrival) {
        // A service that has ended lets go of the connection, which its client notices.
        let _ = self.arrivals.send(arrival);
        (self.wake)();
    }
}

struct Stranger {
    socket: Socket,
    pid: u32,
    since: Nanos,
}

/// The open door; closed when dropped.
pub(super) struct Door {
    stop: Arc<(Bell, AtomicBool)>,
    thread: Option<JoinHandle<()>>,
}

struct Keeper {
    stop: Arc<(Bell, AtomicBool)>,
    listener: Listener,
    watch: Watch,
    staging: Reception,
    streams: Reception,
    redirect: Reception,
    strangers: BTreeMap<u64, Stranger>,
    /// No descriptors are left: who comes waits in the listener's queue until this time.
    pause: Option<Nanos>,
    next: u64,
}

impl Door {
    /// Opens the door.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn open(
        listener: Listener,
        staging: Reception,
        streams: Reception,
        redirect: Reception,
    ) -> Result<Door> {
        let (stop, watch) = (Arc::new((Bell::new()?, AtomicBool::new(false))), Watch::new()?);
        watch.bell(&stop.0, STOP)?;
        watch.readable(listener.fd(), LISTENER)?;
        let keeper = Keeper {
            stop: stop.clone(),
            listener,
            watch,
            staging,
            streams,
            redirect,
            strangers: BTreeMap::new(),
            pause: None,
            next: FIRST,
        };
        let thread = std::thread::Builder::new().name("thalweg-door".into());
        let thread = thread.spawn(move || keeper.run()).map_err(|e| Error::io("server", e))?;
        Ok(Door { stop, thread: Some(thread) })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.1.store(true, Ordering::Relaxed);
        self.stop.0.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Keeper {
    fn run(mut self) {
        let mut events: Vec<Event> = Vec::new();
        while !self.stop.1.load(Ordering::Relaxed) {
            let within = self.chores().map(|at| at.since(now()));
            events.clear();
            if self.watch.wait(within, &mut events).is_err() {
                return;
            }
            for event in events.drain(..) {
                match event.id {
                    STOP => {}
                    LISTENER => self.accept(),
                    n => self.introduce(n),
                }
            }
        }
    }

    /// Lets go of connections that do not introduce themselves, and listens again after a pause; when to call this next.
    fn chores(&mut self) -> Option<Nanos> {
        let now = now();
        let silent = |s: &Stranger| s.since.after(HELLO_WITHIN) <= now;
        let silent: Vec<u64> = self.strangers.iter().filter(|(_, s)| silent(s)).map(|(n, _)| *n).collect();
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
        if self.strangers.len() >= STRANGERS_MAX || socket.set_patience(SEND_WITHIN).is_err() {
            let detail =
                format!("{STRANGERS_MAX} connections have not said who they are; no more are accepted");
            let _ = socket.send(&Refusal::encode(Error::new(Kind::Full, "connect", detail)), &[]);
            return;
        }
        let n = self.next;
        self.next += 1;
        if self.watch.readable(socket.fd(), n).is_ok() {
            self.strangers.insert(n, Stranger { socket, pid, since: now() });
        }
    }

    /// Reads a new connection's first message and sends the client on.
    fn introduce(&mut self, n: u64) {
        let Some(Stranger { socket, pid, .. }) = self.strangers.remove(&n) else { return };
        self.watch.remove(socket.fd());
        let Ok(packet) = socket.receive() else { return };
        let greeting = Greeting::decode(&packet.bytes);
        let known = greeting.and_then(|greeting| greeting.admissible().map(|()| greeting));
        match known {
            Ok(Greeting::Staging(hello)) => self.staging.receive(Arrival { socket, pid, hello }),
            Ok(Greeting::Streams(hello)) => self.streams.receive(Arrival { socket, pid, hello }),
            Ok(Greeting::Redirect(hello)) => self.redirect.receive(Arrival { socket, pid, hello }),
            Err(e) => {
                let _ = socket.send(&Refusal::encode(e), &[]);
            }
        }
    }
}
