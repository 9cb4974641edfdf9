//! The host: the state machine with its memory behind one lock, and the way out for each client.

use super::super::core::{Config, Input, Outcome, Output, PeerId, Staging, Task};
use super::super::message::{Reply, Request, Stats};
use super::memory::Memory;
use super::work::Workers;
use crate::greeting::Hello;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Bell, Control};
use thalweg_transport::memory::Segment;
use thalweg_transport::process;

/// The way of replies to one client.
pub trait Delivery: Send {
    /// Hands over a reply; false when the client cannot take it and must be given up.
    fn deliver(&mut self, id: u64, reply: Reply) -> bool;
}

struct State {
    core: Staging,
    memory: Memory,
    ways: BTreeMap<PeerId, Box<dyn Delivery>>,
    out: Vec<Output>,
    /// Tasks to be given to the workers once the lock is free.
    tasks: Vec<(u64, Task)>,
    broken: Vec<PeerId>,
    armed: Option<Nanos>,
    next_peer: u64,
    closed: bool,
}

/// One staging service in this process.
pub struct Host {
    state: Mutex<State>,
    directory: Arc<Segment>,
    alarm: Bell,
    workers: Arc<Workers>,
    address: Mutex<String>,
    me: Weak<Host>,
    made_in: u32,
}

static HERE: Mutex<BTreeMap<String, Weak<Host>>> = Mutex::new(BTreeMap::new());

impl Host {
    /// The host in this process that listens at `address`.
    pub fn here(address: &str) -> Option<Arc<Host>> {
        let here = HERE.lock().unwrap_or_else(PoisonError::into_inner);
        here.get(address).and_then(Weak::upgrade).filter(|host| host.made_in == process::id())
    }

    /// Lets clients of this process find the host under `address`.
    pub fn known_as(self: &Arc<Host>, address: &str) {
        let mut here = HERE.lock().unwrap_or_else(PoisonError::into_inner);
        here.retain(|_, host| host.strong_count() > 0);
        here.insert(address.to_string(), Arc::downgrade(self));
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address.to_string();
    }

