//! The client of the staging service, wherever the service is.

use super::super::message::{Entry, Publication, Reply, Request, Stats, PROTOCOL, WAIT_KEYS_MAX};
use super::exchange::{node_address, tcp_address, Local, Node};
use super::host::Host;
use super::remote::Remote;
use super::shared::{Lease, Shared, SharedLoan};
use crate::greeting::Hello;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::array::{gather, scatter, Layout, Region, Shape, Strides};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::memory::Buffer;
use thalweg_transport::process;

/// How soon it is tried again to connect to a service that is not there yet.
const RETRY: Nanos = Nanos(50_000_000);

/// Who a client is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// What it calls itself; for messages to people.
    pub name: Name,
    /// The namespace that all its keys are in.
    pub namespace: Name,
    /// The shared secret; needed over TCP.
    pub token: String,
}

impl Identity {
    fn hello(self) -> Hello {
        let Identity { name, namespace, token } = self;
        Hello { protocol: PROTOCOL, name, pid: process::id(), namespace, token }
    }
}

pub(super) enum Way {
    Shared(Arc<Shared>),
    Remote(Arc<Remote>),
}

/// A connection to one staging service.
pub struct Client {
    way: Way,
    made_in: u32,
    address: String,
    identity: Identity,
    /// Services in the hands of writers that keep their data.
    keepers: Mutex<HashMap<String, Arc<Client>>>,
}

/// The bytes of one version, for reading, as long as this lives.
pub enum View {
    /// In the service's memory.
    Lease(Lease),
    /// Brought from another node.
    Owned(Shape, Buffer),
}

impl View {
    /// The first byte.
    pub fn start(&self) -> *const u8 {
        match self {
            View::Lease(lease) => lease.start(),
            View::Owned(_, buffer) => buffer.start(),
        }
    }

    /// Extents and element type; packed row-major.
    pub fn shape(&self) -> &Shape {
        match self {
            View::Lease(lease) => lease.shape(),
            View::Owned(shape, _) => shape,
        }
    }
}

/// An array in the caller's memory.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Extents and element type.
    pub shape: Shape,
    /// The element at index zero.
    pub start: *mut u8,
    /// Bytes from one element to the next along each axis.
    pub strides: &'a Strides,
}

/// Says what to do when there is no service.
fn start_one(address: &str, within: Nanos, e: Error) -> Error {
    let how = match (node_address(address), tcp_address(address)) {
        (Some(name), _) if e.kind == Kind::Gone => format!("--socket {name}"),
        (_, Some(place)) if e.kind == Kind::Gone => format!("--listen {place} --token TOKEN"),
        _ => return e,
    };
    Error { message: format!("{}, tried for {within}; start one: thalweg serve {how}", e.message), ..e }
}

/// What a commit has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// What was made is there now.
    Now,
    /// Its cells were all there, in other regions.
    Covered,
    /// The same region of that version was there before, and stays as it was.
    Before {
        /// Who put it.
        by: String,
    },
}

impl Committed {
    /// That nothing was put, as an error.
    ///
    /// # Errors
    /// `Exists` when what was put before stays.
    pub(super) fn or_exists(self, key: &Key, region: &Region) -> Result<()> {
        let Committed::Before { by } = self else { return Ok(()) };
        let detail = format!(
            "region {region} of {key} was put before by {by}, and stays as it was; put another version, or give each run a \
             namespace of its own"
        );
        Err(Error::new(Kind::Exists, "stage.put", detail))
    }
}

/// Memory that the caller fills and then commits; given back when dropped without.
pub enum Loan {
    /// In the service's memory.
    Shared(SharedLoan),
    /// To be sent to another node.
    Owned {
        /// Where to; none when the loan has ended.
        remote: Option<Arc<Remote>>,
        /// As what it will be published.
        what: Publication,
        /// The bytes.
        buffer: Buffer,
    },
}

/// The buffer's bytes while something else is told about the buffer.
pub(super) fn bytes_of<'a>(buffer: &mut Buffer) -> &'a mut [u8] {
    let len = buffer.as_slice().len();
    // SAFETY: the bytes stay where they are when the buffer moves; both callers fill them before anybody reads the buffer.
    unsafe { std::slice::from_raw_parts_mut(buffer.start_mut(), len) }
}

