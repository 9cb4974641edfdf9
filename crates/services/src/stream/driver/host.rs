//! The host: the state machine with its journals behind one lock, and the way out for each client.

use super::super::core::{Config, Fact, Input, Outcome, Output, Streams};
use super::super::message::{Batch, Reply, Request};
use super::facts::Facts;
use super::files::{content, random, Files, Lies};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::now;

/// Threads that write to disks.
const WORKERS: usize = 4;

/// How a host is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of everything that it keeps.
    pub folder: PathBuf,
    /// Limits.
    pub config: Config,
}

/// The way of replies to one client.
pub trait Delivery: Send {
    /// Hands over a reply.
    fn deliver(&mut self, id: u64, reply: Reply);
}

/// Where a client's batches lie until they are appended.
pub trait Outbox: Send + Sync {
    /// The bytes from `at` on.
    ///
    /// # Errors
    /// `Protocol` outside of it.
    fn bytes(&self, at: u64, bytes: u64) -> Result<&[u8]>;
}

struct Client {
    way: Box<dyn Delivery>,
    outbox: Arc<dyn Outbox>,
}

type Work = (Output, Vec<Arc<dyn Outbox>>);

struct State {
    core: Streams,
    clients: BTreeMap<PeerId, Client>,
    out: Vec<Output>,
    next_peer: u64,
    work: Option<Sender<Work>>,
}

/// One stream service in this process.
pub struct Host {
    state: Mutex<State>,
    facts: Mutex<Facts>,
    files: Files,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// Nanoseconds since 1970: what is written is looked at by others, later.
fn wall() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Nanos(since.map_or(0, |since| since.as_nanos() as u64))
}

fn closed() -> Error {
    Error::new(Kind::Gone, "stream", "the server has closed")
}

