//! A process's connection to the redirect service.

use super::driver::Handshake;
use super::message::{Access, Hole, Reply, Request, Wrote, PROTOCOL};
use super::rule::Rule;
use crate::greeting::{Greeting, Hello};
use crate::line::Line;
use rustix::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{Bell, Channel, Control, Patience, Side, Socket};
use thalweg_transport::memory::{Access as Mapping, Segment};
use thalweg_transport::process;

/// How long to wait for an answer that waits for no other component.
const SOON: Nanos = Nanos(30_000_000_000);

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// This is no turn: only a glance before one, or between its calls.
    pub glance: bool,
    /// What is not there is not waited for, except for a turn.
    pub at_once: bool,
    /// The bytes of an earlier file of its kind will do, as the caller overwrites them: their memory is at hand.
    pub warm: bool,
}

/// A file that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The number under which it is closed.
    pub number: u64,
    /// Its bytes: a descriptor with a position of its own, which is closed when the program is executed anew.
    pub bytes: OwnedFd,
    /// Whether it was there before.
    pub existed: bool,
}

/// A connection to the redirect service on this node.
pub struct Client {
    line: Line<Request, Reply>,
    /// One request beside the rings at a time.
    handing: Mutex<()>,
    made_in: u32,
}

impl Client {
    /// Connects to the service at `address`, `unix:NAME`, as a process of `component` in `coupling`.
    ///
    /// # Errors
    /// `Gone` when there is none, `Access` when it refuses, `Protocol` when it speaks another version, `Invalid` for an address
    /// that is none.
    pub fn connect(address: &str, coupling: Name, component: Name, within: Nanos) -> Result<Client> {
        let name = address.strip_prefix("unix:").ok_or_else(|| {
            let detail = format!("address {address:?}; accepted is unix:NAME");
            Error::new(Kind::Invalid, "redirect.connect", detail)
        })?;
        let socket = Socket::connect(name, "redirect.connect")?;
        socket.set_patience(within.max(Nanos(1_000_000)))?;
        let token = String::new();
        let pid = process::id();
        let hello = Hello { protocol: PROTOCOL, name: component, pid, namespace: coupling, token };
        socket.send(&Greeting::Redirect(hello).encode()?, &[])?;
        let (answer, fds) = Handshake::receive(&socket)?;
        let (Handshake::Welcome, Ok([control, ours, theirs])) = (&answer, <[_; 3]>::try_from(fds)) else {
            return Err(refusal(answer));
        };
        let control = Control::over(Arc::new(Segment::map(control, Control::BYTES, Mapping::Write)?));
        let (ours, theirs) = (Bell::received(ours), Bell::received(theirs));
        let channel = Channel::new(control, Side::Client, ours, theirs, Arc::new(socket))?;
        let line = Line::new(channel, "redirect", address.to_string());
        Ok(Client { line, handing: Mutex::new(()), made_in: pid })
    }

    fn ask(&self, body: Request, within: Nanos) -> Result<Reply> {
        process::same(self.made_in, "redirect", "client")?;
        let patience = Patience::of(within);
        let id = self.line.post(&body, patience)?;
        let answer = self.line.wait(id, patience, &|_| ());
        if answer.as_ref().is_err_and(|e| e.kind != Kind::Gone) {
            self.line.tell(Request::Cancel { request: id });
        }
        match answer.map_err(|e| self.line.named(e))? {
            Reply::Failed(e) => Err(e),
            reply => Ok(reply),
        }
    }

    /// Opens the file at `path`, an absolute path. Blocks until it is this component's turn, or until other components have
    /// written it, at most for the rule's deadline.
    ///
    /// # Errors
    /// `Timeout`, `NotFound`, `Exists`, `Access` for a component without a turn; `Gone` when another component failed.
    pub fn open(&self, path: &str, rule: Rule, access: Access, how: How) -> Result<Opened> {
        let within = rule.deadline.after(SOON);
        let How { glance, at_once, warm } = how;
        match self.ask(Request::Open { path: path.into(), rule, access, glance, at_once, warm }, within)? {
            Reply::Opened { opened, content, existed } => match self.bytes(content) {
                Ok(bytes) => Ok(Opened { number: opened, bytes, existed }),
                Err(e) => {
                    self.line.tell(Request::Close { opened });
                    Err(e)
                }
            },
            other => Err(unexpected(&other)),
        }
    }

