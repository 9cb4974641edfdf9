//! Serving other nodes: one thread for each connection, which acts for its client in this process.

use crate::envelope::MESSAGE_MAX;
use crate::greeting::Greeting;
use crate::staging::driver::{Client, Committed, Host, Identity, RemoteReply, RemoteRequest};
use crate::staging::message::{Publication, Reply, Request, Wish};
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

/// The listening port and its thread.
pub(super) struct Listening {
    address: String,
    wake: std::net::SocketAddr,
    host: Arc<Host>,
    thread: JoinHandle<()>,
}

impl Listening {
    pub fn start(host: Arc<Host>, place: &str, token: String) -> Result<Listening> {
        let operation = format!("server: cannot listen on tcp:{place}");
        let listener = TcpListener::bind(place).map_err(|e| Error::io(&operation, e))?;
        let wake = listener.local_addr().map_err(|e| Error::io(&operation, e))?;
        let name = place.rsplit_once(':').map_or(place, |(name, _)| name);
        let address = format!("tcp:{name}:{}", wake.port());
        let served = host.clone();
        let thread = std::thread::Builder::new()
            .name("thalweg-tcp".into())
            .spawn(move || accept(&served, &listener, &Arc::from(token)))
            .map_err(|e| Error::io("server", e))?;
        Ok(Listening { address, wake, host, thread })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn stop(self) {
        debug_assert!(self.host.is_closed());
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

fn accept(host: &Arc<Host>, listener: &TcpListener, token: &Arc<str>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if host.is_closed() {
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
            let _ =
                reply(&stream, &RemoteReply::Failed(Error::new(Kind::Full, "stage.connect", detail)), &[]);
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (host, token, count) = (host.clone(), token.clone(), open.clone());
        let serve = move || {
            let _ = Connection { host, stream, frame: Vec::new() }.serve(&token);
            count.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("thalweg-tcp".into()).spawn(serve).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn reply(stream: &Stream, reply: &RemoteReply, bulk: &[u8]) -> Result<()> {
    let frame = postcard::to_stdvec(reply).map_err(|e| Error::new(Kind::Protocol, "server", e))?;
    stream.send(&frame, bulk, Patience::of(STALL))
}

struct Connection {
    host: Arc<Host>,
    stream: Stream,
    frame: Vec<u8>,
}

impl Connection {
    /// Receives the next frame; `whole` is the longest that it may take to come as a whole.
    fn frame(&mut self, within: Nanos, whole: Nanos) -> Result<()> {
        let (host, start) = (self.host.clone(), now());
        let tick = || match host.is_closed() || now().since(start) > whole {
            true => Err(Error::new(Kind::Gone, "server", "closing, or the client is too slow")),
            false => Ok(()),
        };
        self.stream.receive(&mut self.frame, Patience { within, tick: &tick })
    }

    /// The next request. An idle connection may stay; what ends it is the client's end or this server's.
    fn next(&mut self) -> Result<RemoteRequest> {
        self.frame(Nanos(u64::MAX), Nanos(u64::MAX))?;
        debug_assert!(self.frame.len() <= MESSAGE_MAX);
        postcard::from_bytes(&self.frame).map_err(|e| {
            Error::new(Kind::Protocol, "server", format!("{} bytes that are none: {e}", self.frame.len()))
        })
    }

    fn serve(mut self, token: &str) -> Result<()> {
        self.frame(HELLO_WITHIN, HELLO_WITHIN)?;
        let greeting = Greeting::decode(&self.frame)?;
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
        if let Err(e) = admitted {
            return reply(&self.stream, &RemoteReply::Failed(e), &[]);
        }
        let Greeting::Staging(hello) = greeting else {
            let e = Error::new(Kind::NotFound, "stream.connect", "this server has no streams");
            return reply(&self.stream, &RemoteReply::Failed(e), &[]);
        };
        let identity = Identity { name: hello.name, namespace: hello.namespace, token: String::new() };
        let client = Client::acting(self.host.clone(), identity, hello.pid)?;
        reply(&self.stream, &RemoteReply::Welcome, &[])?;
        loop {
            let request = self.next()?;
            self.answer(&client, request)?;
        }
    }

    fn answer(&mut self, client: &Client, request: RemoteRequest) -> Result<()> {
        match request {
            RemoteRequest::Put { what, within } => self.put(client, what, within),
            RemoteRequest::GetRegion { question, within } => {
                match client.region(&question, Patience { within, tick: &|| self.alive() }) {
                    Ok(view) => {
                        let answer = RemoteReply::Region { version: view.version(), layout: *view.layout() };
                        reply(&self.stream, &answer, view.packed()?.bytes())
                    }
                    Err(e) => reply(&self.stream, &RemoteReply::Failed(e), &[]),
                }
            }
            RemoteRequest::Get { key, within } => {
                let got = client.get(key, Patience { within, tick: &|| self.alive() });
                match got {
                    Ok(view) => {
                        // SAFETY: the view keeps the packed bytes of its shape for as long as it lives.
                        let bytes = unsafe {
                            std::slice::from_raw_parts(view.start(), view.shape().size().0 as usize)
                        };
                        reply(&self.stream, &RemoteReply::Value(*view.shape()), bytes)
                    }
                    Err(e) => reply(&self.stream, &RemoteReply::Failed(e), &[]),
                }
            }
            RemoteRequest::Exists { key } => {
                let answer = match client.exists(key, Patience::of(STALL)) {
                    Ok(there) => RemoteReply::Exists(there),
                    Err(e) => RemoteReply::Failed(e),
                };
                reply(&self.stream, &answer, &[])
            }
            RemoteRequest::Ask(body) => {
                let within = match &body {
                    Request::Wait { within, .. } | Request::Describe { within, .. } => *within,
                    Request::Get { within, wish: Wish::Summary { .. } | Wish::Version, .. } => *within,
                    Request::List { .. }
                    | Request::Delete { .. }
                    | Request::DropNamespace
                    | Request::Stats
                    | Request::Define { .. }
                    | Request::Variables { .. }
                    | Request::Annotate { .. }
                    | Request::Seal { .. }
                    | Request::Release { .. }
                    | Request::Versions { .. }
                    | Request::Patterns { .. } => STALL,
                    other => {
                        return Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}")))
                    }
                };
                let answer = match client.ask(body, Patience { within, tick: &|| self.alive() }) {
                    Ok(answer) => answer,
                    Err(e) => Reply::Failed(e),
                };
                reply(&self.stream, &RemoteReply::Answer(answer), &[])
            }
        }
    }

    fn alive(&self) -> Result<()> {
        if self.host.is_closed() || self.stream.ended() {
            return Err(Error::new(Kind::Gone, "server", "nobody waits for this answer"));
        }
        Ok(())
    }

    /// Makes room first, so that the client's end is noticed while it waits, and then receives the bytes straight into it.
    fn put(&self, client: &Client, what: Publication, within: Nanos) -> Result<()> {
        let bytes = what.shape().size().0 as usize;
        let mut loan = match client.lend(what, Patience { within, tick: &|| self.alive() }) {
            Ok(loan) => loan,
            Err(e) => return reply(&self.stream, &RemoteReply::Failed(e), &[]),
        };
        reply(&self.stream, &RemoteReply::Room, &[])?;
        // SAFETY: the loan holds the bytes of its shape, and nobody else sees them.
        let into = unsafe { std::slice::from_raw_parts_mut(loan.start(), bytes) };
        self.stream.bulk(into, Patience::of(STALL))?;
        let answer = match loan.commit(Patience::of(STALL)) {
            Ok(Committed::Now) => RemoteReply::Stored,
            Ok(Committed::Covered) => RemoteReply::Covered,
            Ok(Committed::Before { by }) => RemoteReply::Known { by },
            Err(e) => RemoteReply::Failed(e),
        };
        reply(&self.stream, &answer, &[])
    }
}
