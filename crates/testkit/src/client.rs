//! A client in the adversarial world: what the real one does, cut into steps between which anything may happen.

use super::chance::Chance;
use super::ground::{take, Toy};
use thalweg_foundation::array::Shape;
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Nanos, Version};
use thalweg_services::staging::core::PeerId;
use thalweg_services::staging::message::{Grant, Reply, Request};
use thalweg_services::staging::{hash, Location};

/// What a client is doing.
#[derive(Clone, Debug)]
pub enum Doing {
    /// Nothing.
    Idle,
    /// A put waits for its memory.
    Reserving { key: Key, bytes: u64, replace: bool },
    /// A put fills its memory.
    Filling { key: Key, bytes: u64, replace: bool, grant: Grant, done: u64, mark: u64 },
    /// A put waits for its acknowledgement.
    Storing,
    /// A get has found an entry and written its hazard, and has yet to look again.
    Leasing { ticket: Ticket, location: Location },
    /// A get holds a view.
    Viewing { ticket: Ticket, location: Location, mark: u64, left: u64 },
    /// Waits for keys or for any other answer.
    Asking,
}

/// One client.
#[derive(Debug)]
pub struct Client {
    /// Its connection.
    pub peer: PeerId,
    /// What it is doing.
    pub doing: Doing,
    /// The request that it waits for, and when it gives up.
    pub request: Option<(u64, Nanos)>,
    /// Spare grants that it was told of.
    pub spares: Vec<Grant>,
    /// Its namespace.
    pub namespace: Name,
    given_up: Vec<u64>,
    next: u64,
}

/// The byte at `i` of the array with `mark`.
pub fn byte(mark: u64, i: u64) -> u8 {
    match i {
        0..=7 => mark.to_le_bytes()[i as usize],
        _ => (mark.wrapping_mul(0x9e37_79b9).wrapping_add(i.wrapping_mul(31)) >> 3) as u8,
    }
}

/// The mark of the array in `bytes`, when every byte is as it was put.
pub fn whole(bytes: &[u8]) -> Option<u64> {
    let mark = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    bytes.iter().enumerate().all(|(i, b)| *b == byte(mark, i as u64)).then_some(mark)
}

/// What a step of a client asks of the world.
pub type Sent = Option<(u64, Request)>;

impl Client {
    /// A new client.
    pub fn new(peer: PeerId, namespace: Name) -> Client {
        Client {
            peer,
            doing: Doing::Idle,
            request: None,
            spares: Vec::new(),
            namespace,
            given_up: Vec::new(),
            next: 1,
        }
    }

    fn ask(&mut self, now: Nanos, body: Request) -> Sent {
        let id = self.next;
        self.next += 1;
        self.request = Some((id, now.after(Nanos(3000))));
        Some((id, body))
    }

    fn key(chance: &mut Chance) -> Key {
        let name = ["u", "v", "w"][chance.below(3) as usize];
        Key { name: Name::new("world", name).expect("a good name"), version: Version(chance.below(3)) }
    }

    /// Does one step.
    ///
    /// # Errors
    /// A sentence when the service has broken a promise.
    pub fn step(
        &mut self,
        now: Nanos,
        chance: &mut Chance,
        toy: &mut Toy,
        mark: &mut u64,
    ) -> Result<Sent, String> {
        if let Some((id, until)) = self.request {
            if now < until {
                return Ok(None);
            }
            // Nobody answered: the real client gives up and says so; a late grant is given back.
            self.request = None;
            self.given_up.push(id);
            self.doing = Doing::Idle;
            return Ok(Some((0, Request::Cancel { request: id })));
        }
        match self.doing.clone() {
            Doing::Idle => Ok(self.begin(now, chance, toy, mark)),
            Doing::Filling { key, bytes, replace, grant, done, mark } => {
                let upto = (done + 1 + chance.below(bytes)).min(bytes);
                let segment = &mut toy.segments[grant.segment as usize];
                for i in done..upto {
                    segment[(grant.offset + i) as usize] = byte(mark, i);
                }
                if upto < bytes {
                    self.doing = Doing::Filling { key, bytes, replace, grant, done: upto, mark };
                    return Ok(None);
                }
                self.doing = Doing::Storing;
                let shape = Shape::bytes(bytes).map_err(|e| e.to_string())?;
                Ok(self.ask(now, Request::Put { grant: grant.id, key, shape, replace }))
            }
            Doing::Leasing { ticket, location } => {
                if !toy.published(ticket) {
                    return Ok(self.release(ticket, toy));
                }
                let mark = toy.bytes(&location).and_then(whole).ok_or("a reader sees an unsealed version")?;
                self.doing = Doing::Viewing { ticket, location, mark, left: chance.below(20) };
                Ok(None)
            }
            Doing::Viewing { ticket, location, mark, left } => {
                if toy.bytes(&location).and_then(whole) != Some(mark) {
                    return Err(format!("the bytes of {ticket:?} changed under a reader"));
                }
                if left == 0 {
                    return Ok(self.release(ticket, toy));
                }
                self.doing = Doing::Viewing { ticket, location, mark, left: left - 1 };
                Ok(None)
            }
            Doing::Reserving { .. } | Doing::Storing | Doing::Asking => {
                self.doing = Doing::Idle;
                Ok(None)
            }
        }
    }

