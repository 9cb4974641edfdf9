//! A stage: one service, or several that share the domain of every variable between them.

use super::super::message::{Entry, Reply, Request, Stats};
use super::super::Definition;
use super::client::{Client, Identity};
use super::shared::unexpected;
use super::variable::{Kept, Variable};
use std::collections::BTreeSet;
use std::sync::Arc;
use thalweg_foundation::array::{Decomposition, Extents, Region};
use thalweg_foundation::base::{Key, Name, Rank};
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::link::{now, Patience};
use xxhash_rust::xxh3::xxh3_64;

/// The most services of one stage.
const SERVICES_MAX: usize = 1024;

/// Connections to the services that together hold all variables. Every client must name the same services in the same order.
#[derive(Clone)]
pub struct Stage {
    clients: Arc<[Arc<Client>]>,
    kept: Arc<Kept>,
}

impl Stage {
    /// Connects to the services at `addresses`, which commas separate.
    ///
    /// # Errors
    /// `Invalid` for no address, one that is named twice, or more than 1024; as `Client::connect`.
    pub fn connect(addresses: &str, identity: &Identity, patience: Patience<'_>) -> Result<Stage> {
        let all: Vec<&str> = addresses.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
        let refuse = |detail: String| Err(Error::new(Kind::Invalid, "stage.connect", detail));
        if all.is_empty() || all.len() > SERVICES_MAX {
            return refuse(format!(
                "{} addresses in {addresses:?}; accepted are 1 to {SERVICES_MAX}",
                all.len()
            ));
        }
        if let Some(twice) = all.iter().enumerate().find(|(i, a)| all[..*i].contains(a)) {
            return refuse(format!("{:?} is named twice in {addresses:?}", twice.1));
        }
        let deadline = now().after(patience.within);
        let connect = |address: &&str| {
            let left = Patience { within: deadline.since(now()), ..patience };
            Client::connect(address, identity.clone(), left).map(Arc::new)
        };
        Stage::of(all.iter().map(connect).collect::<Result<_>>()?)
    }

    /// The stage of these connections.
    ///
    /// # Errors
    /// `Invalid` for none.
    pub fn of(clients: Vec<Arc<Client>>) -> Result<Stage> {
        if clients.is_empty() {
            return Err(Error::new(Kind::Invalid, "stage.connect", "no service; give at least one"));
        }
        Ok(Stage { clients: clients.into(), kept: Arc::default() })
    }

    /// What is kept here for readers.
    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The connections, in order.
    pub fn clients(&self) -> &[Arc<Client>] {
        &self.clients
    }

    /// The service that holds the arrays of their own that are called `name`.
    pub fn home(&self, name: &Name) -> &Arc<Client> {
        let at = xxh3_64(name.as_str().as_bytes()) % self.clients.len() as u64;
        &self.clients[at as usize]
    }

    /// Waits until all, or any, of the arrays with `keys` are there; the indices of those that are.
    ///
    /// # Errors
    /// As `Client::wait`; `Invalid` for any of several keys that lie with several services.
    /// # Blocking
    /// Until enough are put.
    pub fn wait(&self, keys: &[Key], all: bool, patience: Patience<'_>) -> Result<Vec<u32>> {
        let homes: Vec<&Arc<Client>> = keys.iter().map(|key| self.home(&key.name)).collect();
        let first = *homes.first().unwrap_or(&&self.clients[0]);
        if homes.iter().all(|home| Arc::ptr_eq(home, first)) {
            return first.wait(keys, all, patience);
        }
        if !all {
            let detail = "any of keys that lie with several services; wait for one name, or for all of them";
            return Err(Error::new(Kind::Invalid, "stage.wait", detail));
        }
        let deadline = now().after(patience.within);
        for client in self.clients.iter() {
            let mine = keys.iter().zip(&homes).filter(|(_, home)| Arc::ptr_eq(home, client));
            let mine: Vec<Key> = mine.map(|(key, _)| key.clone()).collect();
            if !mine.is_empty() {
                client.wait(&mine, true, Patience { within: deadline.since(now()), ..patience })?;
            }
        }
        Ok((0..keys.len() as u32).collect())
    }

