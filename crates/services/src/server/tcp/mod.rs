//! Serving other nodes: one thread for each connection.

mod staging;
mod streams;

use crate::greeting::{Greeting, Refusal};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use subtle::ConstantTimeEq;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience, Stream};

const CONNECTIONS_MAX: usize = 1024;
/// How long to wait after a connection could not be accepted.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);
/// A connection that does not introduce itself is closed after this.
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

fn accept(services: &Services, listener: &TcpListener, token: &Arc<str>) {
    let open = Arc::new(AtomicUsize::new(0));
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
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            let detail = format!("{CONNECTIONS_MAX} connections are open; no more are accepted");
            refuse(&stream, Error::new(Kind::Full, "connect", detail));
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (services, token, count) = (services.clone(), token.clone(), open.clone());
        let serve = move || {
            let _ = introduce(services, stream, &token);
            count.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("thalweg-tcp".into()).spawn(serve).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn refuse(stream: &Stream, e: Error) {
    let _ = stream.send(&Refusal::encode(e), &[], Patience::of(STALL));
}

/// Hears who comes, and serves.
fn introduce(services: Services, stream: Stream, token: &str) -> Result<()> {
    let (start, mut frame) = (now(), Vec::new());
    let tick = || match services.staging.is_closed() || now().since(start) > HELLO_WITHIN {
        true => Err(Error::new(Kind::Gone, "server", "closing, or the client is too slow")),
        false => Ok(()),
    };
    stream.receive(&mut frame, Patience { within: HELLO_WITHIN, tick: &tick })?;
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
    match (admitted, greeting) {
        (Err(e), _) => refuse(&stream, e),
        (Ok(()), Greeting::Staging(hello)) => staging::serve(services.staging, stream, hello)?,
        (Ok(()), Greeting::Streams(_)) => streams::serve(services.streams, stream)?,
        (Ok(()), Greeting::Redirect(_)) => {
            let detail =
                "files are redirected through memory that processes of one node share; use unix:NAME";
            refuse(&stream, Error::new(Kind::Invalid, "redirect.connect", detail));
        }
    }
    Ok(())
}
