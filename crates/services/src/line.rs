//! A client's line to a service in another process of its node: the requests of many threads over one channel.

use crate::envelope::{decode, encode};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use thalweg_foundation::{Error, Kind, Nanos, Result};
use thalweg_transport::link::{now, Channel, Correspondence, Patience, Post};

/// How much longer than the service a client waits for an answer.
const GRACE: Nanos = Nanos(1_000_000_000);

/// The line; `Q` is what is asked, `A` what is answered.
#[derive(Debug)]
pub struct Line<Q, A> {
    channel: Channel,
    letters: Correspondence<A>,
    sending: Mutex<()>,
    /// What was to be told while another thread was sending, or the ring was full.
    untold: Mutex<VecDeque<Q>>,
    /// What errors begin with.
    operation: &'static str,
    address: String,
}

impl<Q: Serialize, A: DeserializeOwned> Line<Q, A> {
    /// Over `channel` to the service at `address`.
    pub fn new(channel: Channel, operation: &'static str, address: String) -> Line<Q, A> {
        Line {
            channel,
            letters: Correspondence::default(),
            sending: Mutex::new(()),
            untold: Mutex::default(),
            operation,
            address,
        }
    }

    /// The channel under it.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Sends a request; its number, under which the reply can be waited for. No lock is held while it waits or calls `tick`: a
    /// thread that holds the interpreter's lock may be ending a lease at the same time.
    ///
    /// # Errors
    /// `Gone`, or what the tick says.
    pub fn post(&self, body: &Q, patience: Patience<'_>) -> Result<u64> {
        let id = self.letters.open();
        match self.send(id, body, patience) {
            Ok(()) => Ok(id),
            Err(e) => {
                self.letters.close(id);
                Err(self.named(e))
            }
        }
    }

    /// Sends a request with a number that is the caller's own; the reply comes through `next`.
    ///
    /// # Errors
    /// `Gone`, or what the tick says.
    pub fn send(&self, id: u64, body: &Q, patience: Patience<'_>) -> Result<()> {
        let message = encode(id, body, Vec::new())?;
        let start = now();
        loop {
            {
                let _one_at_a_time = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
                if self.channel.try_send(&message)? {
                    break;
                }
            }
            self.channel.wait_for_room(start, patience)?;
        }
        self.tell_rest();
        Ok(())
    }

    /// Waits for the reply to request `id`; late replies to others that were given up go to `stray`.
    ///
    /// # Errors
    /// `Gone`, `Timeout`, or what the tick says.
    pub fn wait(&self, id: u64, patience: Patience<'_>, stray: &dyn Fn(A)) -> Result<A> {
        let patience = Patience { within: patience.within.after(GRACE), ..patience };
        self.letters.wait(id, self, patience, stray)
    }

    /// Says something to which no reply matters.
    pub fn tell(&self, body: Q) {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).push_back(body);
        self.tell_rest();
    }

    /// Tells what could not be told before, as far as there is room.
    fn tell_rest(&self) {
        let untold = || self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        while !untold().is_empty() {
            let Ok(_one_at_a_time) = self.sending.try_lock() else { return };
            let Some(body) = untold().pop_front() else { return };
            // Id 0 is never expected. A server that is gone needs to be told nothing.
            let sent = encode(0, &body, Vec::new()).and_then(|message| self.channel.try_send(&message));
            if sent == Ok(false) {
                untold().push_front(body);
                return;
            }
        }
    }

    /// The error of a link, with the address of the other end.
    pub fn named(&self, e: Error) -> Error {
        let about = match e.kind {
            Kind::Gone => "is gone",
            Kind::Timeout => "did not answer in time",
            _ => return e,
        };
        Error::new(Kind::Gone, self.operation, format!("the server at \"{}\" {about}", self.address))
    }

    /// Whether the service is there; looks, and sends no message.
    ///
    /// # Errors
    /// `Gone` when it is not.
    pub fn alive(&self) -> Result<()> {
        match self.channel.socket().ended() {
            true => Err(self.named(Error::new(Kind::Gone, self.operation, ""))),
            false => Ok(()),
        }
    }
}

impl<Q: Serialize, A: DeserializeOwned> Post<A> for Line<Q, A> {
    fn next(&self, patience: Patience<'_>) -> Result<Option<(u64, A)>> {
        self.tell_rest();
        let mut buffer = Vec::new();
        self.channel.receive(&mut buffer, patience)?;
        decode(&buffer).map(Some)
    }
}