    /// All arrays of their own in the namespace, in order of name and version.
    ///
    /// # Errors
    /// What the link says.
    pub fn list(&self, patience: Patience<'_>) -> Result<Vec<Entry>> {
        let mut all = Vec::new();
        for client in self.clients.iter() {
            all.extend(client.list(patience)?);
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(all)
    }

    /// Removes everything in the namespace, variables too; how many versions it was.
    ///
    /// # Errors
    /// What the link says.
    pub fn drop_namespace(&self, patience: Patience<'_>) -> Result<u64> {
        self.clients.iter().map(|client| client.drop_namespace(patience)).sum()
    }

    /// Counters of each service.
    ///
    /// # Errors
    /// What the link says.
    pub fn stats(&self, patience: Patience<'_>) -> Result<Vec<Stats>> {
        self.clients.iter().map(|client| client.stats(patience)).collect()
    }

    /// Defines a variable, or agrees with the one that is there.
    ///
    /// # Errors
    /// `Exists` when it is there and differs, `Shape`, `DType`, `Invalid`, `Full`, `Gone`.
    pub fn define(&self, name: Name, definition: Definition, patience: Patience<'_>) -> Result<Variable> {
        definition.check()?;
        let parts = parts(&definition.domain, self.clients.len())?;
        let mut there = definition.clone();
        let deadline = now().after(patience.within);
        for (client, part) in self.clients.iter().zip(&parts) {
            let body = Request::Define { name: name.clone(), definition: definition.clone(), part: *part };
            match client.ask(body, Patience { within: deadline.since(now()), ..patience })? {
                Reply::Defined { definition, .. } => there = *definition,
                other => return Err(unexpected(&other)),
            }
        }
        Ok(Variable::over(self.clone(), name, there, parts))
    }

    /// A variable, once somebody has defined it.
    ///
    /// # Errors
    /// `Timeout` names who is connected; `Invalid` when it was defined over other services; `Gone`.
    /// # Blocking
    /// Until it is defined.
    pub fn open(&self, name: Name, patience: Patience<'_>) -> Result<Variable> {
        let mut held = Vec::with_capacity(self.clients.len());
        let mut there = None;
        let deadline = now().after(patience.within);
        for client in self.clients.iter() {
            let left = Patience { within: deadline.since(now()), ..patience };
            let there_is = client.describe(name.clone(), left)?;
            held.push(there_is.part);
            there = Some(there_is.definition);
        }
        let there = there.ok_or_else(|| Error::new(Kind::Invalid, "stage.open", "no service"))?;
        if held != parts(&there.domain, self.clients.len())? {
            let detail = format!(
                "variable {:?} was defined over other services than the {} given here, or in another order",
                name.as_str(),
                self.clients.len()
            );
            return Err(Error::new(Kind::Invalid, "stage.open", detail));
        }
        Ok(Variable::over(self.clone(), name, there, held))
    }

    /// The names of all variables, in order.
    ///
    /// # Errors
    /// What the link says.
    pub fn variables(&self, patience: Patience<'_>) -> Result<Vec<Name>> {
        let mut all: BTreeSet<Name> = BTreeSet::new();
        let client = &self.clients[0];
        loop {
            let after = all.last().cloned();
            match client.ask(Request::Variables { after }, patience)? {
                Reply::Variables { names, more } => {
                    all.extend(names);
                    if !more {
                        return Ok(all.into_iter().collect());
                    }
                }
                other => return Err(unexpected(&other)),
            }
        }
    }
}

/// The part of `domain` that each of `services` holds: blocks of nearly equal size, cut first where the domain is longest.
fn parts(domain: &Extents, services: usize) -> Result<Vec<Region>> {
    let extents = domain.as_slice();
    let mut blocks = vec![1u64; extents.len()];
    let mut rest = services as u64;
    let mut factor = 2;
    let mut factors = Vec::new();
    while rest > 1 {
        match rest % factor {
            0 => {
                factors.push(factor);
                rest /= factor;
            }
            _ => factor += 1,
        }
    }
    // The longest cut first, each time through what is longest now; the slowest axis where several are.
    for factor in factors.into_iter().rev() {
        let longest = (0..extents.len()).max_by_key(|i| (extents[*i] / blocks[*i], std::cmp::Reverse(*i)));
        if let Some(axis) = longest {
            blocks[axis] *= factor;
        }
    }
    let cut = Decomposition::new(Region::whole(domain), &blocks)?;
    let all: Vec<Region> = (0..services as u32).map(|rank| cut.block(Rank(rank))).collect::<Result<_>>()?;
    if all.iter().any(Region::is_empty) {
        let detail =
            format!("a domain of {domain:?} over {services} services leaves some without a cell; use fewer");
        return Err(Error::new(Kind::Invalid, "stage.define", detail));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_cut_where_it_is_longest() {
        let cut = |extents: &[u64], n| parts(&Extents::new(extents).unwrap(), n);
        let two = cut(&[4, 8], 2).unwrap();
        assert_eq!(two[1], Region::new(&[0, 4], &[4, 4]).unwrap());
        assert_eq!(cut(&[64, 64, 64], 8).unwrap()[7], Region::new(&[32; 3], &[32; 3]).unwrap());
        assert_eq!(cut(&[10, 3], 6).unwrap().len(), 6);
        assert!(cut(&[2], 3).is_err());
        assert_eq!(cut(&[], 1).unwrap().len(), 1);
    }
}
