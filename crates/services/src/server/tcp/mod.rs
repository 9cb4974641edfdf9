//! Serving other nodes: one thread for each connection.

mod staging;
mod streams;

use crate::greeting::{Greeting, Refusal};
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use subtle::ConstantTimeEq;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience, Stream};

/// Clients.
const CONNECTIONS_MAX: usize = 1024;
/// Connections that have not introduced themselves; for one more the oldest of them is closed.
const PENDING_MAX: usize = 64;
/// The longest greeting: two names, a token, and what is around them.
const GREETING_MAX: usize = 1 << 10;
/// The longest token.
const TOKEN_MAX: usize = 256;
/// How long to wait after a connection could not be accepted.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);
/// A connection that has not introduced itself is closed after this, whatever it sent.
const HELLO_WITHIN: Nanos = Nanos(5_000_000_000);
/// A connection on which nothing moves in the middle of a message is closed after this.
const STALL: Nanos = Nanos(30_000_000_000);

/// The services behind the port.
#[derive(Clone)]
pub(super) struct Services {
    pub staging: Arc<crate::staging::driver::Host>,
    pub streams: Arc<crate::stream::driver::Host>,
}

/// The listening port and its thread.
pub(super) struct Listening {
    address: String,
    wake: std::net::SocketAddr,
    services: Services,
    thread: JoinHandle<()>,
}

impl Listening {
    pub fn start(services: Services, place: &str, token: String) -> Result<Listening> {
        let operation = format!("server: cannot listen on tcp:{place}");
        if token.len() > TOKEN_MAX {
            let detail = format!("a token of {} characters; expected at most {TOKEN_MAX}", token.len());
            return Err(Error::new(Kind::Invalid, "server", detail));
        }
        let listener = TcpListener::bind(place).map_err(|e| Error::io(&operation, e))?;
        let wake = listener.local_addr().map_err(|e| Error::io(&operation, e))?;
        let name = place.rsplit_once(':').map_or(place, |(name, _)| name);
        let address = format!("tcp:{name}:{}", wake.port());
        let served = services.clone();
        let thread = std::thread::Builder::new()
            .name("thalweg-tcp".into())
            .spawn(move || accept(&served, &listener, &Arc::from(token)))
            .map_err(|e| Error::io("server", e))?;
        Ok(Listening { address, wake, services, thread })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn stop(self) {
        debug_assert!(self.services.staging.is_closed());
        let mut wake = self.wake;
        if wake.ip().is_unspecified() {
            wake.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        // The thread sleeps in accept: a last connection wakes it.
        if TcpStream::connect_timeout(&wake, std::time::Duration::from_secs(1)).is_ok() {
            let _ = self.thread.join();
        }
    }
}

/// Connections of which nobody knows yet whose they are, by their numbers.
#[derive(Default)]
struct Pending {
    next: u64,
    streams: BTreeMap<u64, Stream>,
}

impl Pending {
    /// Takes one in. Where there are too many the oldest is closed: who means well has introduced himself long before.
    fn add(&mut self, stream: Stream) -> u64 {
        if self.streams.len() >= PENDING_MAX {
            if let Some((_, oldest)) = self.streams.pop_first() {
                oldest.end();
            }
        }
        self.next += 1;
        self.streams.insert(self.next, stream);
        self.next
    }
}

/// Who is connected.
#[derive(Default)]
struct Connected {
    pending: Mutex<Pending>,
    clients: AtomicUsize,
}

impl Connected {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(services: &Services, listener: &TcpListener, token: &Arc<str>) {
    let connected = Arc::new(Connected::default());
    for stream in listener.incoming() {
        if services.staging.is_closed() {
            return;
        }
        if stream.is_err() {
            // No descriptors left: the connection stays in the queue until somebody has gone.
            std::thread::sleep(PAUSE);
        }
        let Ok(stream) = stream.map_err(|e| Error::io("server", e)).and_then(Stream::over) else {
            continue;
        };
        let Ok(handle) = stream.handle() else { continue };
        let number = connected.pending().add(handle);
        let (services, token, shared) = (services.clone(), token.clone(), connected.clone());
        let serve = move || {
            let greeting = introduce(&services, &stream, &token);
            shared.pending().streams.remove(&number);
            if let Ok(Some(greeting)) = greeting {
                let _ = serve_client(services, stream, greeting, &shared.clients);
            }
        };
        if std::thread::Builder::new().name("thalweg-tcp".into()).spawn(serve).is_err() {
            connected.pending().streams.remove(&number);
        }
    }
}

fn refuse(stream: &Stream, e: Error) {
    let _ = stream.send(&Refusal::encode(e), &[], Patience::of(STALL));
}

/// Hears who comes; none who may not.
fn introduce(services: &Services, stream: &Stream, token: &str) -> Result<Option<Greeting>> {
    let closing = || match services.staging.is_closed() {
        true => Err(Error::new(Kind::Gone, "server", "closing")),
        false => Ok(()),
    };
    let frame = stream.receive_first(GREETING_MAX, now().after(HELLO_WITHIN), &closing)?;
    let greeting = Greeting::decode(&frame)?;
    let hello = greeting.hello();
    let known: bool = hello.token.as_bytes().ct_eq(token.as_bytes()).into();
    let admitted = match known {
        true => greeting.admissible(),
        false => {
            let met = if hello.token.is_empty() { "no token was given" } else { "wrong token" };
            let detail = format!("{met}; give the one that the server was started with");
            Err(Error::new(Kind::Access, greeting.operation(), detail))
        }
    };
    match admitted {
        Ok(()) => Ok(Some(greeting)),
        Err(e) => {
            refuse(stream, e);
            Ok(None)
        }
    }
}

/// Serves a client that has introduced itself.
fn serve_client(services: Services, stream: Stream, greeting: Greeting, clients: &AtomicUsize) -> Result<()> {
    let counted = clients
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < CONNECTIONS_MAX).then_some(n + 1));
    if counted.is_err() {
        let detail = format!("{CONNECTIONS_MAX} clients are connected; no more are accepted");
        refuse(&stream, Error::new(Kind::Full, "connect", detail));
        return Ok(());
    }
    let served = match greeting {
        Greeting::Staging(hello) => staging::serve(services.staging, stream, hello),
        Greeting::Streams(_) => streams::serve(services.streams, stream),
        Greeting::Redirect(_) => {
            let detail =
                "files are redirected through memory that processes of one node share; use unix:NAME";
            refuse(&stream, Error::new(Kind::Invalid, "redirect.connect", detail));
            Ok(())
        }
    };
    clients.fetch_sub(1, Ordering::Relaxed);
    served
}