    /// The bytes of a file that is there; blocks until it is this component's turn, where there are turns.
    ///
    /// # Errors
    /// `NotFound`, and as `open`.
    pub fn find(&self, path: &str, rule: Rule) -> Result<OwnedFd> {
        let within = rule.deadline.after(SOON);
        match self.ask(Request::Find { path: path.into(), rule }, within)? {
            Reply::Found { content } => self.bytes(content),
            other => Err(unexpected(&other)),
        }
    }

    /// Closes what was opened.
    ///
    /// # Errors
    /// What became of the file, when another process failed.
    pub fn close(&self, opened: u64) -> Result<()> {
        self.done(Request::Close { opened })
    }

    /// Closes what was opened, for others: the caller still looks at it, and closes it later.
    ///
    /// # Errors
    /// As `close`.
    pub fn hand_over(&self, opened: u64) -> Result<()> {
        self.done(Request::HandOver { opened })
    }

    /// Tells what was written of a file that is open for writing. More may follow; who closes one without it may have
    /// written all of it.
    ///
    /// # Errors
    /// `Invalid` for a number that is not open.
    pub fn wrote(&self, opened: u64, variables: Vec<Wrote>) -> Result<()> {
        self.done(Request::Wrote { opened, variables })
    }

    /// What nobody has written of a file that is open, at most `HOLES_MAX` regions; none for a component that wrote some of it.
    ///
    /// # Errors
    /// `Invalid` for a number that is not open.
    pub fn holes(&self, opened: u64) -> Result<Vec<Hole>> {
        match self.ask(Request::Holes { opened }, SOON)? {
            Reply::Holes(holes) => Ok(holes),
            other => Err(unexpected(&other)),
        }
    }

    /// Tells that this component cannot go on, so that those hear of it that exchange files with it.
    ///
    /// # Errors
    /// As the link says.
    pub fn fail(&self, why: String) -> Result<()> {
        self.done(Request::Fail { why })
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove(&self, path: &str) -> Result<()> {
        self.done(Request::Remove { path: path.into() })
    }

    /// Renames a file to what matches `rule`; one that had the new name is gone.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn rename(&self, from: &str, to: &str, rule: Rule) -> Result<()> {
        self.done(Request::Rename { from: from.into(), to: to.into(), rule })
    }

    /// Tells that a component has ended, and which are still running.
    ///
    /// # Errors
    /// As the link says.
    pub fn ended(&self, component: Name, running: Vec<Name>, failure: Option<String>) -> Result<()> {
        self.done(Request::Ended { component, running, failure })
    }

    fn done(&self, body: Request) -> Result<()> {
        match self.ask(body, SOON)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn bytes(&self, content: u64) -> Result<OwnedFd> {
        let _one_at_a_time = self.handing.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = self.line.channel().socket();
        let said = Handshake::Content(content).send(socket, &[]).and_then(|()| Handshake::receive(socket));
        match said.map_err(|e| self.line.named(e))? {
            (Handshake::Descriptor, mut fds) if fds.len() == 1 => Ok(fds.remove(0)),
            (Handshake::Descriptor, _) => Err(Error::new(
                Kind::Full,
                "redirect.open",
                "this process has as many files open as it may; close some, or raise the limit (ulimit -n)",
            )),
            (other, _) => Err(refusal(other)),
        }
    }
}

fn unexpected(reply: &impl std::fmt::Debug) -> Error {
    Error::new(Kind::Protocol, "redirect", format!("unexpected answer {reply:?}"))
}

fn refusal(answer: Handshake) -> Error {
    match answer {
        Handshake::Refused(e) => e,
        other => unexpected(&other),
    }
}
