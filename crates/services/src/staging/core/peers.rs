//! Clients as the service knows them.

use super::pool::Extent;
use crate::greeting::Hello;
use std::collections::BTreeMap;
use std::fmt;
use thalweg_foundation::base::Name;

/// Memory in a client's hands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub extent: Extent,
    /// Ahead of need: the service may take it back until the client uses it.
    pub spare: bool,
}

/// One client.
#[derive(Debug)]
pub(super) struct Peer {
    pub name: Name,
    pub pid: u32,
    pub namespace: Name,
    pub takes_spares: bool,
    pub grants: BTreeMap<u64, Granted>,
}

impl Peer {
    pub fn new(hello: Hello, takes_spares: bool) -> Peer {
        let Hello { name, pid, namespace, .. } = hello;
        Peer { name, pid, namespace, takes_spares, grants: BTreeMap::new() }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.name, self.pid)
    }
}
