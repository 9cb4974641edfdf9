//! The server: hosts the staging service for this process, for others on its node, and over TCP for other nodes.

mod door;
mod node;
mod redirect;
mod staging;
mod streams;
mod tcp;

use self::node::Hosted;
use crate::staging::core::{Config, WhenFull};
use crate::staging::driver::Host;
use crate::staging::message::Stats;
use crate::{redirect as redirected, stream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_transport::link::{now, Listener};
use thalweg_transport::memory::available;
use thalweg_transport::process;

/// Slots of the directory: half as many versions can be held.
const SLOTS: usize = 1 << 16;
const WAITS_PER_CLIENT: usize = 1024;
/// More threads than this seldom copy faster.
const WORKERS_MAX: usize = 4;

/// How a server is to be.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The most memory to take; none: half of what is available.
    pub limit: Option<Bytes>,
    /// What to do when it is full.
    pub when_full: WhenFull,
    /// Whether it is for this process alone, as nobody said where another one is; only messages depend on it.
    pub private: bool,
    /// The Unix socket's name; none: a fresh one in Linux's abstract space.
    pub socket: Option<String>,
    /// `host:port` to serve other nodes; port 0 takes a free one.
    pub listen: Option<String>,
    /// The secret that clients over TCP must know.
    pub token: Option<String>,
    /// The most memory for replicas in other layouts, within the limit; none: half of it.
    pub replicas: Option<Bytes>,
    /// Where and how large a file may be into which the oldest data move when memory is short; none: there is none.
    pub spill: Option<Spill>,
    /// The folder of topics in files; none: events rest in memory only.
    pub streams: Option<PathBuf>,
    /// The most memory for events that rest in it; none: a quarter of what is available.
    pub stream_memory: Option<Bytes>,
    /// The most memory of redirected files, beyond which none is made; none: three quarters of what is available.
    pub file_memory: Option<Bytes>,
    /// The most threads that reorganise, reduce and move data; none: one for each core, at most 4.
    pub workers: Option<usize>,
}

/// Where data go when memory is short.
#[derive(Clone, Debug)]
pub struct Spill {
    /// The folder of the file, which has no name in it.
    pub folder: PathBuf,
    /// How large it may become.
    pub limit: Bytes,
}

/// A running server; stops when dropped.
pub struct Server {
    host: Arc<Host>,
    address: String,
    tcp: Option<tcp::Listening>,
    streams: Arc<streams::Streams>,
    redirect: Arc<redirected::driver::Host>,
    door: Option<door::Door>,
    threads: Vec<JoinHandle<()>>,
    made_in: u32,
}

fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("@thalweg-{}-{n}-{:x}", std::process::id(), now().0)
}

impl Server {
    /// Starts a server; it answers when this returns.
    ///
    /// # Errors
    /// `Invalid` for settings that cannot be, `Io` when a name or port is taken.
    pub fn start(settings: Settings) -> Result<Server> {
        let limit = settings.limit.unwrap_or_else(|| Bytes(available().0 / 2));
        const LEAST: Bytes = Bytes(1 << 20);
        if limit < LEAST {
            let detail = format!("a memory limit of {limit}; accepted are at least {LEAST}");
            return Err(Error::new(Kind::Invalid, "server", detail));
        }
        if settings.listen.is_some() && settings.token.as_deref().unwrap_or("").len() < 8 {
            let detail = "listening on TCP without a token of at least 8 characters; give a token";
            return Err(Error::new(Kind::Invalid, "server", detail));
        }
        more_descriptors();
        let when_full = settings.when_full;
        let config = Config {
            limit,
            when_full,
            private: settings.private,
            slots: SLOTS,
            waits_per_client: WAITS_PER_CLIENT,
            replicas: settings.replicas.unwrap_or(Bytes(limit.0 / 2)),
            spill: settings.spill.as_ref().map(|spill| spill.limit),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = settings.workers.unwrap_or(cores.min(WORKERS_MAX));
        if !(1..=1024).contains(&workers) {
            let detail = format!("{workers} workers; accepted are 1 to 1024");
            return Err(Error::new(Kind::Invalid, "server", detail));
        }
        let folder = settings.spill.map(|spill| spill.folder).unwrap_or_default();
        let host = Host::new(config, workers, &folder)?;
        let streams = stream::driver::Host::open(stream::driver::Settings {
            folder: settings.streams,
            memory: settings.stream_memory.unwrap_or_else(|| Bytes(available().0 / 4)),
            config: stream::core::Config::default(),
        })?;
        let name = settings.socket.unwrap_or_else(fresh_name);
        let listener = Listener::bind(&name)?;
        let address = format!("unix:{name}");
        let tcp = match (settings.listen, settings.token) {
            (Some(place), Some(token)) => {
                let services = tcp::Services { staging: host.clone(), streams: streams.clone() };
                Some(tcp::Listening::start(services, &place, token)?)
            }
            _ => None,
        };
        let (staging_in, staging) = node::start("thalweg-server", host.clone())?;
        let streams = Arc::new(streams::Streams::new(streams)?);
        let (streams_in, stream) = node::start("thalweg-streams", streams.clone())?;
        let redirect = redirected::driver::Host::start(redirected::core::Config {
            memory: settings.file_memory.unwrap_or_else(|| Bytes(available().0 / 4 * 3)),
            ..redirected::core::Config::default()
        })?;
        let (redirect_in, redirecting) = node::start("thalweg-redirect", redirect.clone())?;
        let door = door::Door::open(listener, staging_in, streams_in, redirect_in)?;
        let threads = vec![staging, stream, redirecting];
        host.known_as(&address);
        Ok(Server {
            host,
            address,
            tcp,
            streams,
            redirect,
            door: Some(door),
            threads,
            made_in: process::id(),
        })
    }

    /// The address for clients on this node, `unix:NAME`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address for clients on other nodes, `tcp:HOST:PORT`.
    pub fn tcp_address(&self) -> Option<&str> {
        self.tcp.as_ref().map(tcp::Listening::address)
    }

    /// The service, for clients in this process.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Counters of the service.
    pub fn stats(&self) -> Stats {
        self.host.stats()
    }

    /// What was found damaged, put aside or made again when the folder for streams was opened; for people.
    pub fn stream_notes(&self) -> &[String] {
        self.streams.notes()
    }

    /// Redirected files that could not be written behind memory, each with its reason; complete when it was closed.
    pub fn unsaved(&self) -> Vec<String> {
        self.redirect.unsaved()
    }

    /// Stops serving; clients get `Gone`, views that they hold stay valid.
    pub fn close(&mut self) {
        if process::id() != self.made_in {
            // A forked child's copy: the threads and the sockets are its parent's.
            std::mem::forget((self.tcp.take(), self.door.take(), std::mem::take(&mut self.threads)));
            return;
        }
        self.host.close();
        self.streams.close();
        self.redirect.close();
        self.door = None;
        if let Some(tcp) = self.tcp.take() {
            tcp.stop();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

/// Allows this process as many descriptors as it may have: a client takes five.
fn more_descriptors() {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
