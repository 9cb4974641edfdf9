//! The staging service for one client on another node, for which it acts in this process.

use super::STALL;
use crate::greeting::Hello;
use crate::staging::driver::{Client, Committed, Host, Identity, RemoteReply, RemoteRequest};
use crate::staging::message::{Publication, Reply, Request, Wish};
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{Patience, Stream};

fn reply(stream: &Stream, reply: &RemoteReply, bulk: &[u8]) -> Result<()> {
    let frame = postcard::to_stdvec(reply).map_err(|e| Error::new(Kind::Protocol, "server", e))?;
    stream.send(&frame, bulk, Patience::of(STALL))
}

struct Connection {
    host: Arc<Host>,
    stream: Stream,
    frame: Vec<u8>,
}

/// Serves the client that said `hello`, until it ends or the server closes.
pub(super) fn serve(host: Arc<Host>, stream: Stream, hello: Hello) -> Result<()> {
    let identity = Identity { name: hello.name, namespace: hello.namespace, token: String::new() };
    let client = Client::acting(host.clone(), identity, hello.pid)?;
    reply(&stream, &RemoteReply::Welcome, &[])?;
    let mut connection = Connection { host, stream, frame: Vec::new() };
    loop {
        let request = connection.next()?;
        connection.answer(&client, request)?;
    }
}

impl Connection {
    /// The next request. An idle connection may stay; what ends it is the client's end or this server's.
    fn next(&mut self) -> Result<RemoteRequest> {
        let host = self.host.clone();
        let tick = || match host.is_closed() {
            true => Err(Error::new(Kind::Gone, "server", "closing")),
            false => Ok(()),
        };
        self.stream.receive(&mut self.frame, Patience { within: Nanos(u64::MAX), tick: &tick })?;
        postcard::from_bytes(&self.frame).map_err(|e| {
            Error::new(Kind::Protocol, "server", format!("{} bytes that are none: {e}", self.frame.len()))
        })
    }

    fn answer(&mut self, client: &Client, request: RemoteRequest) -> Result<()> {
        match request {
            RemoteRequest::Put { what, within } => self.put(client, what, within),
            RemoteRequest::GetRegion { question, within } => {
                match client.region(&question, Patience { within, tick: &|| self.alive() }) {
                    Ok(view) => {
                        let answer = RemoteReply::Region { version: view.version(), layout: *view.layout() };
                        reply(&self.stream, &answer, view.packed()?.bytes())
                    }
                    Err(e) => reply(&self.stream, &RemoteReply::Failed(e), &[]),
                }
            }
            RemoteRequest::Get { key, within } => {
                let got = client.get(key, Patience { within, tick: &|| self.alive() });
                match got {
                    Ok(view) => {
                        // SAFETY: the view keeps the packed bytes of its shape for as long as it lives.
                        let bytes = unsafe {
                            std::slice::from_raw_parts(view.start(), view.shape().size().0 as usize)
                        };
                        reply(&self.stream, &RemoteReply::Value(*view.shape()), bytes)
                    }
                    Err(e) => reply(&self.stream, &RemoteReply::Failed(e), &[]),
                }
            }
            RemoteRequest::Exists { key } => {
                let answer = match client.exists(key, Patience::of(STALL)) {
                    Ok(there) => RemoteReply::Exists(there),
                    Err(e) => RemoteReply::Failed(e),
                };
                reply(&self.stream, &answer, &[])
            }
            RemoteRequest::Ask(body) => {
                let within = match &body {
                    Request::Wait { within, .. } | Request::Describe { within, .. } => *within,
                    Request::Get { within, wish: Wish::Summary { .. } | Wish::Version, .. } => *within,
                    Request::List { .. }
                    | Request::Delete { .. }
                    | Request::DropNamespace
                    | Request::Stats
                    | Request::Define { .. }
                    | Request::Variables { .. }
                    | Request::Annotate { .. }
                    | Request::Seal { .. }
                    | Request::Release { .. }
                    | Request::Versions { .. }
                    | Request::Patterns { .. } => STALL,
                    other => {
                        return Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}")))
                    }
                };
                let answer = match client.ask(body, Patience { within, tick: &|| self.alive() }) {
                    Ok(answer) => answer,
                    Err(e) => Reply::Failed(e),
                };
                reply(&self.stream, &RemoteReply::Answer(answer), &[])
            }
        }
    }

    fn alive(&self) -> Result<()> {
        if self.host.is_closed() || self.stream.ended() {
            return Err(Error::new(Kind::Gone, "server", "nobody waits for this answer"));
        }
        Ok(())
    }

    /// Makes room first, so that the client's end is noticed while it waits, and then receives the bytes straight into it.
    fn put(&self, client: &Client, what: Publication, within: Nanos) -> Result<()> {
        let bytes = what.shape().size().0 as usize;
        let mut loan = match client.lend(what, Patience { within, tick: &|| self.alive() }) {
            Ok(loan) => loan,
            Err(e) => return reply(&self.stream, &RemoteReply::Failed(e), &[]),
        };
        reply(&self.stream, &RemoteReply::Room, &[])?;
        // SAFETY: the loan holds the bytes of its shape, and nobody else sees them.
        let into = unsafe { std::slice::from_raw_parts_mut(loan.start(), bytes) };
        self.stream.bulk(into, Patience::of(STALL))?;
        let answer = match loan.commit(Patience::of(STALL)) {
            Ok(Committed::Now) => RemoteReply::Stored,
            Ok(Committed::Covered) => RemoteReply::Covered,
            Ok(Committed::Before { by }) => RemoteReply::Known { by },
            Err(e) => RemoteReply::Failed(e),
        };
        reply(&self.stream, &answer, &[])
    }
}
