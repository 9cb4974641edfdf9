//! The client on another node: the same requests over TCP, bulk bytes straight from and into their place.

use super::super::message::{Publication, Question, Reply, Request};
use super::client::Committed;
use super::wire::{RemoteReply, RemoteRequest};
use crate::greeting::{Greeting, Hello};
use std::sync::{Mutex, PoisonError};
use thalweg_foundation::array::{Layout, Shape};
use thalweg_foundation::base::Key;
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::{Patience, Stream};

/// Idle connections that are kept.
const IDLE_MAX: usize = 8;
/// How much longer than the service a client waits for an answer.
const GRACE: Nanos = Nanos(5_000_000_000);

/// A client's connections to a service on another node: one for each request under way.
pub struct Remote {
    address: String,
    hello: Hello,
    idle: Mutex<Vec<Stream>>,
}

impl Remote {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// `Gone` when nobody answers, `Access` when the token is wrong, `Protocol` when it speaks another version.
    pub fn connect(address: &str, hello: Hello, patience: Patience<'_>) -> Result<Remote> {
        let remote = Remote { address: address.to_string(), hello, idle: Mutex::default() };
        let stream = remote.open(patience)?;
        remote.put_back(stream);
        Ok(remote)
    }

    fn open(&self, patience: Patience<'_>) -> Result<Stream> {
        let stream = Stream::connect(&self.address, "stage.connect", patience.within)?;
        match said(&stream, &Greeting::Staging(self.hello.clone()).encode()?, patience)? {
            RemoteReply::Welcome => Ok(stream),
            RemoteReply::Failed(e) => Err(e),
            other => Err(unexpected(&other)),
        }
    }

