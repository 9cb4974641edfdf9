//! The host: the state machine with its journals behind one lock, and the way out for each client.

use super::super::core::{recovered, Config, Input, Outcome, Output, Streams};
use super::super::definition::{Partition, Rest};
use super::super::laid::Laid;
use super::super::message::{Batch, Place, Reply, Request};
use super::facts::Facts;
use super::files::{wall, Files, Lies, Open};
use super::identity;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::link::now;

/// The clock's thread looks this often whether the service is still wanted.
const LATEST: Nanos = Nanos(1_000_000_000);
/// Threads that write to disks.
const WORKERS: usize = 4;
/// Batches of so few bytes are written into the page cache sooner than a worker wakes up,
const LITTLE: u64 = 64 << 10;
/// unless that took so long before:
const SLOW: Nanos = Nanos(2_000_000);
/// then workers do it for so long, and who asks waits for no disk.
const SLOW_FOR: Nanos = Nanos(1_000_000_000);

/// How a host is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of everything that it keeps; none: it keeps events in memory, until its end.
    pub folder: Option<PathBuf>,
    /// The most that events of partitions in memory take together.
    pub memory: Bytes,
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

/// What is to be done, and where the batches lie that it is about.
type Job = (Output, Vec<Arc<dyn Outbox>>);

struct State {
    core: Streams,
    clients: BTreeMap<PeerId, Client>,
    out: Vec<Output>,
    next_peer: u64,
    work: Option<Sender<Job>>,
    /// Jobs that no worker has begun.
    waiting: usize,
    /// When the clock's thread wakes up.
    armed: Nanos,
}

