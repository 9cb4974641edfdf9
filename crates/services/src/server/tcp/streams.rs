//! The stream service for one client on another node: one thread takes what it asks, another one sends the answers.

use super::super::streams::Shelf;
use super::STALL;
use crate::envelope::{decode, encode};
use crate::stream::driver::{Delivery, Host, RemoteReply, RemoteRequest, PIECE_MAX};
use crate::stream::message::{Reply, Request};
use crate::stream::Laid;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::journal::{read_data, Follower, Read};
use thalweg_transport::link::{Patience, Stream};

/// Answers that may wait for a client that does not read them.
const ANSWERS_MAX: usize = 4096;

type Answer = (u64, RemoteReply);

struct Way {
    answers: SyncSender<Answer>,
    dead: Arc<AtomicBool>,
}

impl Delivery for Way {
    fn deliver(&mut self, id: u64, reply: Reply) {
        if self.answers.try_send((id, RemoteReply::Answer(reply))).is_err() {
            self.dead.store(true, Ordering::Relaxed);
        }
    }
}

/// Sends answers, until the connection breaks or nobody has any more.
fn send(stream: &Stream, answers: &Receiver<Answer>, sending: &Mutex<()>, dead: &AtomicBool) {
    while let Ok((id, reply)) = answers.recv() {
        let frame =
            encode(id, &reply, Vec::new()).or_else(|e| encode(id, &RemoteReply::Failed(e), Vec::new()));
        let _one_at_a_time = sending.lock().unwrap_or_else(PoisonError::into_inner);
        if frame.and_then(|frame| stream.send(&frame, &[], Patience::of(STALL))).is_err() {
            break;
        }
    }
    dead.store(true, Ordering::Relaxed);
}

struct Connection {
    host: Arc<Host>,
    peer: PeerId,
    stream: Arc<Stream>,
    shelf: Arc<Shelf>,
    /// Held by who sends; what is large is sent at once, so that there is one of it at a time.
    sending: Arc<Mutex<()>>,
    dead: Arc<AtomicBool>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.host.leave(self.peer);
    }
}

/// Serves a client, until it ends or the server closes.
pub(super) fn serve(host: Arc<Host>, stream: Stream) -> Result<()> {
    let (answers, waiting) = sync_channel(ANSWERS_MAX);
    let (stream, dead, shelf) =
        (Arc::new(stream), Arc::new(AtomicBool::new(false)), Arc::new(Shelf::default()));
    let sending = Arc::new(Mutex::new(()));
    let (out, ended, turn) = (stream.clone(), dead.clone(), sending.clone());
    let thread = std::thread::Builder::new().name("thalweg-tcp".into());
    thread.spawn(move || send(&out, &waiting, &turn, &ended)).map_err(|e| Error::io("server", e))?;
    let way = Way { answers, dead: dead.clone() };
    let peer = host.join(Box::new(way), shelf.clone())?;
    let connection = Connection { host, peer, stream, shelf, sending, dead };
    let welcome =
        postcard::to_stdvec(&RemoteReply::Welcome).map_err(|e| Error::new(Kind::Protocol, "server", e))?;
    connection.stream.send(&welcome, &[], Patience::of(STALL))?;
    let mut frame = Vec::new();
    loop {
        let tick = || connection.alive();
        connection.stream.receive(&mut frame, Patience { within: Nanos(u64::MAX), tick: &tick })?;
        let (id, asked) = decode(&frame)?;
        connection.serve(id, asked)?;
    }
}

impl Connection {
    fn alive(&self) -> Result<()> {
        match self.host.is_closed() || self.dead.load(Ordering::Relaxed) {
            true => Err(Error::new(Kind::Gone, "server", "closing, or the client does not read")),
            false => Ok(()),
        }
    }

    fn answer(&self, id: u64, reply: &RemoteReply, bulk: &[u8]) -> Result<()> {
        let frame = encode(id, reply, Vec::new())?;
        let _one_at_a_time = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        self.stream.send(&frame, bulk, Patience { within: STALL, tick: &|| self.alive() })
    }