    fn put_back(&self, stream: Stream) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(stream);
        }
    }

    /// Runs `talk` on a connection of its own; a connection on which it failed half-way is not used again.
    fn with<T>(&self, patience: Patience<'_>, talk: impl FnOnce(&Stream) -> Result<(T, bool)>) -> Result<T> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stream = match kept.filter(|s| !s.ended()) {
            Some(stream) => stream,
            None => self.open(patience).map_err(|e| self.named(e))?,
        };
        match talk(&stream) {
            Ok((value, sound)) => {
                if sound {
                    self.put_back(stream);
                }
                Ok(value)
            }
            Err(e) => Err(self.named(e)),
        }
    }

    /// Errors of the link name the server. The service's own time-outs come as answers; one that is met here is the link's.
    fn named(&self, e: Error) -> Error {
        let why = match e.kind {
            Kind::Gone => "is gone",
            Kind::Timeout => "did not answer in time",
            _ => return e,
        };
        Error::new(Kind::Gone, "stage", format!("the server at \"tcp:{}\" {why}", self.address))
    }

    fn talk(&self, request: &RemoteRequest, patience: Patience<'_>) -> Result<RemoteReply> {
        self.with(patience, |stream| {
            let reply = exchange(stream, request, patience)?;
            Ok((reply, true))
        })
        .and_then(|reply| match reply {
            RemoteReply::Failed(e) => Err(e),
            reply => Ok(reply),
        })
    }

    /// Asks the service.
    ///
    /// # Errors
    /// What the service or the link says.
    pub fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        match self.talk(&RemoteRequest::Ask(body), patience)? {
            RemoteReply::Answer(Reply::Failed(e)) => Err(e),
            RemoteReply::Answer(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    /// Publishes `bytes`, packed, as `what`.
    ///
    /// # Errors
    /// `Exists`, `Full`, `Timeout`, `Gone`.
    pub fn put(&self, what: Publication, bytes: &[u8], patience: Patience<'_>) -> Result<Committed> {
        let request = RemoteRequest::Put { what, within: patience.within };
        self.with(patience, |stream| match exchange(stream, &request, patience)? {
            RemoteReply::Room => {
                stream.bulk_out(bytes, with_grace(patience))?;
                match answer(stream, patience)? {
                    RemoteReply::Stored => Ok((Ok(Committed::Now), true)),
                    RemoteReply::Covered => Ok((Ok(Committed::Covered), true)),
                    RemoteReply::Known { by } => Ok((Ok(Committed::Before { by }), true)),
                    RemoteReply::Failed(e) => Ok((Err(e), true)),
                    other => Err(unexpected(&other)),
                }
            }
            RemoteReply::Failed(e) => Ok((Err(e), true)),
            other => Err(unexpected(&other)),
        })?
    }

    /// Gets a region, packed, waiting until it is complete. `place` is told the layout and gives the memory for its bytes.
    ///
    /// # Errors
    /// `Timeout`, `Gone`, or what `place` says.
    pub fn get_region<'p, T>(
        &self,
        question: Question,
        place: impl FnOnce(Layout) -> Result<(T, &'p mut [u8])>,
        patience: Patience<'_>,
    ) -> Result<(Version, T)> {
        let request = RemoteRequest::GetRegion { question, within: patience.within };
        self.with(patience, |stream| match exchange(stream, &request, patience)? {
            RemoteReply::Region { version, layout } => match place(layout) {
                Ok((value, into)) => {
                    stream.bulk(into, with_grace(patience))?;
                    Ok((Ok((version, value)), true))
                }
                Err(e) => Ok((Err(e), false)),
            },
            RemoteReply::Failed(e) => Ok((Err(e), true)),
            other => Err(unexpected(&other)),
        })?
    }

    /// Whether a version is there.
    ///
    /// # Errors
    /// What the link says.
    pub fn exists(&self, key: Key, patience: Patience<'_>) -> Result<bool> {
        match self.talk(&RemoteRequest::Exists { key }, patience)? {
            RemoteReply::Exists(there) => Ok(there),
            other => Err(unexpected(&other)),
        }
    }

    /// Gets a version, waiting until it is there. `place` is told the shape and gives the memory for its bytes.
    ///
    /// # Errors
    /// `Timeout`, `Gone`, or what `place` says.
    pub fn get<'p, T>(
        &self,
        key: Key,
        place: impl FnOnce(Shape) -> Result<(T, &'p mut [u8])>,
        patience: Patience<'_>,
    ) -> Result<T> {
        self.with(patience, |stream| {
            match exchange(stream, &RemoteRequest::Get { key, within: patience.within }, patience)? {
                RemoteReply::Value(shape) => match place(shape) {
                    Ok((value, into)) => {
                        stream.bulk(into, with_grace(patience))?;
                        Ok((Ok(value), true))
                    }
                    Err(e) => Ok((Err(e), false)),
                },
                RemoteReply::Failed(e) => Ok((Err(e), true)),
                other => Err(unexpected(&other)),
            }
        })?
    }
}

fn with_grace(patience: Patience<'_>) -> Patience<'_> {
    Patience { within: patience.within.after(GRACE), ..patience }
}

fn protocol(e: postcard::Error) -> Error {
    Error::new(Kind::Protocol, "stage.message", e)
}

fn exchange(stream: &Stream, request: &RemoteRequest, patience: Patience<'_>) -> Result<RemoteReply> {
    said(stream, &postcard::to_stdvec(request).map_err(protocol)?, patience)
}

fn said(stream: &Stream, frame: &[u8], patience: Patience<'_>) -> Result<RemoteReply> {
    stream.send(frame, &[], with_grace(patience))?;
    answer(stream, patience)
}

fn answer(stream: &Stream, patience: Patience<'_>) -> Result<RemoteReply> {
    let mut frame = Vec::new();
    stream.receive(&mut frame, with_grace(patience))?;
    postcard::from_bytes(&frame).map_err(protocol)
}

fn unexpected(reply: &RemoteReply) -> Error {
    Error::new(Kind::Protocol, "stage", format!("unexpected answer {reply:?}"))
}
