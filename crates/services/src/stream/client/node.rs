//! The link to a service on this node: rings, an outbox in shared memory, and the very files of the journals.

use super::super::driver::{Handshake, Whereabouts};
use super::super::message::{Place, Reply, Request};
use super::link::{accepted, unexpected, Link, Source};
use crate::greeting::{Greeting, Hello};
use crate::line::Line;
use rustix::fd::OwnedFd;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{read_data, received, Entry, File, Follower, Located, Read};
use thalweg_transport::link::{Bell, Channel, Control, Patience, Post, Side, Socket};
use thalweg_transport::memory::{Access, Segment};

/// A link to a service on this node.
#[derive(Clone)]
pub struct Node(Arc<Shared>);

struct Shared {
    line: Line<Request, Reply>,
    /// One request beside the rings at a time.
    handing: Mutex<()>,
}

impl Node {
    /// Connects to the service that listens on the Unix socket `name`.
    ///
    /// # Errors
    /// `Gone` when there is none, `Access` when it refuses, `Protocol` when it speaks another version.
    pub fn connect(name: &str, hello: Hello, patience: Patience<'_>) -> Result<Node> {
        let socket = Socket::connect(name, "stream.connect")?;
        socket.set_patience(patience.within.max(Nanos(1_000_000)))?;
        // The token is for TCP: here the kernel says who is who.
        let hello = Hello { token: String::new(), ..hello };
        socket.send(&Greeting::Streams(hello).encode()?, &[])?;
        let (answer, fds) = Handshake::receive(&socket).map_err(|e| Error {
            message: format!("stream.connect: the server on \"unix:{name}\" did not answer ({e})"),
            ..e
        })?;
        let (Handshake::Welcome, Ok([control, ours, theirs])) = (&answer, <[_; 3]>::try_from(fds)) else {
            return Err(refusal(answer));
        };
        let control = Control::over(Arc::new(Segment::map(control, Control::BYTES, Access::Write)?));
        let (ours, theirs) = (Bell::received(ours), Bell::received(theirs));
        let channel = Channel::new(control, Side::Client, ours, theirs, Arc::new(socket))?;
        let line = Line::new(channel, "stream", format!("unix:{name}"));
        Ok(Node(Arc::new(Shared { line, handing: Mutex::new(()) })))
    }
}

fn refusal(answer: Handshake) -> Error {
    match answer {
        Handshake::Refused(e) => e,
        other => unexpected(&other),
    }
}

impl Shared {
    fn errand(&self, asked: &Handshake) -> Result<(Handshake, Vec<OwnedFd>)> {
        let _one_at_a_time = self.handing.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = self.line.channel().socket();
        let said = asked.send(socket, &[]).and_then(|()| Handshake::receive(socket));
        said.map_err(|e| self.line.named(e))
    }

    fn file(&self, asked: &Handshake) -> Result<(Whereabouts, OwnedFd)> {
        match self.errand(asked)? {
            (Handshake::File(whereabouts), mut fds) if fds.len() == 1 => Ok((whereabouts, fds.remove(0))),
            (other, _) => Err(refusal(other)),
        }
    }
}

impl Link for Node {
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        let line = &self.0.line;
        let id = line.post(&body, patience)?;
        let answer = line.wait(id, patience, &|_| ());
        if answer.as_ref().is_err_and(|e| e.kind != Kind::Gone) {
            line.tell(Request::Cancel { request: id });
        }
        match answer {
            Ok(reply) => accepted(reply),
            Err(e) if matches!(body, Request::Poll { .. }) && e.kind == Kind::Timeout => Err(e),
            Err(e) => Err(line.named(e)),
        }
    }

    fn tell(&self, body: Request) {
        self.0.line.tell(body);
    }

    fn send(&self, id: u64, body: &Request, patience: Patience<'_>) -> Result<()> {
        self.0.line.send(id, body, patience).map_err(|e| self.0.line.named(e))
    }

    fn next(&self, patience: Patience<'_>) -> Result<(u64, Reply)> {
        let next = self.0.line.next(patience)?;
        next.ok_or_else(|| Error::new(Kind::Timeout, "stream", "no reply"))
    }

    fn outbox(&self, bytes: Bytes, _: Patience<'_>) -> Result<Arc<Segment>> {
        match self.0.errand(&Handshake::Outbox { bytes })? {
            (Handshake::Descriptor { bytes }, mut fds) if fds.len() == 1 => {
                Segment::map(fds.remove(0), bytes, Access::Write).map(Arc::new)
            }
            (other, _) => Err(refusal(other)),
        }
    }

    fn source(&self, place: &Place) -> Box<dyn Source> {
        Box::new(Files {
            link: self.0.clone(),
            place: place.clone(),
            follower: Follower::default(),
            data: None,
        })
    }

    fn first_since(&self, place: &Place, time: Nanos, _: Patience<'_>) -> Result<u64> {
        match self.0.errand(&Handshake::Since { place: place.clone(), time })?.0 {
            Handshake::Event(next) => Ok(next),
            other => Err(refusal(other)),
        }
    }

    fn alive(&self) -> Result<()> {
        self.0.line.alive()
    }
}

/// The files of a partition.
struct Files {
    link: Arc<Shared>,
    place: Place,
    follower: Follower,
    /// The data file that was read last.
    data: Option<(u64, Arc<dyn File>)>,
}

fn locate(link: &Shared, partition: &Place, event: u64) -> Result<Located> {
    let asked = Handshake::Segment { place: partition.clone(), event };
    let (Whereabouts { number, place, next, end }, fd) = link.file(&asked)?;
    let file = received(fd, &format!("segment {number} of partition {}", partition.partition));
    Ok(Located { file, segment: number, place, next, end })
}

impl Files {
    fn data_file(&mut self, position: u64, end: u64) -> Result<(u64, Arc<dyn File>)> {
        if let Some((number, file)) = &self.data {
            // The next file may have been begun since: then this one ends before.
            if *number <= position && file.bytes()? >= end.saturating_sub(*number) + 4096 {
                return Ok((*number, file.clone()));
            }
        }
        let asked = Handshake::Data { place: self.place.clone(), position };
        let (Whereabouts { number, .. }, fd) = self.link.file(&asked)?;
        let file = received(fd, &format!("data {number} of partition {}", self.place.partition));
        Ok(self.data.insert((number, file)).clone())
    }
}

impl Source for Files {
    fn entries(
        &mut self,
        wanted: u64,
        until: u64,
        most: u64,
        bytes: Vec<u8>,
        _: Patience<'_>,
    ) -> Result<Read> {
        let Files { link, place, follower, .. } = self;
        follower.read(&mut |event| locate(link, place, event), wanted, until, most, bytes)
    }

    fn data(&mut self, entry: &Entry<'_>, range: Range<u64>, into: &mut [u8], _: Patience<'_>) -> Result<()> {
        let Some(stored) = entry.header.stored().filter(|stored| !stored.is_empty()) else { return Ok(()) };
        let (number, file) = self.data_file(stored.start, stored.end)?;
        read_data(&*file, number, entry, range, into)
    }
}