impl Loan {
    /// The first byte.
    pub fn start(&mut self) -> *mut u8 {
        match self {
            Loan::Shared(loan) => loan.start(),
            Loan::Owned { buffer, .. } => buffer.start_mut(),
        }
    }

    /// As what it will be published.
    pub fn what(&self) -> &Publication {
        match self {
            Loan::Shared(loan) => loan.what(),
            Loan::Owned { what, .. } => what,
        }
    }

    /// Publishes the array, once. The memory stays mapped until the loan is dropped, but must not be written any more.
    ///
    /// # Errors
    /// `Invalid` when the loan has ended already; `Exists`, `Gone`; over TCP also `Full` and `Timeout`.
    pub fn commit(&mut self, patience: Patience<'_>) -> Result<Committed> {
        match self {
            Loan::Shared(loan) => loan.commit(patience),
            Loan::Owned { remote, what, buffer } => {
                let remote = remote.take().ok_or_else(super::shared::ended)?;
                remote.put(what.clone(), buffer.as_slice(), patience)
            }
        }
    }

    /// Gives the memory back.
    pub fn discard(&mut self) {
        match self {
            Loan::Shared(loan) => loan.discard(),
            Loan::Owned { remote, .. } => *remote = None,
        }
    }
}

impl Client {
    /// Connects to the service at `unix:NAME` or `tcp:HOST:PORT`; one in this process is reached without any socket.
    ///
    /// # Errors
    /// `Invalid` for an address of another form, `Gone` when there is none in time, `Access`, `Protocol`.
    /// # Blocking
    /// Until the service is there.
    pub fn connect(address: &str, identity: Identity, patience: Patience<'_>) -> Result<Client> {
        let deadline = now().after(patience.within);
        loop {
            let left = deadline.since(now());
            match Client::reach(address, identity.clone(), Patience { within: left, ..patience }) {
                Err(e) if e.kind == Kind::Gone && left > Nanos(0) => {
                    std::thread::sleep(left.min(RETRY).duration());
                    (patience.tick)()?;
                }
                done => return done.map_err(|e| start_one(address, patience.within, e)),
            }
        }
    }

    /// Connects to a service that must be there.
    fn reach(address: &str, identity: Identity, patience: Patience<'_>) -> Result<Client> {
        if let Some(host) = Host::here(address) {
            return Client::within(host, identity);
        }
        let (namespace, me) = (identity.namespace.clone(), identity.clone());
        let way = if let Some(name) = node_address(address) {
            Way::Shared(Shared::new(Box::new(Node::connect(name, identity.hello(), patience)?), namespace))
        } else if let Some(place) = tcp_address(address) {
            Way::Remote(Arc::new(Remote::connect(place, identity.hello(), patience)?))
        } else {
            let detail = format!("address {address:?}; accepted are unix:NAME and tcp:HOST:PORT");
            return Err(Error::new(Kind::Invalid, "stage.connect", detail));
        };
        Ok(Client {
            way,
            made_in: process::id(),
            address: address.into(),
            identity: me,
            keepers: Mutex::default(),
        })
    }

    /// Who this client is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where the service is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A connection to the service at `address` in the hands of a writer that keeps its data.
    ///
    /// # Errors
    /// As `connect`.
    pub(super) fn keeper(&self, address: &str, patience: Patience<'_>) -> Result<Arc<Client>> {
        let keepers = || self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = keepers().get(address) {
            return Ok(client.clone());
        }
        // It is on this node, and whoever named it needs no secret of this client's.
        if node_address(address).is_none() {
            let detail = format!("cells kept at {address:?}; accepted is unix:NAME");
            return Err(Error::new(Kind::Protocol, "stage.get", detail));
        }
        let identity = Identity { token: String::new(), ..self.identity.clone() };
        let client = Arc::new(Client::reach(address, identity, patience)?);
        keepers().retain(|_, client| !client.is_gone());
        Ok(keepers().entry(address.into()).or_insert(client).clone())
    }

    fn is_gone(&self) -> bool {
        match &self.way {
            Way::Shared(shared) => shared.is_gone(),
            Way::Remote(_) => false,
        }
    }

    /// Joins the service of this process.
    ///
    /// # Errors
    /// `Gone` when it is closing.
    pub fn within(host: Arc<Host>, identity: Identity) -> Result<Client> {
        Client::join(host, identity, process::id())
    }