    fn serve(&self, id: u64, asked: RemoteRequest) -> Result<()> {
        if let RemoteRequest::Ask(body) = asked {
            if let Request::Produce { batch, .. } = &body {
                let bytes = Laid::described(batch).bytes;
                let start = self.shelf.at(batch.at, bytes)?;
                // SAFETY: so many bytes lie there. What is under way there is the client's own, which it harms alone.
                let into = unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) };
                self.stream.bulk(into, Patience { within: STALL, tick: &|| self.alive() })?;
            }
            return self.host.submit(self.peer, id, body);
        }
        match self.look_up(asked) {
            Ok((reply, bulk)) => self.answer(id, &reply, &bulk),
            Err(e) => self.answer(id, &RemoteReply::Failed(e), &[]),
        }
    }

    fn look_up(&self, asked: RemoteRequest) -> Result<(RemoteReply, Vec<u8>)> {
        match asked {
            RemoteRequest::Outbox(bytes) => {
                self.shelf.fill(bytes)?;
                Ok((RemoteReply::Answer(Reply::Done), Vec::new()))
            }
            RemoteRequest::Since { place, time } => {
                let (journal, _) = self.host.journal(&place)?;
                let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                Ok((RemoteReply::Event(journal.first_since(time)?), Vec::new()))
            }
            RemoteRequest::Fetch { place, wanted, until, most } => {
                let (journal, events) = self.host.journal(&place)?;
                let mut locate = |event| journal.lock().unwrap_or_else(PoisonError::into_inner).locate(event);
                let until = until.min(events.end);
                let mut follower = Follower::default();
                let read = follower.read(&mut locate, wanted, until, most.min(PIECE_MAX), Vec::new())?;
                match (read, follower.head()) {
                    (Read::Entries(chunk), Some(head)) => {
                        let reply = RemoteReply::Entries {
                            bytes: chunk.bytes().len() as u64,
                            number: head.number,
                            salt: head.salt,
                            place: chunk.places().start,
                            next: chunk.entry(0).map_or(wanted, |entry| entry.header.first),
                        };
                        Ok((reply, chunk.bytes().to_vec()))
                    }
                    (Read::Damaged { next, why }, _) => Ok((RemoteReply::Damaged { next, why }, Vec::new())),
                    _ => Err(Error::new(Kind::Io, "stream.pull", "nothing was read")),
                }
            }
            RemoteRequest::Data { place, event, range } => {
                let (journal, events) = self.host.journal(&place)?;
                // The disk is read without the lock, which those who append want.
                let locked = || journal.lock().unwrap_or_else(PoisonError::into_inner);
                let mut follower = Follower::default();
                let read =
                    follower.read(&mut |event| locked().locate(event), event, events.end, 1, Vec::new())?;
                let chunk = match read {
                    Read::Entries(chunk) => chunk,
                    Read::Damaged { why, .. } => return Err(why),
                };
                let none = || Error::new(Kind::NotFound, "stream.data", format!("there is no event {event}"));
                let entry = chunk.entry(0).ok_or_else(none)?;
                let all = entry.header.content.data;
                if range.start > range.end || range.end > all || range.end - range.start > PIECE_MAX {
                    let detail = format!("bytes {} to {} of {all}", range.start, range.end);
                    return Err(Error::new(Kind::Invalid, "stream.data", detail));
                }
                let stored = entry.header.stored().ok_or_else(none)?;
                let (number, file) = locked().data_file(stored.start)?;
                let mut bytes = vec![0; (range.end - range.start) as usize];
                read_data(&*file, number, &entry, range, &mut bytes)?;
                Ok((RemoteReply::Bytes(bytes.len() as u64), bytes))
            }
            RemoteRequest::Ask(_) => Err(Error::new(Kind::Protocol, "server", "asked twice")),
        }
    }
}