    /// Under which address clients of this node find it.
    pub fn address(&self) -> String {
        self.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An empty service with at most `workers` threads for tasks; `spill` is the folder of its spill file.
    ///
    /// # Errors
    /// `Io` when the system refuses memory, descriptors or the file.
    pub fn new(config: Config, workers: usize, spill: &Path) -> Result<Arc<Host>> {
        let memory = Memory::new(config.slots, config.limit, config.spill.map(|bytes| (spill, bytes)))?;
        let directory = memory.directory().clone();
        let state = State {
            core: Staging::new(config),
            memory,
            ways: BTreeMap::new(),
            out: Vec::new(),
            tasks: Vec::new(),
            broken: Vec::new(),
            armed: None,
            next_peer: 1,
            closed: false,
        };
        let (alarm, state) = (Bell::new()?, Mutex::new(state));
        Ok(Arc::new_cyclic(|me| Host {
            state,
            directory,
            alarm,
            workers: Arc::new(Workers::new(workers)),
            address: Mutex::default(),
            me: me.clone(),
            made_in: process::id(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// A task has come to its end.
    pub(super) fn done(&self, number: u64, outcome: Outcome) {
        self.step(Input::Done { number, outcome }, None);
    }

    /// Rings when `next_deadline` has moved or a client must be given up.
    pub fn alarm(&self) -> &Bell {
        &self.alarm
    }

    /// The directory's memory.
    pub fn directory(&self) -> &Arc<Segment> {
        &self.directory
    }

    /// Segment number `n`.
    ///
    /// # Errors
    /// `Protocol` when there is none.
    pub fn segment(&self, n: u32) -> Result<Arc<Segment>> {
        let state = self.lock();
        let found = state.memory.segment(n).cloned();
        found.ok_or_else(|| Error::new(Kind::Protocol, "stage.segment", format!("there is no segment {n}")))
    }

    /// Takes a client in.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn join(
        &self,
        hello: Hello,
        control: Control,
        takes_spares: bool,
        way: Box<dyn Delivery>,
    ) -> Result<PeerId> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        let peer = PeerId(state.next_peer);
        state.next_peer += 1;
        state.memory.add_client(peer, control);
        state.ways.insert(peer, way);
        self.run(&mut state, Input::Joined { peer, hello, takes_spares }, None);
        self.hand_over(state);
        Ok(peer)
    }

    /// Lets a client go, with everything that it held.
    pub fn leave(&self, peer: PeerId) {
        let mut state = self.lock();
        state.memory.remove_client(peer);
        state.ways.remove(&peer);
        self.run(&mut state, Input::Gone(peer), None);
        self.hand_over(state);
    }

    /// Does what a client asks; the reply leaves through its way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn submit(&self, from: PeerId, id: u64, body: Request) -> Result<()> {
        self.ask_as(from, id, body, None).map(|_| ())
    }

    /// Does what a client of this process asks; the reply if there is one at once, else it leaves through the client's way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn ask(&self, from: PeerId, id: u64, body: Request) -> Result<Option<Reply>> {
        self.ask_as(from, id, body, Some((from, id)))
    }

    fn ask_as(
        &self,
        from: PeerId,
        id: u64,
        body: Request,
        here: Option<(PeerId, u64)>,
    ) -> Result<Option<Reply>> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        let answer = self.run(&mut state, Input::Request { from, id, body }, here);
        self.hand_over(state);
        Ok(answer)
    }

    /// Answers those whose time is up; when to call this next, and whom to give up.
    pub fn tick(&self) -> (Option<Nanos>, Vec<PeerId>) {
        let mut state = self.lock();
        self.run(&mut state, Input::Tick, None);
        state.armed = state.core.next_deadline();
        let next = (state.armed, std::mem::take(&mut state.broken));
        self.hand_over(state);
        next
    }

    fn step(&self, input: Input, here: Option<(PeerId, u64)>) {
        let mut state = self.lock();
        self.run(&mut state, input, here);
        self.hand_over(state);
    }

    /// Gives what the core wants done to the workers, without the lock.
    fn hand_over(&self, mut state: MutexGuard<'_, State>) {
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        let Some(me) = self.me.upgrade().filter(|_| !tasks.is_empty()) else { return };
        for (number, task) in tasks {
            if let Some(outcome) = self.workers.give(&me, number, task) {
                self.done(number, outcome);
            }
        }
    }

    /// Steps the core and performs what it returns; the reply to `here` is given back instead of sent.
    fn run(&self, state: &mut State, input: Input, here: Option<(PeerId, u64)>) -> Option<Reply> {
        let mut answer = None;
        let State { core, memory, ways, out, tasks, broken, armed, .. } = state;
        core.step(now(), input, memory, out);
        let before = broken.len();
        for output in out.drain(..) {
            match output {
                Output::Work { number, task } => tasks.push((number, task)),
                Output::Send { to, id, reply } if here == Some((to, id)) => answer = Some(reply),
                Output::Send { to, id, reply } => {
                    if !ways.get_mut(&to).is_none_or(|way| way.deliver(id, reply)) {
                        broken.push(to);
                    }
                }
            }
        }
        let earlier = match (core.next_deadline(), *armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, None) => next.is_some(),
            (None, _) => false,
        };
        if earlier || broken.len() > before {
            *armed = core.next_deadline();
            self.alarm.ring();
        }
        answer
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.lock().core.stats()
    }

    /// Refuses everything from now on and drops the ways to all clients.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.ways.clear();
        self.workers.close();
        self.alarm.ring();
    }

    /// Whether `close` was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.workers.close();
    }
}

fn closed() -> Error {
    Error::new(Kind::Gone, "stage", "the server has closed")
}