    /// Joins the service of this process for a client on another node, whose process is `pid` there.
    ///
    /// # Errors
    /// `Gone` when it is closing.
    pub fn acting(host: Arc<Host>, identity: Identity, pid: u32) -> Result<Client> {
        Client::join(host, identity, pid)
    }

    fn join(host: Arc<Host>, identity: Identity, pid: u32) -> Result<Client> {
        let (namespace, me) = (identity.namespace.clone(), identity.clone());
        let (address, hello) = (host.address(), Hello { pid, ..identity.hello() });
        let way = Way::Shared(Shared::new(Box::new(Local::join(host, hello)?), namespace));
        Ok(Client { way, made_in: process::id(), address, identity: me, keepers: Mutex::default() })
    }

    pub(super) fn way(&self) -> Result<&Way> {
        process::same(self.made_in, "stage", "client").map(|()| &self.way)
    }

    /// Asks the service directly.
    ///
    /// # Errors
    /// What the service or the link says.
    pub fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        match self.way()? {
            Way::Shared(shared) => shared.ask(body, patience),
            Way::Remote(remote) => remote.ask(body, patience),
        }
    }

    /// Copies the array at `from` into the service as `key`: one copy, whatever its strides.
    ///
    /// # Errors
    /// `Exists`, `Full`, `Timeout`, `Gone`, `Shape`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `from` must be readable.
    pub unsafe fn put(
        &self,
        key: Key,
        shape: Shape,
        from: *const u8,
        strides: &Strides,
        replace: bool,
        patience: Patience<'_>,
    ) -> Result<()> {
        if let Way::Remote(remote) = self.way()? {
            if Layout::right(strides.len()).is_of(&shape, strides) {
                // SAFETY: packed memory of that size, by the caller's promise.
                let bytes = unsafe { std::slice::from_raw_parts(from, shape.size().0 as usize) };
                return remote.put(Publication::Array { key, shape, replace }, bytes, patience).map(drop);
            }
        }
        let mut loan = self.loan(key, shape, replace, patience)?;
        // SAFETY: the loan holds `shape.size()` bytes that nobody else sees; the rest is the caller's promise.
        unsafe { gather(&shape, from, strides, loan.start())? };
        loan.commit(patience).map(drop)
    }

    /// Memory for an array of `shape` to be made in place.
    ///
    /// # Errors
    /// `Exists`, `Full`, `Timeout`, `Gone`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    pub fn loan(&self, key: Key, shape: Shape, replace: bool, patience: Patience<'_>) -> Result<Loan> {
        self.lend(Publication::Array { key, shape, replace }, patience)
    }

    /// Memory for what is to be published as `what`.
    ///
    /// # Errors
    /// As `loan`; for a piece also `NotFound`, `Shape`.
    /// # Blocking
    /// When memory is full and the policy is to wait.
    pub fn lend(&self, what: Publication, patience: Patience<'_>) -> Result<Loan> {
        match self.way()? {
            Way::Shared(shared) => shared.loan(what, patience).map(Loan::Shared),
            Way::Remote(remote) => {
                let buffer = Buffer::new("stage.put", what.shape().size())?;
                Ok(Loan::Owned { remote: Some(remote.clone()), what, buffer })
            }
        }
    }

    /// The bytes of `key`, without a copy where memory is shared.
    ///
    /// # Errors
    /// `Timeout` names the key and who is connected; `Full` with too many views; `Gone`.
    /// # Blocking
    /// Until it is put.
    pub fn get(&self, key: Key, patience: Patience<'_>) -> Result<View> {
        match self.way()? {
            Way::Shared(shared) => shared.get(&key, patience).map(View::Lease),
            Way::Remote(remote) => {
                let place = |shape: Shape| {
                    let mut buffer = Buffer::new("stage.get", shape.size())?;
                    let into = bytes_of(&mut buffer);
                    Ok((View::Owned(shape, buffer), into))
                };
                remote.get(key, place, patience)
            }
        }
    }

    /// Copies `key` into `target`, whatever its strides.
    ///
    /// # Errors
    /// `Shape` or `DType` when the target differs; as `get`.
    /// # Blocking
    /// Until it is put.
    ///
    /// # Safety
    /// Every element of the target must be writable, and no two may share memory.
    pub unsafe fn get_into(&self, key: Key, target: Target<'_>, patience: Patience<'_>) -> Result<()> {
        let name = key.to_string();
        if let Way::Remote(remote) = self.way()? {
            if Layout::right(target.strides.len()).is_of(&target.shape, target.strides) {
                let place = |shape: Shape| {
                    agree(&name, &shape, &target.shape)?;
                    // SAFETY: packed writable memory of that size, by the caller's promise.
                    Ok(((), unsafe { std::slice::from_raw_parts_mut(target.start, shape.size().0 as usize) }))
                };
                return remote.get(key, place, patience);
            }
        }
        let view = self.get(key, patience)?;
        agree(&name, view.shape(), &target.shape)?;
        // SAFETY: the view holds the packed array; the rest is the caller's promise.
        unsafe { scatter(view.shape(), view.start(), target.start, target.strides) }
    }

    /// Whether `key` is there now.
    ///
    /// # Errors
    /// What the link says.
    pub fn exists(&self, key: Key, patience: Patience<'_>) -> Result<bool> {
        match self.way()? {
            Way::Shared(shared) => shared.exists(&key, patience),
            Way::Remote(remote) => remote.exists(key, patience),
        }
    }

    /// Waits until all, or any, of `keys` are there; the indices of those that are.
    ///
    /// # Errors
    /// `Timeout` names the first missing key and who is connected; `Invalid` for no key, or more than 512 with `any`.
    /// # Blocking
    /// Until enough are put.
    pub fn wait(&self, keys: &[Key], all: bool, patience: Patience<'_>) -> Result<Vec<u32>> {
        if !all || keys.len() <= WAIT_KEYS_MAX {
            return self.wait_some(keys.to_vec(), all, patience);
        }
        let deadline = now().after(patience.within);
        for part in keys.chunks(WAIT_KEYS_MAX) {
            let left = deadline.since(now());
            self.wait_some(part.to_vec(), true, Patience { within: left, ..patience })?;
        }
        Ok((0..keys.len() as u32).collect())
    }

    fn wait_some(&self, keys: Vec<Key>, all: bool, patience: Patience<'_>) -> Result<Vec<u32>> {
        match self.ask(Request::Wait { keys, all, within: patience.within }, patience)? {
            Reply::Ready(indices) => Ok(indices),
            other => Err(super::shared::unexpected(&other)),
        }
    }

    /// Removes `key`; whether it was there. Views of it stay valid.
    ///
    /// # Errors
    /// What the link says.
    pub fn delete(&self, key: Key, patience: Patience<'_>) -> Result<bool> {
        match self.ask(Request::Delete { key }, patience)? {
            Reply::Deleted(there) => Ok(there),
            other => Err(super::shared::unexpected(&other)),
        }
    }

    /// Everything in the namespace, in order of name and version.
    ///
    /// # Errors
    /// What the link says.
    pub fn list(&self, patience: Patience<'_>) -> Result<Vec<Entry>> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let after = all.last().map(|e| e.key.clone());
            match self.ask(Request::List { after }, patience)? {
                Reply::Entries { entries, more } => {
                    all.extend(entries);
                    if !more {
                        return Ok(all);
                    }
                }
                other => return Err(super::shared::unexpected(&other)),
            }
        }
    }

    /// Removes everything in the namespace; how much it was.
    ///
    /// # Errors
    /// What the link says.
    pub fn drop_namespace(&self, patience: Patience<'_>) -> Result<u64> {
        match self.ask(Request::DropNamespace, patience)? {
            Reply::Dropped(count) => Ok(count),
            other => Err(super::shared::unexpected(&other)),
        }
    }

    /// Counters of the service.
    ///
    /// # Errors
    /// What the link says.
    pub fn stats(&self, patience: Patience<'_>) -> Result<Stats> {
        match self.ask(Request::Stats, patience)? {
            Reply::Stats(stats) => Ok(stats),
            other => Err(super::shared::unexpected(&other)),
        }
    }
}

fn agree(key: &str, have: &Shape, want: &Shape) -> Result<()> {
    if have.dtype() != want.dtype() {
        let detail = format!(
            "{key} holds {}, the given array {}; give one of the same type",
            have.dtype(),
            want.dtype()
        );
        return Err(Error::new(Kind::DType, "stage.get", detail));
    }
    if have.extents() != want.extents() {
        let detail = format!("{key} has shape {have}, the given array {want}; give one of the same shape");
        return Err(Error::new(Kind::Shape, "stage.get", detail));
    }
    Ok(())
}
