//! The stream service, as it meets its clients on this node.

use super::node::{Hosted, Ringing, Seat};
use crate::envelope::decode;
use crate::greeting::Hello;
use crate::stream::driver::{Delivery, Handshake, Host, Outbox, Whereabouts};
use crate::stream::message::{Reply, Request};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use thalweg_foundation::base::PeerId;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::link::{Bell, Socket};
use thalweg_transport::memory::{available, Segment};

/// Requests beside the rings that may wait; a client that does as it should has few.
const ERRANDS_MAX: usize = 1 << 16;

/// Of one client.
const ERRANDS_OF_ONE: usize = 64;

/// Bytes of all shelves of this process.
static SHELVES: AtomicU64 = AtomicU64::new(0);

/// The memory of a client's batches, once it has asked for some.
#[derive(Debug, Default)]
pub(super) struct Shelf(OnceLock<Segment>);

impl Drop for Shelf {
    fn drop(&mut self) {
        let bytes = self.0.get().map_or(0, |segment| segment.bytes().0);
        SHELVES.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Shelf {
    /// Makes it of `bytes`; all together take at most half of the memory that is there.
    pub fn fill(&self, bytes: Bytes) -> Result<&Segment> {
        let again = || Error::new(Kind::Exists, "stream.produce", "this client has an outbox already");
        let bytes = Bytes(bytes.0.checked_next_multiple_of(4096).unwrap_or(u64::MAX));
        let most = Bytes(available().0 / 2);
        let take = |taken: u64| taken.checked_add(bytes.0).filter(|all| *all <= most.0);
        let taken = SHELVES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if let (Err(taken), _) | (Ok(taken), true) = (taken, bytes == Bytes(0)) {
            let detail = format!(
                "memory of {bytes} for batches under way; {most} are there for all producers, who have {}; \
                 push smaller events, or close producers",
                Bytes(taken)
            );
            return Err(Error::new(Kind::Full, "stream.produce", detail));
        }
        let made = Segment::create(bytes).and_then(|segment| self.0.set(segment).map_err(|_| again()));
        if let Err(e) = made {
            SHELVES.fetch_sub(bytes.0, Ordering::Relaxed);
            return Err(e);
        }
        self.0.get().ok_or_else(again)
    }

    /// The memory at `at`, for writing into it what a client sent.
    pub fn at(&self, at: u64, bytes: u64) -> Result<*mut u8> {
        let none = || Error::new(Kind::Protocol, "stream.produce", "a batch without an outbox");
        self.0.get().ok_or_else(none)?.at(at, Bytes(bytes))
    }
}

impl Outbox for Shelf {
    fn bytes(&self, at: u64, bytes: u64) -> Result<&[u8]> {
        let start = self.at(at, bytes)?;
        // SAFETY: so many bytes lie there in memory that this keeps. A client that writes to a batch which it has handed over
        // harms that batch alone: its check will be wrong.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes as usize) })
    }
}

struct Guest {
    shelf: Arc<Shelf>,
    /// It does not read its replies.
    deaf: Arc<AtomicBool>,
    /// Its errands that wait.
    errands: Arc<AtomicUsize>,
}

/// What a client asks beside its rings.
struct Errand {
    asked: Handshake,
    socket: Arc<Socket>,
    shelf: Arc<Shelf>,
    deaf: Arc<AtomicBool>,
    waiting: Arc<AtomicUsize>,
}

/// The service with what this node's clients need of it.
pub(super) struct Streams {
    host: Arc<Host>,
    alarm: Arc<Bell>,
    guests: Mutex<BTreeMap<PeerId, Guest>>,
    errands: SyncSender<Errand>,
}

struct Way {
    ringing: Ringing,
    deaf: Arc<AtomicBool>,
    alarm: Arc<Bell>,
}

impl Delivery for Way {
    fn deliver(&mut self, id: u64, reply: Reply) {
        if !self.ringing.push(id, &reply, Reply::Failed) {
            self.deaf.store(true, Ordering::Relaxed);
            self.alarm.ring();
        }
    }
}

impl Streams {
    /// What was found when the folder was opened that somebody should know.
    pub fn notes(&self) -> &[String] {
        self.host.notes()
    }

    /// Of `host`.
    pub fn new(host: Arc<Host>) -> Result<Streams> {
        let (errands, doing) = sync_channel(ERRANDS_MAX);
        let alarm = Arc::new(Bell::new()?);
        let clerk = Clerk { host: host.clone(), alarm: alarm.clone(), errands: doing };
        let thread = std::thread::Builder::new().name("thalweg-files".into());
        thread.spawn(move || clerk.run()).map_err(|e| Error::io("server", e))?;
        Ok(Streams { host, alarm, guests: Mutex::default(), errands })
    }

    fn guests(&self) -> MutexGuard<'_, BTreeMap<PeerId, Guest>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosted for Streams {
    fn alarm(&self) -> &Bell {
        &self.alarm
    }

    fn tick(&self) -> (Option<Nanos>, Vec<PeerId>) {
        let guests = self.guests();
        let deaf = guests.iter().filter(|(_, guest)| guest.deaf.load(Ordering::Relaxed));
        (None, deaf.map(|(peer, _)| *peer).collect())
    }

    fn is_closed(&self) -> bool {
        self.host.is_closed()
    }

    fn close(&self) {
        self.host.close();
        self.alarm.ring();
    }

    fn welcome(&self, _: Hello, seat: &Seat<'_>) -> Result<PeerId> {
        seat.welcome(&Handshake::Welcome, &[])?;
        let (shelf, deaf) = (Arc::new(Shelf::default()), Arc::new(AtomicBool::new(false)));
        let way = Way { ringing: seat.way(), deaf: deaf.clone(), alarm: self.alarm.clone() };
        let peer = self.host.join(Box::new(way), shelf.clone())?;
        self.guests().insert(peer, Guest { shelf, deaf, errands: Arc::default() });
        Ok(peer)
    }

    fn message(&self, from: PeerId, message: &[u8]) -> Result<()> {
        let (id, body): (u64, Request) = decode(message)?;
        self.host.submit(from, id, body)
    }

    /// Whoever waits for a disk here would hold up all clients.
    fn packet(&self, from: PeerId, socket: &Arc<Socket>) -> Result<()> {
        let (asked, _) = Handshake::receive(socket)?;
        let guests = self.guests();
        let Some(Guest { shelf, deaf, errands }) = guests.get(&from) else { return Ok(()) };
        if errands.fetch_add(1, Ordering::Relaxed) >= ERRANDS_OF_ONE {
            return Err(Error::new(Kind::Full, "server", "more requests than a client makes"));
        }
        let (socket, shelf, deaf) = (socket.clone(), shelf.clone(), deaf.clone());
        let errand = Errand { asked, socket, shelf, deaf, waiting: errands.clone() };
        let full = |_| Error::new(Kind::Full, "server", "more requests than the server can take");
        self.errands.try_send(errand).map_err(full)
    }

    fn leave(&self, peer: PeerId) {
        self.guests().remove(&peer);
        self.host.leave(peer);
    }
}

/// Does what needs the disk.
struct Clerk {
    host: Arc<Host>,
    alarm: Arc<Bell>,
    errands: Receiver<Errand>,
}

impl Clerk {
    fn run(self) {
        while let Ok(Errand { asked, socket, shelf, deaf, waiting }) = self.errands.recv() {
            waiting.fetch_sub(1, Ordering::Relaxed);
            // The others have been waited for once already on account of this client.
            if deaf.load(Ordering::Relaxed) {
                continue;
            }
            let sent = match self.answer(asked, &shelf) {
                Ok((answer, Some(fd))) => answer.send(&socket, &[fd.as_fd()]),
                Ok((answer, None)) => answer.send(&socket, &[]),
                Err(e) => Handshake::Refused(e).send(&socket, &[]),
            };
            if sent.is_err() {
                deaf.store(true, Ordering::Relaxed);
                self.alarm.ring();
            }
        }
    }

    fn answer(&self, asked: Handshake, shelf: &Shelf) -> Result<(Handshake, Option<OwnedFd>)> {
        match asked {
            Handshake::Outbox { bytes } => {
                let segment = shelf.fill(bytes)?;
                let fd = segment.fd().try_clone_to_owned().map_err(|e| Error::io("stream.produce", e))?;
                Ok((Handshake::Descriptor { bytes: segment.bytes() }, Some(fd)))
            }
            Handshake::Segment { place, event } => {
                let (journal, _) = self.host.journal(&place)?;
                let found = journal.lock().unwrap_or_else(PoisonError::into_inner).locate(event)?;
                let (number, place, next, end) = (found.segment, found.place, found.next, found.end);
                Ok((Handshake::File(Whereabouts { number, place, next, end }), Some(found.file.reader()?)))
            }
            Handshake::Since { place, time } => {
                let (journal, _) = self.host.journal(&place)?;
                let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                Ok((Handshake::Event(journal.first_since(time)?), None))
            }
            Handshake::Data { place, position } => {
                let (journal, _) = self.host.journal(&place)?;
                let found = journal.lock().unwrap_or_else(PoisonError::into_inner).data_file(position);
                let (number, file) = found?;
                let whereabouts = Whereabouts { number, place: 0, next: 0, end: None };
                Ok((Handshake::File(whereabouts), Some(file.reader()?)))
            }
            other => Err(Error::new(Kind::Protocol, "server", format!("unexpected {other:?}"))),
        }
    }
}
