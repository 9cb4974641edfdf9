//! The link to a service on another node: frames over TCP, events and data as they lie in the journals.

use super::super::driver::{RemoteReply, RemoteRequest};
use super::super::laid::Laid;
use super::super::message::{Batch, Place, Reply, Request};
use super::link::{accepted, unexpected, Link, Source};
use crate::envelope::{decode, encode};
use crate::greeting::{Greeting, Hello};
use std::ops::Range;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Chunk, Entry, Head, Identity, Read, Use};
use thalweg_transport::link::{now, Correspondence, Patience, Post, Stream};
use thalweg_transport::memory::Segment;

/// How much longer than the service a client waits for an answer.
const GRACE: Nanos = Nanos(1_000_000_000);
/// Nothing moves for so long within a message: the other end is gone.
const STALL: Nanos = Nanos(30_000_000_000);
/// Or nothing comes for so long of what was asked for.
const FETCH: Nanos = Nanos(5_000_000_000);
/// Messages that wait for the network; a producer has as many batches under way as it was made for.
const OUTGOING_MAX: usize = 8192;

/// Data are fetched so many bytes at a time; a multiple of what has one check.
const PIECE: u64 = 32 << 20;

/// A link to a service on another node.
#[derive(Clone)]
pub struct Remote(Arc<Shared>);

struct Shared {
    stream: Arc<Stream>,
    outgoing: SyncSender<Outgoing>,
    letters: Correspondence<Reply>,
    outbox: OnceLock<Arc<Segment>>,
    address: String,
    hello: Hello,
    /// A second connection, on which one thing is asked at a time: what it brings is large.
    reading: Mutex<Option<Stream>>,
}

/// A message, and the batch that follows it.
struct Outgoing {
    frame: Vec<u8>,
    bulk: Option<(Arc<Segment>, Batch)>,
}

impl Outgoing {
    fn bulk(&self) -> Result<&[u8]> {
        let Some((outbox, batch)) = &self.bulk else { return Ok(&[]) };
        let bytes = Laid::described(batch).bytes;
        let start = outbox.at(batch.at, Bytes(bytes))?;
        // SAFETY: so many bytes lie there in memory that this keeps; the producer does not change them before the answer, or
        // before the connection has ended.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes as usize) })
    }
}

/// Starts the thread that sends: whoever hands over a message waits for no network.
fn sender(stream: Arc<Stream>) -> Result<SyncSender<Outgoing>> {
    let (outgoing, messages) = sync_channel::<Outgoing>(OUTGOING_MAX);
    let thread = std::thread::Builder::new().name("thalweg-send".into());
    let send = move || {
        for message in messages {
            let sent = message.bulk().and_then(|bulk| stream.send(&message.frame, bulk, Patience::of(STALL)));
            if sent.is_err() {
                // The next frame would be taken for the rest of this one.
                return stream.end();
            }
        }
    };
    thread.spawn(send).map_err(|e| Error::io("stream.connect", e))?;
    Ok(outgoing)
}

fn open(address: &str, hello: &Hello, patience: Patience<'_>) -> Result<Stream> {
    let stream = Stream::connect(address, "stream.connect", patience.within)?;
    stream.send(&Greeting::Streams(hello.clone()).encode()?, &[], patience)?;
    let mut frame = Vec::new();
    stream.receive(&mut frame, Patience { within: patience.within.after(GRACE), ..patience })?;
    match postcard::from_bytes(&frame).map_err(|e| Error::new(Kind::Protocol, "stream.connect", e))? {
        RemoteReply::Welcome => Ok(stream),
        RemoteReply::Failed(e) => Err(e),
        other => Err(unexpected(&other)),
    }
}

impl Remote {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// `Gone` when nobody answers, `Access` when the token is wrong, `Protocol` when it speaks another version.
    pub fn connect(address: &str, hello: Hello, patience: Patience<'_>) -> Result<Remote> {
        let stream = Arc::new(open(address, &hello, patience)?);
        Ok(Remote(Arc::new(Shared {
            outgoing: sender(stream.clone())?,
            stream,
            letters: Correspondence::default(),
            outbox: OnceLock::new(),
            address: address.into(),
            hello,
            reading: Mutex::default(),
        })))
    }
}

