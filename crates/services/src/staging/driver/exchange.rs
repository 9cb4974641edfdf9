//! How a client that shares memory with the service talks to it: in the same process, or over a channel.

use super::super::core::PeerId;
use super::super::message::{Reply, Request};
use super::host::{Delivery, Host};
use super::wire::{receive_segment, Handshake};
use crate::greeting::Greeting;
use crate::greeting::Hello;
use crate::line::Line;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{Bell, Channel, Control, Correspondence, Patience, Post, Side, Socket};
use thalweg_transport::memory::{Access, Segment};
use thalweg_transport::process;

/// How much longer than the service a client waits for an answer.
const GRACE: Nanos = Nanos(1_000_000_000);

/// Requests to the service and the memory it shares.
pub trait Exchange: Send + Sync {
    /// Asks and waits for the reply.
    ///
    /// # Errors
    /// `Gone`, `Timeout` or what the tick says. A refusal by the service is a reply.
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply>;
    /// Says something to which no reply matters.
    fn tell(&self, body: Request);
    /// Maps a segment.
    ///
    /// # Errors
    /// `Gone`, `Io` or `Protocol`.
    fn segment(&self, number: u32, access: Access) -> Result<Arc<Segment>>;
    /// Whether somebody else prepares the pages of mappings for writing.
    fn prepares_pages(&self) -> bool;
    /// Whether the service is there; looks, and sends no message.
    ///
    /// # Errors
    /// `Gone` when it is not.
    fn alive(&self) -> Result<()>;
    /// The words that client and service share.
    fn control(&self) -> &Control;
    /// The directory's memory, for reading.
    fn directory(&self) -> &Segment;
}

/// The name of a Unix socket in an address `unix:NAME`.
pub fn node_address(address: &str) -> Option<&str> {
    address.strip_prefix("unix:")
}

/// The host and port in an address `tcp:HOST:PORT`.
pub fn tcp_address(address: &str) -> Option<&str> {
    address.strip_prefix("tcp:")
}

/// Whether the service may take its time to answer, so that giving up must be said.
fn may_wait(body: &Request) -> bool {
    matches!(
        body,
        Request::Reserve { .. } | Request::Wait { .. } | Request::Get { .. } | Request::Describe { .. }
    )
}

/// Returns what a late reply carries.
fn give_back(reply: Reply, tell: &dyn Fn(Request)) {
    if let Reply::Granted(grant) = reply {
        tell(Request::Abandon { grant: grant.id });
    }
}

/// The service is in this process.
pub struct Local {
    host: Arc<Host>,
    peer: PeerId,
    made_in: u32,
    desk: Arc<Desk>,
    control: Control,
    directory: Segment,
}

/// Letters to a client in this process, and late ones that must be returned once the service's lock is free.
#[derive(Default)]
struct Desk {
    letters: Correspondence<Reply>,
    late: Mutex<Vec<Reply>>,
}

struct Direct(Arc<Desk>);

impl Delivery for Direct {
    fn deliver(&mut self, id: u64, reply: Reply) -> bool {
        let late = self.0.letters.deliver(id, reply);
        self.0.late.lock().unwrap_or_else(PoisonError::into_inner).extend(late);
        true
    }
}

struct NoPost<'a>(&'a Host);

impl Post<Reply> for NoPost<'_> {
    fn next(&self, _: Patience<'_>) -> Result<Option<(u64, Reply)>> {
        if self.0.is_closed() {
            return Err(Error::new(Kind::Gone, "stage", "the server has closed"));
        }
        Ok(None)
    }
}

impl Local {
    /// Joins the service of `host`; it may stand for a client on another node.
    ///
    /// # Errors
    /// `Gone` when it is closing, `Io` when the system refuses.
    pub fn join(host: Arc<Host>, hello: Hello) -> Result<Local> {
        let control = Control::over(Arc::new(Segment::create(Control::BYTES)?));
        let directory = Segment::map(host.directory().reader()?, host.directory().bytes(), Access::Read)?;
        let desk = Arc::new(Desk::default());
        let peer = host.join(hello, control.clone(), false, Box::new(Direct(desk.clone())))?;
        Ok(Local { host, peer, made_in: process::id(), desk, control, directory })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if process::id() == self.made_in {
            self.host.leave(self.peer);
        }
    }
}

