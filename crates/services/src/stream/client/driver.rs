//! A connection to the stream service: what topics there are, and who produces and consumes.

use super::super::definition::{Partition, Topic};
use super::super::message::{Reply, Request, PROTOCOL};
use super::consumer::{Consumer, ConsumerOptions};
use super::link::{unexpected, Connect, Link};
use super::node::Node;
use super::producer::{Producer, ProducerOptions};
use super::remote::Remote;
use crate::greeting::Hello;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Patience};
use thalweg_transport::process;

/// How soon it is tried again to connect to a service that is not there yet.
const RETRY: Nanos = Nanos(50_000_000);

/// Who a client is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// What it calls itself; for messages to people.
    pub name: Name,
    /// The shared secret; needed over TCP.
    pub token: String,
}

/// A connection to the stream service at one address; when the service was started again, it connects again.
pub struct Driver {
    link: Mutex<Arc<dyn Link>>,
    address: String,
    identity: Identity,
    made_in: u32,
}

fn link(address: &str, identity: &Identity, patience: Patience<'_>) -> Result<Arc<dyn Link>> {
    let hello = Hello {
        protocol: PROTOCOL,
        name: identity.name.clone(),
        pid: process::id(),
        namespace: Name::new("stream.connect", "streams")?,
        token: identity.token.clone(),
    };
    if let Some(name) = address.strip_prefix("unix:") {
        return Ok(Arc::new(Node::connect(name, hello, patience)?));
    }
    if let Some(place) = address.strip_prefix("tcp:") {
        return Ok(Arc::new(Remote::connect(place, hello, patience)?));
    }
    let detail = format!("address {address:?}; accepted are unix:NAME and tcp:HOST:PORT");
    Err(Error::new(Kind::Invalid, "stream.connect", detail))
}

impl Driver {
    /// Connects to the service at `address`: `unix:NAME` or `tcp:HOST:PORT`; one that is not there yet is waited for.
    ///
    /// # Errors
    /// `Gone` when nobody answers in time, `Access` when the token is wrong, `Invalid` for an address that is none.
    pub fn connect(address: &str, identity: Identity, patience: Patience<'_>) -> Result<Driver> {
        let deadline = now().after(patience.within);
        loop {
            let left = deadline.since(now());
            match link(address, &identity, Patience { within: left, ..patience }) {
                Ok(link) => {
                    let (link, address) = (Mutex::new(link), address.into());
                    return Ok(Driver { link, address, identity, made_in: process::id() });
                }
                Err(e) if e.kind == Kind::Gone && left > RETRY => {
                    (patience.tick)()?;
                    std::thread::sleep(RETRY.duration());
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// The link, or a new one; a service that was there and is gone is not waited for.
    fn link(&self, patience: Patience<'_>) -> Result<Arc<dyn Link>> {
        process::same(self.made_in, "stream", "driver")?;
        let known = self.link.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.alive().is_ok() {
            return Ok(known);
        }
        let made = link(&self.address, &self.identity, patience)?;
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = made.clone();
        Ok(made)
    }

    fn ask(&self, body: Request, patience: Patience<'_>) -> Result<Reply> {
        self.link(patience)?.ask(body, patience)
    }

    fn done(&self, body: Request, patience: Patience<'_>) -> Result<()> {
        match self.ask(body, patience)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes a topic.
    ///
    /// # Errors
    /// `Exists`, `Invalid`, or why a partition cannot be.
    pub fn create(&self, name: Name, topic: Topic, patience: Patience<'_>) -> Result<()> {
        self.done(Request::Create { name, topic }, patience)
    }

    /// Removes a topic and its events.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete(&self, name: Name, patience: Patience<'_>) -> Result<()> {
        self.done(Request::Delete { name }, patience)
    }

    /// The names of all topics, sorted.
    ///
    /// # Errors
    /// What the link says.
    pub fn topics(&self, patience: Patience<'_>) -> Result<Vec<Name>> {
        match self.ask(Request::List, patience)? {
            Reply::Topics(names) => Ok(names),
            other => Err(unexpected(&other)),
        }
    }

    /// What a topic is, and the events of each partition that there are.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn describe(&self, name: Name, patience: Patience<'_>) -> Result<(Topic, Vec<Range<u64>>)> {
        match self.ask(Request::Describe { name }, patience)? {
            Reply::Topic(topic, events) => Ok((topic, events)),
            other => Err(unexpected(&other)),
        }
    }

    /// Adds a partition to a topic.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `Full`.
    pub fn add_partition(&self, name: Name, partition: Partition, patience: Patience<'_>) -> Result<()> {
        self.done(Request::AddPartition { name, partition }, patience)
    }

    /// A producer of a topic, over a link of its own.
    ///
    /// # Errors
    /// `NotFound`, or what the link says.
    pub fn producer(
        &self,
        topic: Name,
        options: ProducerOptions,
        patience: Patience<'_>,
    ) -> Result<Producer> {
        let (described, _) = self.describe(topic.clone(), patience)?;
        Producer::new(topic, described.partitions.len(), options, self.connecting(), patience)
    }

    /// A member of a named consumer, over a link of its own.
    ///
    /// # Errors
    /// `NotFound`, or what the link says.
    pub fn consumer(
        &self,
        topic: Name,
        options: ConsumerOptions,
        patience: Patience<'_>,
    ) -> Result<Consumer> {
        process::same(self.made_in, "stream", "driver")?;
        Consumer::join(self.connecting(), topic, options, patience)
    }

    /// Makes links of their own.
    fn connecting(&self) -> Connect {
        let (address, identity) = (self.address.clone(), self.identity.clone());
        Box::new(move |patience: Patience<'_>| link(&address, &identity, patience))
    }
}