impl Host {
    /// Opens the service in its folder.
    ///
    /// # Errors
    /// `Access` when another server has it, `Corrupt`, `Io`, `Full`.
    pub fn open(settings: Settings) -> Result<Arc<Host>> {
        let facts = Facts::open(&settings.folder.join("facts"), random(), wall())?;
        let mut out = Vec::new();
        let core = Streams::new(settings.config, facts.all(), &mut out)?;
        let partitions = settings.folder.join("partitions");
        if facts.all().get(&Fact::Next).is_none()
            && partitions.read_dir().is_ok_and(|mut all| all.next().is_some())
        {
            let detail = format!("{} holds partitions, but nothing is known of them", partitions.display());
            return Err(Error::new(Kind::Corrupt, "stream.open", detail));
        }
        let known: Vec<_> = core.partitions().collect();
        let files = Files::new(&partitions, &known)?;
        let (work, jobs) = channel::<Work>();
        let state = State { core, clients: BTreeMap::new(), out, next_peer: 1, work: Some(work) };
        let host = Arc::new(Host {
            state: Mutex::new(state),
            facts: Mutex::new(facts),
            files,
            workers: Mutex::default(),
        });
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..WORKERS {
            let (jobs, me) = (jobs.clone(), Arc::downgrade(&host));
            let thread = std::thread::Builder::new().name("thalweg-stream".into());
            let thread = thread.spawn(move || loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let (Ok((output, outboxes)), Some(host)) = (job, Weak::upgrade(&me)) else { return };
                host.work(&output, &outboxes);
            });
            let thread = thread.map_err(|e| Error::io("stream.open", e))?;
            host.workers.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        host.step(|_| {});
        Ok(host)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Steps the core with what `inputs` gives it, and performs what it wants.
    fn step(&self, inputs: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        inputs(&mut state);
        self.perform(&mut state);
    }

    fn perform(&self, state: &mut State) {
        for output in std::mem::take(&mut state.out) {
            match output {
                Output::Send { to, id, reply } => {
                    if let Some(client) = state.clients.get_mut(&to) {
                        client.way.deliver(id, reply);
                    }
                }
                // Before it may be opened again.
                Output::Close { partition, remove } => self.files.close(partition, remove),
                output => {
                    let batches = match &output {
                        Output::Append { batches, .. } => batches.as_slice(),
                        _ => &[],
                    };
                    let outbox =
                        |(peer, _): &(PeerId, Batch)| state.clients.get(peer).map(|c| c.outbox.clone());
                    // Who left meanwhile left nothing in line.
                    let outboxes = batches.iter().filter_map(outbox).collect();
                    if let Some(work) = &state.work {
                        let _ = work.send((output, outboxes));
                    }
                }
            }
        }
    }

    fn work(&self, output: &Output, outboxes: &[Arc<dyn Outbox>]) {
        let (number, outcome) = match output {
            Output::Open { number, partition, definition } => {
                (*number, self.files.open(*partition, definition, wall()))
            }
            Output::Append { number, partition, batches, sync } => {
                let lies = batches.iter().zip(outboxes).map(|((_, batch), outbox)| lies(batch, &**outbox));
                let lies: Result<Vec<_>> = lies.collect();
                let gone =
                    || Error::new(Kind::Interrupted, "stream.produce", "a client has left; send it again");
                let lies =
                    lies.and_then(|lies| (lies.len() == batches.len()).then_some(lies).ok_or_else(gone));
                (*number, lies.and_then(|lies| self.files.append(*partition, &lies, *sync, wall())))
            }
            Output::Sync { number, partition } => (*number, self.files.sync(*partition)),
            Output::Retain { number, partition, age, bytes, before } => {
                (*number, self.files.retain(*partition, *age, *bytes, *before, wall()))
            }
            Output::Remember { number, facts } => {
                let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
                (*number, known.remember(facts, wall()).map(|()| Outcome::Done))
            }
            Output::Send { .. } | Output::Close { .. } => return,
        };
        self.step(|state| state.core.step(now(), Input::Done { number, outcome }, &mut state.out));
    }

    /// Takes a client in, whose batches lie in `outbox`.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn join(&self, way: Box<dyn Delivery>, outbox: Arc<dyn Outbox>) -> Result<PeerId> {
        let mut state = self.lock();
        if state.work.is_none() {
            return Err(closed());
        }
        let peer = PeerId(state.next_peer);
        state.next_peer += 1;
        state.clients.insert(peer, Client { way, outbox });
        let State { core, out, .. } = &mut *state;
        core.step(now(), Input::Joined(peer), out);
        self.perform(&mut state);
        Ok(peer)
    }

    /// Lets a client go.
    pub fn leave(&self, peer: PeerId) {
        self.step(|state| {
            state.core.step(now(), Input::Gone(peer), &mut state.out);
            state.clients.remove(&peer);
        });
    }

    /// Does what a client asks; the reply leaves through its way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn submit(&self, from: PeerId, id: u64, body: Request) -> Result<()> {
        let mut state = self.lock();
        if state.work.is_none() {
            return Err(closed());
        }
        let State { core, out, .. } = &mut *state;
        core.step(now(), Input::Request { from, id, body }, out);
        self.perform(&mut state);
        Ok(())
    }

    /// Does what it is time for; when to call this next.
    pub fn tick(&self) -> Option<Nanos> {
        let mut state = self.lock();
        let State { core, out, .. } = &mut *state;
        core.step(now(), Input::Tick, out);
        self.perform(&mut state);
        state.core.next_deadline()
    }

    /// Refuses everything from now on, and returns when what was begun has come to its end.
    pub fn close(&self) {
        self.lock().work = None;
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        for worker in workers {
            if worker.thread().id() != std::thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}

/// The body and the data of a batch in its producer's outbox: the body first, data that lie apart at the next multiple of 64.
fn lies<'o>(batch: &Batch, outbox: &'o dyn Outbox) -> Result<Lies<'o>> {
    let parts = content(batch).parts(!batch.apart);
    let front = if batch.apart { parts.rest } else { parts.body };
    let body = outbox.bytes(batch.at, front)?;
    let behind = batch.at.saturating_add(front).next_multiple_of(64);
    let apart = batch.apart.then(|| outbox.bytes(behind, batch.data_bytes)).transpose()?;
    Ok(Lies { batch: *batch, body, apart })
}