impl Exchange for Local {
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        let letters = &self.desk.letters;
        let may_wait = may_wait(&body);
        let id = letters.open();
        if let Some(at_once) = self.host.ask(self.peer, id, body).transpose() {
            letters.forget(id);
            return at_once;
        }
        let patience = Patience { within: patience.within.after(GRACE), ..patience };
        let answer = letters.wait(id, &NoPost(&self.host), patience, &|_| ());
        if answer.is_err() && may_wait {
            self.tell(Request::Cancel { request: id });
            let late = std::mem::take(&mut *self.desk.late.lock().unwrap_or_else(PoisonError::into_inner));
            late.into_iter().for_each(|reply| give_back(reply, &|body| self.tell(body)));
        }
        answer
    }

    fn tell(&self, body: Request) {
        let _ = self.host.submit(self.peer, 0, body);
    }

    fn segment(&self, number: u32, access: Access) -> Result<Arc<Segment>> {
        let segment = self.host.segment(number)?;
        match access {
            // The service's own mapping, whose pages it prepares.
            Access::Write => Ok(segment),
            Access::Read => Ok(Arc::new(Segment::map(segment.reader()?, segment.bytes(), Access::Read)?)),
        }
    }

    fn prepares_pages(&self) -> bool {
        true
    }

    fn alive(&self) -> Result<()> {
        match self.host.is_closed() {
            true => Err(Error::new(Kind::Gone, "stage", "the server has closed")),
            false => Ok(()),
        }
    }

    fn control(&self) -> &Control {
        &self.control
    }

    fn directory(&self) -> &Segment {
        &self.directory
    }
}

/// The service is in another process of this node.
pub struct Node {
    line: Line<Request, Reply>,
    handing: Mutex<()>,
    directory: Segment,
}

impl Node {
    /// Connects to the service that listens on the Unix socket `name`.
    ///
    /// # Errors
    /// `Gone` when there is none, `Access` when it refuses, `Protocol` when it speaks another version.
    pub fn connect(name: &str, hello: Hello, patience: Patience<'_>) -> Result<Node> {
        let socket = Socket::connect(name, "stage.connect")?;
        socket.set_patience(patience.within.max(Nanos(1_000_000)))?;
        // The token is for TCP: here the kernel says who is who.
        let hello = Hello { token: String::new(), ..hello };
        socket.send(&Greeting::Staging(hello).encode()?, &[])?;
        let (answer, fds) = Handshake::receive(&socket).map_err(|e| Error {
            message: format!("stage.connect: the server on \"unix:{name}\" did not answer ({e})"),
            ..e
        })?;
        let (Handshake::Welcome { directory }, Ok([control, ours, theirs, table])) =
            (&answer, <[_; 4]>::try_from(fds))
        else {
            return Err(match answer {
                Handshake::Refused(e) => e,
                other => Error::new(Kind::Protocol, "stage.connect", format!("unexpected {other:?}")),
            });
        };
        let control = Control::over(Arc::new(Segment::map(control, Control::BYTES, Access::Write)?));
        let directory = Segment::map(table, *directory, Access::Read)?;
        let (ours, theirs) = (Bell::received(ours), Bell::received(theirs));
        let channel = Channel::new(control, Side::Client, ours, theirs, Arc::new(socket))?;
        let line = Line::new(channel, "stage", format!("unix:{name}"));
        Ok(Node { line, handing: Mutex::new(()), directory })
    }
}

impl Exchange for Node {
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        let id = self.line.post(&body, patience)?;
        let answer = self.line.wait(id, patience, &|late| give_back(late, &|body| self.tell(body)));
        if answer.as_ref().is_err_and(|e| e.kind != Kind::Gone) && may_wait(&body) {
            self.tell(Request::Cancel { request: id });
        }
        answer.map_err(|e| self.line.named(e))
    }

    fn tell(&self, body: Request) {
        self.line.tell(body);
    }

    fn segment(&self, number: u32, access: Access) -> Result<Arc<Segment>> {
        let _one_at_a_time = self.handing.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = receive_segment(self.line.channel().socket(), number, access);
        segment.map(Arc::new).map_err(|e| self.line.named(e))
    }

    fn prepares_pages(&self) -> bool {
        false
    }

    fn alive(&self) -> Result<()> {
        self.line.alive()
    }

    fn control(&self) -> &Control {
        self.line.channel().control()
    }

    fn directory(&self) -> &Segment {
        &self.directory
    }
}