/// One stream service in this process.
pub struct Host {
    state: Mutex<State>,
    /// None when the service has closed.
    facts: Mutex<Option<Facts>>,
    files: Files,
    /// What was found when it was opened that somebody should know.
    notes: Vec<String>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// Until when workers do everything, as the disk was slow.
    slow_until: AtomicU64,
    /// Wakes the clock's thread.
    earlier: Condvar,
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
        let within = |name: &str| settings.folder.as_ref().map(|folder| folder.join(name));
        let mut facts = Facts::open(within("facts").as_deref(), wall())?;
        let notes = match (within("partitions"), within("aside")) {
            (Some(partitions), Some(aside)) => reconcile(&mut facts, &partitions, &aside)?,
            _ => Vec::new(),
        };
        facts.secure(wall());
        let mut out = Vec::new();
        let core = Streams::new(settings.config, facts.all(), &mut out)?;
        let files = Files::new(within("partitions"), settings.memory);
        let (work, jobs) = channel::<Job>();
        let state = State {
            core,
            clients: BTreeMap::new(),
            out,
            next_peer: 1,
            work: Some(work),
            waiting: 0,
            armed: Nanos(0),
        };
        let host = Arc::new(Host {
            state: Mutex::new(state),
            facts: Mutex::new(Some(facts)),
            files,
            notes,
            workers: Mutex::default(),
            slow_until: AtomicU64::new(0),
            earlier: Condvar::new(),
        });
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..WORKERS {
            let (jobs, me) = (jobs.clone(), Arc::downgrade(&host));
            let thread = std::thread::Builder::new().name("thalweg-stream".into());
            let thread = thread.spawn(move || loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let (Ok(job), Some(host)) = (job, Weak::upgrade(&me)) else { return };
                host.lock().waiting -= 1;
                host.work_on(vec![job], true);
            });
            let thread = thread.map_err(|e| Error::io("stream.open", e))?;
            host.workers.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        let me = Arc::downgrade(&host);
        let thread = std::thread::Builder::new().name("thalweg-clock".into());
        let clock = thread.spawn(move || while Weak::upgrade(&me).is_some_and(|host| host.tick()) {});
        let clock = clock.map_err(|e| Error::io("stream.open", e))?;
        host.workers.lock().unwrap_or_else(PoisonError::into_inner).push(clock);
        host.step(|_| {});
        Ok(host)
    }

    /// What was found damaged, put aside or made again when it was opened; for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Steps the core with what `inputs` gives it, and performs what it wants.
    fn step(&self, inputs: impl FnOnce(&mut State)) {
        let jobs = {
            let mut state = self.lock();
            inputs(&mut state);
            self.perform(&mut state, false)
        };
        self.work_on(jobs, false);
    }

    /// Does the jobs, and what comes of them; a worker has all the time for it.
    fn work_on(&self, mut jobs: Vec<Job>, worker: bool) {
        while let Some(job) = jobs.pop() {
            let start = now();
            let Some(done) = self.work(&job) else { continue };
            if !worker && now().since(start) > SLOW {
                self.slow_until.store(now().after(SLOW_FOR).0, Ordering::Relaxed);
            }
            let mut state = self.lock();
            let State { core, out, .. } = &mut *state;
            core.step(now(), done, out);
            jobs.extend(self.perform(&mut state, worker));
        }
    }

    /// Sends what is to be sent and hands the workers what is to be done; gives back what is done sooner than handed over: little
    /// things, and where nothing waits for a worker, what a worker has just brought about.
    fn perform(&self, state: &mut State, worker: bool) -> Vec<Job> {
        let mut jobs = Vec::new();
        for output in std::mem::take(&mut state.out) {
            match output {
                Output::Send { to, id, reply } => {
                    if let Some(client) = state.clients.get_mut(&to) {
                        client.way.deliver(id, reply);
                    }
                }
                // Before it may be opened again.
                Output::Close { partition } => self.files.close(partition),
                output => {
                    let (batches, sync) = match &output {
                        Output::Append { batches, sync, .. } => (batches.as_slice(), *sync),
                        _ => (&[][..], true),
                    };
                    let bytes =
                        |(_, b): &(PeerId, Batch)| b.data_bytes.saturating_add(u64::from(b.metadata_bytes));
                    let little = !sync && batches.iter().map(bytes).fold(0, u64::saturating_add) <= LITTLE;
                    let outbox =
                        |(peer, _): &(PeerId, Batch)| state.clients.get(peer).map(|c| c.outbox.clone());
                    // Who left meanwhile left nothing in line.
                    let outboxes = batches.iter().filter_map(outbox).collect();
                    let little = little && self.slow_until.load(Ordering::Relaxed) < now().0;
                    let mine = worker && jobs.is_empty() && state.waiting == 0;
                    if little || mine {
                        jobs.push((output, outboxes));
                    } else if let Some(work) = &state.work {
                        state.waiting += usize::from(work.send((output, outboxes)).is_ok());
                    }
                }
            }
        }
        if state.core.next_deadline().is_some_and(|at| at < state.armed) {
            self.earlier.notify_all();
        }
        jobs
    }

    /// Does it; what came of it. A defect of ours is an error of this one thing.
    fn work(&self, job: &Job) -> Option<Input> {
        let done = catch_unwind(AssertUnwindSafe(|| self.work_unguarded(job)));
        done.unwrap_or_else(|_| {
            let (number, partition) = job.0.number()?;
            let e =
                Error::new(Kind::Io, "stream", "a defect of Thalweg; please report what stands on stderr");
            Some(Input::Done { number, partition, outcome: Err(e) })
        })
    }

    fn work_unguarded(&self, (output, outboxes): &Job) -> Option<Input> {
        let (number, partition) = output.number()?;
        let outcome = match output {
            Output::Open { partition, definition, owner, .. } => {
                self.files.open(*partition, definition, owner, wall())
            }
            Output::Remove { partition, rest, .. } => {
                self.files.close(*partition);
                self.files.remove(*partition, rest)
            }
            Output::Append { partition, batches, sync, .. } => {
                let lies = batches.iter().zip(outboxes).map(|((_, batch), outbox)| lies(batch, &**outbox));
                match lies.collect::<Result<Vec<_>>>() {
                    Ok(lies) if lies.len() == batches.len() => {
                        self.files.append(*partition, &lies, *sync, wall())
                    }
                    Ok(_) => {
                        let detail = "a client has left, with its memory; send it again";
                        Ok(Outcome::Refused(Error::new(Kind::Interrupted, "stream.produce", detail)))
                    }
                    Err(e) => Ok(Outcome::Refused(e)),
                }
            }
            Output::Sync { partition, .. } => self.files.sync(*partition),
            Output::Retain { partition, since, bytes, before, .. } => {
                self.files.retain(*partition, *since, *bytes, *before)
            }
            Output::Remember { facts, .. } => {
                let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
                let noted = known.as_mut().ok_or_else(closed).and_then(|known| known.remember(facts, wall()));
                noted.map(|()| Outcome::Done)
            }
            Output::Send { .. } | Output::Close { .. } => return None,
        };
        Some(Input::Done { number, partition, outcome })
    }

    /// Takes a client in, whose batches lie in `outbox`.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn join(&self, way: Box<dyn Delivery>, outbox: Arc<dyn Outbox>) -> Result<PeerId> {
        let mut joined = Err(closed());
        self.step(|state| {
            if state.work.is_some() {
                let peer = PeerId(state.next_peer);
                state.next_peer += 1;
                state.clients.insert(peer, Client { way, outbox });
                state.core.step(now(), Input::Joined(peer), &mut state.out);
                joined = Ok(peer);
            }
        });
        joined
    }

    /// Lets a client go.
    pub fn leave(&self, peer: PeerId) {
        self.step(|state| {
            state.core.step(now(), Input::Gone(peer), &mut state.out);
            state.clients.remove(&peer);
        });
    }

    /// Says where partitions rest that may rest anywhere.
    fn settled(&self, mut body: Request) -> Request {
        let rest = if self.files.has_folder() { Rest::Files } else { Rest::Memory };
        let settle = |partition: &mut Partition| {
            if partition.rest == Rest::Anywhere {
                partition.rest = rest.clone();
            }
        };
        match &mut body {
            Request::Create { topic, .. } => topic.partitions.iter_mut().for_each(settle),
            Request::AddPartition { partition, .. } => [partition].into_iter().for_each(settle),
            _ => {}
        }
        body
    }

    /// Does what a client asks; the reply leaves through its way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn submit(&self, from: PeerId, id: u64, body: Request) -> Result<()> {
        let (mut taken, body) = (Err(closed()), self.settled(body));
        self.step(|state| {
            if state.work.is_some() {
                state.core.step(now(), Input::Request { from, id, body }, &mut state.out);
                taken = Ok(());
            }
        });
        taken
    }

    /// The journal of a partition, for reading, and the events that there are.
    ///
    /// # Errors
    /// As `Streams::readable`.
    pub fn journal(&self, place: &Place) -> Result<(Open, Range<u64>)> {
        let (id, events) = self.lock().core.readable(place)?;
        Ok((self.files.journal(id)?, events))
    }

    /// Whether it has closed.
    pub fn is_closed(&self) -> bool {
        self.lock().work.is_none()
    }

    /// Waits for the next deadline, for a second at most, and does what it is time for; false when the service has closed.
    fn tick(&self) -> bool {
        let mut state = self.lock();
        if state.work.is_none() {
            return false;
        }
        let latest = now().after(LATEST);
        state.armed = state.core.next_deadline().map_or(latest, |at| at.min(latest));
        let within = state.armed.since(now()).duration();
        let waited = self.earlier.wait_timeout(state, within);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let due = state.core.next_deadline().is_some_and(|at| at <= now());
        state.armed = Nanos(0);
        drop(state);
        if due {
            self.step(|state| state.core.step(now(), Input::Tick { wall: wall() }, &mut state.out));
        }
        true
    }

    /// Refuses everything from now on, and returns when what was begun has come to its end and the files are closed.
    pub fn close(&self) {
        self.lock().work = None;
        self.earlier.notify_all();
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        for worker in workers {
            if worker.thread().id() != std::thread::current().id() {
                let _ = worker.join();
            }
        }
        self.files.close_all();
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.close();
    }
}

