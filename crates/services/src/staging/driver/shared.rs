//! The client that shares memory with the service: what is there it finds and leases by itself, without a message.

use super::super::message::{Grant, Lies, Part, Publication, Reply, Request};
use super::super::{hash, Location};
use super::client::Committed;
use super::exchange::Exchange;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use thalweg_foundation::array::{DType, Shape};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::{Directory, Probe};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience, LEASES_MAX};
use thalweg_transport::memory::{Access, Segment};
use thalweg_transport::process;

/// At least this much is mapped ahead of what is written for the first time.
const AHEAD: u64 = 8 << 20;

type Maps = RwLock<HashMap<u32, Arc<Segment>>>;

#[derive(Default)]
struct Indices {
    used: usize,
    free: Vec<usize>,
}

/// A client's connection to a service on its node.
pub struct Shared {
    exchange: Box<dyn Exchange>,
    namespace: Name,
    made_in: u32,
    readers: Maps,
    writers: Maps,
    leases: Mutex<Indices>,
    spares: Mutex<Vec<Grant>>,
    /// Bytes of the segment whose pages are mapped for writing, or soon will be.
    warm: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lease on the bytes of one version: they stay where and as they are until it is dropped.
pub struct Lease {
    client: Arc<Shared>,
    index: usize,
    start: *const u8,
    shape: Shape,
    _segment: Arc<Segment>,
}

// SAFETY: the bytes behind `start` are read-only and kept by the lease and the segment.
unsafe impl Send for Lease {}
// SAFETY: as above.
unsafe impl Sync for Lease {}

impl Lease {
    /// The first byte.
    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// Extents and element type; packed row-major.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.client.release(self.index);
    }
}

impl Shared {
    /// A client of `namespace` over `exchange`.
    pub fn new(exchange: Box<dyn Exchange>, namespace: Name) -> Arc<Shared> {
        Arc::new(Shared {
            exchange,
            namespace,
            made_in: process::id(),
            readers: Maps::default(),
            writers: Maps::default(),
            leases: Mutex::default(),
            spares: Mutex::default(),
            warm: AtomicU64::new(0),
        })
    }

    /// Whether the service is not there any more.
    pub fn is_gone(&self) -> bool {
        self.exchange.alive().is_err()
    }