impl Shared {
    fn gone(&self) -> Error {
        Error::new(Kind::Gone, "stream", format!("the server at \"tcp:{}\" is gone", self.address))
    }

    fn named(&self, e: Error) -> Error {
        match e.kind {
            Kind::Gone => self.gone(),
            _ => e,
        }
    }

    fn send(&self, id: u64, body: &RemoteRequest, batch: Option<Batch>) -> Result<()> {
        let none = || Error::new(Kind::Invalid, "stream.produce", "a batch without an outbox");
        let outbox = || self.outbox.get().cloned().ok_or_else(none);
        let bulk = batch.map(|batch| Ok((outbox()?, batch))).transpose()?;
        let message = Outgoing { frame: encode(id, body, Vec::new())?, bulk };
        self.outgoing.try_send(message).map_err(|_| {
            self.stream.end();
            self.gone()
        })
    }

    /// Asks on the second connection and receives what follows the answer.
    fn fetch<T>(
        &self,
        body: &RemoteRequest,
        patience: Patience<'_>,
        take: impl FnOnce(RemoteReply, &Stream, Patience<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match reading.take().filter(|stream| !stream.ended()) {
            Some(stream) => stream,
            None => open(&self.address, &self.hello, patience)?,
        };
        let patience = Patience { within: patience.within.max(FETCH), ..patience };
        let named = |e: Error| match e.kind {
            Kind::Timeout => {
                let detail = format!("the server at \"tcp:{}\" sends nothing", self.address);
                Error::new(Kind::Timeout, "stream.pull", detail)
            }
            _ => self.named(e),
        };
        let asked = (|| {
            stream.send(&encode(1, body, Vec::new())?, &[], patience)?;
            let mut frame = Vec::new();
            stream.receive(&mut frame, patience)?;
            decode::<RemoteReply>(&frame)
        })();
        // A connection on which something was left half-way is not used again: what comes next would be taken for the answer.
        match asked.map_err(named)?.1 {
            RemoteReply::Failed(e) => {
                *reading = Some(stream);
                Err(e)
            }
            reply => {
                let taken = take(reply, &stream, patience).map_err(named)?;
                *reading = Some(stream);
                Ok(taken)
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A batch that is on its way may be overwritten when its producer has given up this connection. A consumer's farewell is
        // still sent.
        if self.outbox.get().is_some() {
            self.stream.end();
        }
    }
}

impl Post<Reply> for Shared {
    fn next(&self, patience: Patience<'_>) -> Result<Option<(u64, Reply)>> {
        let deadline = now().after(patience.within);
        while !self.stream.readable(deadline.since(now())) {
            if deadline.since(now()) == Nanos(0) {
                return Err(Error::new(Kind::Timeout, "stream", "no reply in time"));
            }
            (patience.tick)()?;
        }
        let mut frame = Vec::new();
        // What has begun to come comes as a whole.
        self.stream.receive(&mut frame, Patience { within: STALL, ..patience })?;
        match decode::<RemoteReply>(&frame)? {
            (id, RemoteReply::Answer(reply)) => Ok(Some((id, reply))),
            (id, RemoteReply::Failed(e)) => Ok(Some((id, Reply::Failed(e)))),
            (_, other) => Err(unexpected(&other)),
        }
    }
}

impl Link for Remote {
    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        let shared = &*self.0;
        let id = shared.letters.open();
        if let Err(e) = shared.send(id, &RemoteRequest::Ask(body), None) {
            shared.letters.close(id);
            return Err(e);
        }
        let patience = Patience { within: patience.within.after(GRACE), ..patience };
        let answer = shared.letters.wait(id, shared, patience, &|_| ());
        if answer.as_ref().is_err_and(|e| e.kind != Kind::Gone) {
            self.tell(Request::Cancel { request: id });
        }
        answer.map_err(|e| shared.named(e)).and_then(accepted)
    }

    fn tell(&self, body: Request) {
        let _ = self.0.send(0, &RemoteRequest::Ask(body), None);
    }

    fn send(&self, id: u64, body: &Request, _: Patience<'_>) -> Result<()> {
        let batch = match body {
            Request::Produce { batch, .. } => Some(*batch),
            _ => None,
        };
        self.0.send(id, &RemoteRequest::Ask(body.clone()), batch)
    }

    fn next(&self, patience: Patience<'_>) -> Result<(u64, Reply)> {
        let next = Post::next(&*self.0, patience).map_err(|e| self.0.named(e))?;
        next.ok_or_else(|| Error::new(Kind::Timeout, "stream", "no reply"))
    }

    fn outbox(&self, bytes: Bytes, patience: Patience<'_>) -> Result<Arc<Segment>> {
        self.0.send(1 << 63, &RemoteRequest::Outbox(bytes), None)?;
        let (_, reply) = self.next(Patience { within: patience.within.after(GRACE), ..patience })?;
        accepted(reply)?;
        let segment = Arc::new(Segment::create(Bytes(bytes.0.next_multiple_of(4096)))?);
        let _ = self.0.outbox.set(segment.clone());
        Ok(segment)
    }

    fn source(&self, place: &Place) -> Box<dyn Source> {
        Box::new(Far { link: self.0.clone(), place: place.clone() })
    }

    fn first_since(&self, place: &Place, time: Nanos, patience: Patience<'_>) -> Result<u64> {
        let ask = RemoteRequest::Since { place: place.clone(), time };
        self.0.fetch(&ask, patience, |reply, _, _| match reply {
            RemoteReply::Event(next) => Ok(next),
            other => Err(unexpected(&other)),
        })
    }

    fn alive(&self) -> Result<()> {
        match self.0.stream.ended() {
            true => Err(self.0.named(Error::new(Kind::Gone, "stream", ""))),
            false => Ok(()),
        }
    }
}

/// A partition on another node.
struct Far {
    link: Arc<Shared>,
    place: Place,
}

impl Source for Far {
    fn entries(
        &mut self,
        wanted: u64,
        until: u64,
        most: u64,
        mut bytes: Vec<u8>,
        patience: Patience<'_>,
    ) -> Result<Read> {
        let ask = RemoteRequest::Fetch { place: self.place.clone(), wanted, until, most };
        self.link.fetch(&ask, patience, |reply, stream, patience| match reply {
            RemoteReply::Entries { bytes: size, number, salt, place, next } => {
                bytes.resize(size as usize, 0);
                stream.bulk(&mut bytes, patience)?;
                let head = Head { of: Use::Log, journal: Identity([0; 16]), number, salt, made: Nanos(0) };
                Chunk::received(bytes, &head, place, next).map(Read::Entries)
            }
            RemoteReply::Damaged { next, why } => Ok(Read::Damaged { next, why }),
            other => Err(unexpected(&other)),
        })
    }

    fn data(
        &mut self,
        entry: &Entry<'_>,
        range: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        // A piece at a time, of whole chunks.
        let mut at = range.start;
        while at < range.end {
            let end = (at / PIECE * PIECE + PIECE).min(range.end);
            let (here, behind) = ((at - range.start) as usize, (end - range.start) as usize);
            let Some(into) = into.get_mut(here..behind) else {
                return Err(Error::new(Kind::Invalid, "stream.data", "a buffer that is too short"));
            };
            let ask =
                RemoteRequest::Data { place: self.place.clone(), event: entry.header.first, range: at..end };
            self.link.fetch(&ask, patience, |reply, stream, patience| match reply {
                RemoteReply::Bytes(size) if size == into.len() as u64 => stream.bulk(into, patience),
                other => Err(unexpected(&other)),
            })?;
            at = end;
        }
        Ok(())
    }
}