/// Brings what is remembered and the folders of partitions in line; what somebody should know of it. Nothing is deleted but what was
/// to be deleted on request.
///
/// # Errors
/// `Io`, `Full`.
fn reconcile(facts: &mut Facts, partitions: &Path, aside: &Path) -> Result<Vec<String>> {
    let folders = identity::folders(partitions)?;
    let lost = facts.all().is_empty() && !folders.is_empty();
    let mut notes: Vec<String> = facts.damage().iter().map(|e| format!("damage: {}", e.message)).collect();
    if lost {
        notes.push(format!("nothing is known of the partitions in {}", partitions.display()));
    }
    let found = recovered(facts.all(), lost || !facts.damage().is_empty(), &folders);
    for topic in &found.topics {
        notes.push(format!("topic \"{topic}\" was missing, and is made again from its folders"));
    }
    if !found.facts.is_empty() {
        facts.remember(&found.facts, wall())?;
    }
    for id in found.aside {
        let target = identity::put_aside(partitions, aside, id)?;
        notes.push(format!(
            "a folder of no known topic was put aside: {}; thalweg topic repair brings it back where it can",
            target.display()
        ));
    }
    Ok(notes)
}

/// The body and the data of a batch in its producer's outbox.
fn lies<'o>(batch: &Batch, outbox: &'o dyn Outbox) -> Result<Lies<'o>> {
    let Laid { front, data, bytes } = Laid::described(batch);
    let body = outbox.bytes(batch.at, if batch.apart { front } else { bytes })?;
    let data = batch.at.saturating_add(data);
    let apart = batch.apart.then(|| outbox.bytes(data, batch.data_bytes)).transpose()?;
    Ok(Lies { batch: *batch, body, apart })
}
