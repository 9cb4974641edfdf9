//! The host: the state machine with its memory behind one lock, and the way out for each client.

use super::super::core::{Config, Input, Output, PeerId, Staging};
use super::super::message::{Hello, Reply, Request, Stats};
use super::memory::Memory;
use std::collections::BTreeMap;
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
    }

    /// An empty service.
    ///
    /// # Errors
    /// `Io` when the system refuses memory or descriptors.
    pub fn new(config: Config) -> Result<Host> {
        let memory = Memory::new(config.slots, config.limit)?;
        let directory = memory.directory().clone();
        let state = State {
            core: Staging::new(config),
            memory,
            ways: BTreeMap::new(),
            out: Vec::new(),
            broken: Vec::new(),
            armed: None,
            next_peer: 1,
            closed: false,
        };
        Ok(Host { state: Mutex::new(state), directory, alarm: Bell::new()?, made_in: process::id() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        Ok(peer)
    }

    /// Lets a client go, with everything that it held.
    pub fn leave(&self, peer: PeerId) {
        let mut state = self.lock();
        state.memory.remove_client(peer);
        state.ways.remove(&peer);
        self.run(&mut state, Input::Gone(peer), None);
    }

    /// Does what a client asks; the reply leaves through its way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn submit(&self, from: PeerId, id: u64, body: Request) -> Result<()> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        self.run(&mut state, Input::Request { from, id, body }, None);
        Ok(())
    }

    /// Does what a client of this process asks; the reply if there is one at once, else it leaves through the client's way.
    ///
    /// # Errors
    /// `Gone` when the service is closing.
    pub fn ask(&self, from: PeerId, id: u64, body: Request) -> Result<Option<Reply>> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        Ok(self.run(&mut state, Input::Request { from, id, body }, Some((from, id))))
    }

    /// Answers those whose time is up; when to call this next, and whom to give up.
    pub fn tick(&self) -> (Option<Nanos>, Vec<PeerId>) {
        let mut state = self.lock();
        self.run(&mut state, Input::Tick, None);
        state.armed = state.core.next_deadline();
        (state.armed, std::mem::take(&mut state.broken))
    }

    /// Steps the core and performs what it returns; the reply to `here` is given back instead of sent.
    fn run(&self, state: &mut State, input: Input, here: Option<(PeerId, u64)>) -> Option<Reply> {
        let mut answer = None;
        let State { core, memory, ways, out, broken, armed, .. } = state;
        core.step(now(), input, memory, out);
        let before = broken.len();
        for Output { to, id, reply } in out.drain(..) {
            if here == Some((to, id)) {
                answer = Some(reply);
            } else if !ways.get_mut(&to).is_none_or(|way| way.deliver(id, reply)) {
                broken.push(to);
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
        self.alarm.ring();
    }

    /// Whether `close` was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }
}

fn closed() -> Error {
    Error::new(Kind::Gone, "stage", "the server has closed")
}
