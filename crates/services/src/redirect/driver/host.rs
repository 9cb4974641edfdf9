//! The host: the state machine behind one lock, and the way out for each process.

use super::super::core::{Config, Input, Output, Redirect};
use super::super::message::{Access, Reply, Request};
use super::contents::Contents;
use super::saver::Saver;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Nanos, Result};
use thalweg_transport::link::{now, Bell};

/// The way of replies to one process.
pub trait Delivery: Send {
    /// Hands over a reply; false when the process does not read.
    fn deliver(&mut self, id: u64, reply: Reply) -> bool;
}

struct State {
    core: Redirect,
    ways: BTreeMap<PeerId, Box<dyn Delivery>>,
    /// Who does not read.
    deaf: Vec<PeerId>,
    next_peer: u64,
    closed: bool,
}

/// One redirect service in this process.
pub struct Host {
    state: Mutex<State>,
    contents: Contents,
    saver: Saver,
    alarm: Bell,
}

impl Host {
    /// Starts one without files.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn start(config: Config) -> Result<Arc<Host>> {
        let state = State {
            core: Redirect::new(config),
            ways: BTreeMap::new(),
            deaf: Vec::new(),
            next_peer: 1,
            closed: false,
        };
        let (contents, saver, alarm) = (Contents::new(config.memory), Saver::start()?, Bell::new()?);
        Ok(Arc::new(Host { state: Mutex::new(state), contents, saver, alarm }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a process in.
    pub fn join(&self, coupling: Name, component: Name, pid: u32, way: Box<dyn Delivery>) -> PeerId {
        let mut state = self.state();
        let peer = PeerId(state.next_peer);
        state.next_peer += 1;
        state.ways.insert(peer, way);
        self.step(&mut state, Input::Joined { peer, coupling, component, pid });
        peer
    }

    /// A process is gone.
    pub fn leave(&self, peer: PeerId) {
        let mut state = self.state();
        state.ways.remove(&peer);
        self.step(&mut state, Input::Gone(peer));
    }

    /// Takes a request.
    pub fn submit(&self, from: PeerId, id: u64, body: Request) {
        self.step(&mut self.state(), Input::Request { from, id, body });
    }

    /// Does what is due; when to call this next, and who does not read.
    pub fn tick(&self) -> (Option<Nanos>, Vec<PeerId>) {
        let mut state = self.state();
        if state.core.deadline().is_some_and(|due| due <= now()) {
            self.step(&mut state, Input::Tick);
        }
        (state.core.deadline(), std::mem::take(&mut state.deaf))
    }

    fn step(&self, state: &mut State, input: Input) {
        let mut out = Vec::new();
        if matches!(&input, Input::Request { body: Request::Open { access: Access::Create { .. }, .. }, .. })
        {
            self.contents.measure_growing();
        }
        state.core.step(now(), Input::Used(self.used()), &mut out);
        state.core.step(now(), input, &mut out);
        let mut failed = BTreeMap::new();
        for output in out {
            match output {
                Output::Make { content, kind } => {
                    if let Err(e) = self.contents.make(content, kind.as_deref()) {
                        failed.insert(content, e);
                    }
                }
                Output::Measure { content } => self.contents.measure(content),
                Output::Drop { content } => self.contents.drop(content),
                Output::Retire { content, kind } => self.contents.retire(content, kind),
                Output::Save { content, path } => {
                    if let Ok(content) = self.contents.get(content) {
                        self.saver.save(content, path);
                    }
                }
                Output::Unsave { path } => self.saver.remove(path),
                Output::Resave { from, to } => self.saver.rename(from, to),
                Output::Send { to, id, reply } => {
                    let reply = match reply {
                        Reply::Opened { content, .. } => {
                            failed.get(&content).cloned().map_or(reply, Reply::Failed)
                        }
                        reply => reply,
                    };
                    if let Some(way) = state.ways.get_mut(&to) {
                        if !way.deliver(id, reply) {
                            state.deaf.push(to);
                        }
                    }
                }
            }
        }
        for content in failed.into_keys() {
            self.step(state, Input::Unmade(content));
        }
    }

    /// What files take: those that can be opened, and those that are still to be written behind memory.
    fn used(&self) -> Bytes {
        Bytes(self.contents.used().0.saturating_add(self.saver.pending().0))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// `NotFound` when it was dropped.
    pub fn content(&self, number: u64) -> Result<Arc<File>> {
        self.contents.get(number)
    }

    /// Files that could not be written, each with its reason.
    pub fn unsaved(&self) -> Vec<String> {
        self.saver.failures()
    }

    /// Rung when `tick` should be called.
    pub fn alarm(&self) -> &Bell {
        &self.alarm
    }

    /// Whether it has closed.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Refuses everything from now on, and blocks until the files are written that are to be.
    pub fn close(&self) {
        self.state().closed = true;
        self.alarm.ring();
        self.saver.finish();
    }
}