    fn begin(&mut self, now: Nanos, chance: &mut Chance, toy: &mut Toy, mark: &mut u64) -> Sent {
        let key = Client::key(chance);
        match chance.below(12) {
            0..=4 => {
                let (bytes, replace) = (16 + chance.below(900), chance.percent(60));
                let words = toy.words.get_mut(&self.peer);
                let spare = self.spares.iter().position(|g| g.bytes.0 >= bytes);
                if let (Some(words), Some(at)) = (words, spare) {
                    let grant = self.spares.swap_remove(at);
                    if take(&mut words.spares, grant.id) {
                        *mark += 1;
                        self.doing = Doing::Filling { key, bytes, replace, grant, done: 0, mark: *mark };
                        return None;
                    }
                }
                self.doing = Doing::Reserving { key: key.clone(), bytes, replace };
                let within = Nanos(chance.below(2000));
                self.ask(now, Request::Reserve { bytes: Bytes(bytes), key, replace, within })
            }
            5..=8 => match toy.find(hash(&self.namespace, &key)) {
                Some((ticket, location)) => {
                    if let Some(words) = toy.words.get_mut(&self.peer) {
                        words.hazards.push(ticket);
                        self.doing = Doing::Leasing { ticket, location };
                    }
                    None
                }
                None => {
                    self.doing = Doing::Asking;
                    let keys = (0..1 + chance.below(3)).map(|_| Client::key(chance)).chain([key]).collect();
                    let (all, within) = (chance.percent(50), Nanos(chance.below(2000)));
                    self.ask(now, Request::Wait { keys, all, within })
                }
            },
            9 => self.asking(now, Request::Delete { key }),
            10 => self.asking(now, Request::List { after: chance.percent(50).then_some(key) }),
            _ if chance.percent(20) => self.asking(now, Request::DropNamespace),
            _ => self.asking(now, Request::Stats),
        }
    }

    fn asking(&mut self, now: Nanos, body: Request) -> Sent {
        self.doing = Doing::Asking;
        self.ask(now, body)
    }

    fn release(&mut self, ticket: Ticket, toy: &mut Toy) -> Sent {
        self.doing = Doing::Idle;
        let words = toy.words.get_mut(&self.peer)?;
        let at = words.hazards.iter().position(|t| *t == ticket)?;
        words.hazards.swap_remove(at);
        std::mem::take(&mut words.notify).then_some((0, Request::Released))
    }

    /// Takes a reply.
    pub fn receive(&mut self, id: u64, reply: Reply, mark: &mut u64) -> Sent {
        if let Reply::Stored { spare } = &reply {
            self.spares.extend(*spare);
        }
        if self.request.map(|(expected, _)| expected) != Some(id) {
            let late = take(&mut self.given_up, id);
            return match reply {
                Reply::Granted(grant) if late => Some((0, Request::Abandon { grant: grant.id })),
                _ => None,
            };
        }
        self.request = None;
        let doing = std::mem::replace(&mut self.doing, Doing::Idle);
        if let (Doing::Reserving { key, bytes, replace }, Reply::Granted(grant)) = (doing, reply) {
            *mark += 1;
            self.doing = Doing::Filling { key, bytes, replace, grant, done: 0, mark: *mark };
        }
        None
    }
}