    /// Asks the service.
    ///
    /// # Errors
    /// What the service or the link says.
    pub fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        match self.exchange.ask(body, patience)? {
            Reply::Failed(e) => Err(e),
            reply => Ok(reply),
        }
    }

    fn mapped(&self, number: u32, access: Access) -> Result<Arc<Segment>> {
        let maps = match access {
            Access::Read => &self.readers,
            Access::Write => &self.writers,
        };
        if let Some(found) = maps.read().unwrap_or_else(PoisonError::into_inner).get(&number) {
            return Ok(found.clone());
        }
        let segment = self.exchange.segment(number, access)?;
        Ok(maps.write().unwrap_or_else(PoisonError::into_inner).entry(number).or_insert(segment).clone())
    }

    /// Whether a version is there.
    ///
    /// # Errors
    /// `Gone` when nothing is there and the service is not either.
    pub fn exists(&self, key: &Key, patience: Patience<'_>) -> Result<bool> {
        match Directory::over(self.exchange.directory().words()).look(hash(&self.namespace, key), None) {
            Probe::Found(..) => Ok(true),
            // What is there is seen also after the service's end; that nothing is there needs a service.
            Probe::Absent => self.exchange.alive().map(|()| false),
            Probe::Unsure => {
                let body = Request::Wait { keys: vec![key.clone()], all: true, within: Nanos(0) };
                match self.ask(body, patience) {
                    Ok(_) => Ok(true),
                    Err(e) if e.kind == Kind::Timeout => Ok(false),
                    Err(e) => Err(e),
                }
            }
        }
    }

    /// Leases a version if it is there.
    ///
    /// # Errors
    /// `Full` when this client holds 4096 leases, or what the link says while a segment is fetched.
    pub fn lease(self: &Arc<Shared>, key: &Key) -> Result<Option<Lease>> {
        let index = self.lease_index()?;
        let word = self.exchange.control().hazards().word(index);
        let directory = Directory::over(self.exchange.directory().words());
        let Probe::Found(_, payload) = directory.look(hash(&self.namespace, key), Some(word)) else {
            self.release(index);
            return Ok(None);
        };
        self.leased(index, Location::from_payload(&payload)).map(Some)
    }

    /// Leases a part of an answer, whose cells are of `dtype`, if it is still there.
    ///
    /// # Errors
    /// As `lease`; `Protocol` for a part that lies elsewhere.
    pub fn lease_part(self: &Arc<Shared>, part: &Part, dtype: DType) -> Result<Option<Lease>> {
        let Lies::Here { slot, ticket, segment, offset } = part.lies else {
            return Err(Error::new(Kind::Protocol, "stage.get", "this part lies in another service"));
        };
        let index = self.lease_index()?;
        let word = self.exchange.control().hazards().word(index);
        if !Directory::over(self.exchange.directory().words()).lease(slot, ticket, word) {
            self.release(index);
            return Ok(None);
        }
        let shape = Shape::new(dtype, part.region.extents());
        self.leased(index, shape.map(|shape| Location { segment, offset, shape })).map(Some)
    }

    fn lease_index(&self) -> Result<usize> {
        let mut indices = lock(&self.leases);
        match indices.free.pop() {
            Some(index) => Ok(index),
            None if indices.used < LEASES_MAX => {
                indices.used += 1;
                Ok(indices.used - 1)
            }
            None => {
                let detail =
                    format!("{LEASES_MAX} views are held by this client, which is the limit; release some");
                Err(Error::new(Kind::Full, "stage.get", detail))
            }
        }
    }

    /// The lease `index` on what lies at `location`.
    fn leased(self: &Arc<Shared>, index: usize, location: Result<Location>) -> Result<Lease> {
        let mapped = || {
            let Location { segment, offset, shape } = location?;
            let segment = self.mapped(segment, Access::Read)?;
            let start = segment.at(offset, shape.size())?.cast_const();
            Ok((start, shape, segment))
        };
        match mapped() {
            Ok((start, shape, segment)) => {
                Ok(Lease { client: self.clone(), index, start, shape, _segment: segment })
            }
            Err(e) => {
                self.release(index);
                Err(e)
            }
        }
    }

    /// Whether this is a forked child's copy: the words and the link behind it are its parent's, and must not be touched.
    fn is_copy(&self) -> bool {
        process::id() != self.made_in
    }

    fn release(&self, index: usize) {
        if self.is_copy() {
            return;
        }
        let told = self.exchange.control().hazards().release(index);
        lock(&self.leases).free.push(index);
        if told {
            self.exchange.tell(Request::Released);
        }
    }

    /// Leases a version, waiting until it is there.
    ///
    /// # Errors
    /// `Timeout` names the key and who is connected; `Gone`; what the tick says.
    pub fn get(self: &Arc<Shared>, key: &Key, patience: Patience<'_>) -> Result<Lease> {
        let deadline = now().after(patience.within);
        loop {
            if let Some(lease) = self.lease(key)? {
                return Ok(lease);
            }
            let left = deadline.since(now());
            let body = Request::Wait { keys: vec![key.clone()], all: true, within: left };
            self.ask(body, Patience { within: left, ..patience }).map_err(|e| match e.kind {
                Kind::Timeout => relabel(e, patience.within),
                _ => e,
            })?;
        }
    }

    fn grant(&self, bytes: Bytes, what: &Publication, patience: Patience<'_>) -> Result<Grant> {
        let most = bytes.0 + bytes.0 / 8 + 64;
        let mut spares = lock(&self.spares);
        while let Some(at) = spares.iter().position(|g| (bytes.0..=most).contains(&g.bytes.0)) {
            let grant = spares.swap_remove(at);
            if self.exchange.control().spares().take(grant.id) {
                return Ok(grant);
            }
        }
        drop(spares);
        let (key, purpose) = (what.key().clone(), what.purpose());
        match self.ask(Request::Reserve { bytes, key, purpose, within: patience.within }, patience)? {
            Reply::Granted(grant) => Ok(grant),
            other => Err(unexpected(&other)),
        }
    }

    /// Has pages mapped in the background ahead of the memory that this client writes for the first time: one at a time they
    /// cost more than the copy.
    fn warm(&self, segment: &Arc<Segment>, grant: &Grant) {
        let end = grant.offset + grant.bytes.0;
        let warm = self.warm.load(Ordering::Relaxed);
        if end > warm && !self.exchange.prepares_pages() {
            let upto = (end + grant.bytes.0.max(AHEAD)).min(segment.bytes().0);
            self.warm.store(upto, Ordering::Relaxed);
            segment.prefault(warm..upto);
        }
    }

    /// Memory in which an array can be made; it becomes visible with `SharedLoan::commit`.
    ///
    /// # Errors
    /// `Exists`, `Full`, `Timeout` (when full and the policy is to wait), `Gone`.
    pub fn loan(self: &Arc<Shared>, what: Publication, patience: Patience<'_>) -> Result<SharedLoan> {
        let bytes = what.shape().size();
        let grant = self.grant(bytes, &what, patience)?;
        let mut loan =
            SharedLoan { client: self.clone(), grant: Some(grant.id), what, start: std::ptr::null_mut() };
        let segment = self.mapped(grant.segment, Access::Write)?;
        self.warm(&segment, &grant);
        loan.start = segment.at(grant.offset, bytes)?;
        Ok(loan)
    }
}

/// Says the caller's own patience instead of what was left of it.
fn relabel(e: Error, within: Nanos) -> Error {
    let message = match (e.message.find(" was not put within "), e.message.find("; connected")) {
        (Some(from), Some(to)) if from < to => {
            format!("{} was not put within {within}{}", &e.message[..from], &e.message[to..])
        }
        _ => e.message,
    };
    Error { message: message.replacen("stage.wait", "stage.get", 1), ..e }
}

pub(super) fn unexpected(reply: &Reply) -> Error {
    Error::new(Kind::Protocol, "stage", format!("unexpected answer {reply:?}"))
}

/// Granted memory that is being filled; given back when dropped without a commit.
pub struct SharedLoan {
    client: Arc<Shared>,
    grant: Option<u64>,
    what: Publication,
    start: *mut u8,
}

// SAFETY: the memory behind `start` is granted to this loan alone and mapped as long as its client lives.
unsafe impl Send for SharedLoan {}
// SAFETY: shared references give out the address only.
unsafe impl Sync for SharedLoan {}

impl SharedLoan {
    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// As what it will be published.
    pub fn what(&self) -> &Publication {
        &self.what
    }

    /// Publishes the array, once. Nobody may write into it any more.
    ///
    /// # Errors
    /// `Invalid` when the loan has ended already, `Exists` when somebody else put that version meanwhile, `Gone`.
    pub fn commit(&mut self, patience: Patience<'_>) -> Result<Committed> {
        let grant = self.grant.take().ok_or_else(ended)?;
        match self.client.ask(self.what.request(grant), patience)? {
            Reply::Stored { spare } => {
                lock(&self.client.spares).extend(spare);
                Ok(Committed::Now)
            }
            Reply::Covered => Ok(Committed::Covered),
            Reply::Known { by } => Ok(Committed::Before { by }),
            other => Err(unexpected(&other)),
        }
    }
}

impl SharedLoan {
    /// Gives the memory back.
    pub fn discard(&mut self) {
        match self.grant.take() {
            Some(grant) if !self.client.is_copy() => self.client.exchange.tell(Request::Abandon { grant }),
            _ => {}
        }
    }
}

impl Drop for SharedLoan {
    fn drop(&mut self) {
        self.discard();
    }
}

pub(super) fn ended() -> Error {
    Error::new(Kind::Invalid, "stage.put", "this loan has ended already; take a new one")
}
