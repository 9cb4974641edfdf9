//! A client in the adversarial world: what the real one does, cut into steps between which anything may happen.

use super::chance::Chance;
use super::field;
use super::ground::{take, Toy};
use thalweg_foundation::array::Shape;
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Nanos, Version};
use thalweg_services::staging::core::PeerId;
use thalweg_services::staging::message::{Grant, Lies, Part, Publication, Reply, Request, Which, Wish};
use thalweg_services::staging::{hash, Location, Strategy};

/// What a client is doing.
#[derive(Clone, Debug)]
pub enum Doing {
    /// Nothing.
    Idle,
    /// A put waits for its memory.
    Reserving { what: Publication },
    /// A put fills its memory.
    Filling { what: Publication, grant: Grant, done: u64, mark: u64 },
    /// A put waits for its acknowledgement.
    Storing,
    /// A get has found an entry and written its hazard, and has yet to look again.
    Leasing { ticket: Ticket, location: Location },
    /// A get holds a view.
    Viewing { ticket: Ticket, location: Location, mark: u64, left: u64 },
    /// A get of a region waits for its answer.
    Getting { key: Option<Key>, region: thalweg_foundation::array::Region, name: Name },
    /// A get has found the parts of a region and written its hazards, and has yet to look again.
    LeasingParts { name: Name, version: Version, parts: Vec<Part> },
    /// A get holds the parts of a region.
    ViewingParts { name: Name, version: Version, parts: Vec<Part>, left: u64 },
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
            Doing::Filling { what, grant, done, mark } => {
                let bytes = what.shape().size().0;
                let upto = (done + 1 + chance.below(bytes)).min(bytes);
                let whole: Vec<u8> = match &what {
                    Publication::Array { .. } => (0..bytes).map(|i| byte(mark, i)).collect(),
                    Publication::Piece { key, region, layout, .. } => field::packed(key, region, layout),
                };
                let segment = &mut toy.segments[grant.segment as usize];
                for i in done..upto {
                    segment[(grant.offset + i) as usize] = whole[i as usize];
                }
                if upto < bytes {
                    self.doing = Doing::Filling { what, grant, done: upto, mark };
                    return Ok(None);
                }
                self.doing = Doing::Storing;
                Ok(self.ask(now, what.request(grant.id)))
            }
            Doing::LeasingParts { name, version, parts } => {
                let tickets = tickets(&parts);
                if tickets.iter().any(|t| !toy.published(*t)) {
                    return Ok(self.release_all(&tickets, toy));
                }
                self.doing = Doing::ViewingParts { name, version, parts, left: chance.below(20) };
                Ok(None)
            }
            Doing::ViewingParts { name, version, parts, left } => {
                let key = Key { name: name.clone(), version };
                for part in &parts {
                    let Lies::Here { segment, offset, .. } = part.lies else { continue };
                    let bytes = toy.at(segment, offset, field::bytes(&part.region));
                    let bytes = bytes.ok_or("a part lies outside its segment")?;
                    if !part.cells.iter().all(|cells| field::agrees(&key, part, cells, bytes)) {
                        return Err(format!("a reader of {key} sees cells that nobody put: {part:?}"));
                    }
                }
                if left == 0 {
                    return Ok(self.release_all(&tickets(&parts), toy));
                }
                self.doing = Doing::ViewingParts { name, version, parts, left: left - 1 };
                Ok(None)
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
            Doing::Reserving { .. } | Doing::Storing | Doing::Getting { .. } | Doing::Asking => {
                self.doing = Doing::Idle;
                Ok(None)
            }
        }
    }

    /// Begins to put `what`, into a spare grant if there is one.
    fn put(
        &mut self,
        now: Nanos,
        what: Publication,
        chance: &mut Chance,
        toy: &mut Toy,
        mark: &mut u64,
    ) -> Sent {
        let bytes = what.shape().size();
        let words = toy.words.get_mut(&self.peer);
        let spare = self.spares.iter().position(|g| g.bytes >= bytes);
        if let (Some(words), Some(at)) = (words, spare) {
            let grant = self.spares.swap_remove(at);
            if take(&mut words.spares, grant.id) {
                *mark += 1;
                self.doing = Doing::Filling { what, grant, done: 0, mark: *mark };
                return None;
            }
        }
        let (key, purpose) = (what.key().clone(), what.purpose());
        self.doing = Doing::Reserving { what };
        let within = Nanos(chance.below(2000));
        self.ask(now, Request::Reserve { bytes, key, purpose, within })
    }

    /// Does something with the variable.
    fn vary(&mut self, now: Nanos, chance: &mut Chance, toy: &mut Toy, mark: &mut u64) -> Sent {
        let (name, definition) = field::definition(self.namespace.as_str());
        let key = Key { name: name.clone(), version: Version(chance.below(field::VERSIONS)) };
        let (part, of) = (definition.whole(), definition.print());
        match chance.below(20) {
            0 => self.asking(now, Request::Define { name, definition, part }),
            1 => self.asking(now, Request::Describe { name, within: Nanos(chance.below(1000)) }),
            2..=8 => {
                let (region, layout) = (field::region(chance), field::layout(chance));
                let shape = field::shape(&region);
                self.put(
                    now,
                    Publication::Piece { key, of, shape, region, put: region.into(), layout },
                    chance,
                    toy,
                    mark,
                )
            }
            9..=14 => {
                let region = field::region(chance);
                let which = match chance.below(4) {
                    0 => Which::LATEST,
                    1 => Which::From(key.version),
                    2 => Which::UpTo(key.version),
                    _ => Which::Exactly(key.version),
                };
                let layout = chance.percent(80).then(|| field::layout(chance));
                let strategy = chance.percent(30).then(|| Strategy::ALL[chance.below(4) as usize]);
                let wish = Wish::Parts { layout, strategy };
                let within = Nanos(chance.below(2000));
                self.doing = Doing::Getting { key: None, region, name: name.clone() };
                self.ask(now, Request::Get { name, of, which, region, wish, within })
            }
            15 => {
                let (region, within) = (field::region(chance), Nanos(chance.below(2000)));
                let (which, wish) = (Which::Exactly(key.version), Wish::Summary { bins: None });
                self.doing = Doing::Getting { key: Some(key), region, name: name.clone() };
                self.ask(now, Request::Get { name, of, which, region, wish, within })
            }
            16 => self.asking(now, Request::Seal { key, writer: chance.below(3) as u32 }),
            17 => self.asking(now, Request::Release { key }),
            18 => self.asking(now, Request::Versions { name, after: None }),
            _ => self.asking(now, Request::Patterns { name }),
        }
    }

    fn begin(&mut self, now: Nanos, chance: &mut Chance, toy: &mut Toy, mark: &mut u64) -> Sent {
        if chance.percent(50) {
            return self.vary(now, chance, toy, mark);
        }
        let key = Client::key(chance);
        match chance.below(12) {
            0..=4 => {
                let (bytes, replace) = (16 + chance.below(900), chance.percent(60));
                let shape = Shape::bytes(bytes).expect("a small array");
                self.put(now, Publication::Array { key, shape, replace }, chance, toy, mark)
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

    fn release_all(&mut self, tickets: &[Ticket], toy: &mut Toy) -> Sent {
        self.doing = Doing::Idle;
        let words = toy.words.get_mut(&self.peer)?;
        for ticket in tickets {
            let at = words.hazards.iter().position(|t| t == ticket)?;
            words.hazards.swap_remove(at);
        }
        std::mem::take(&mut words.notify).then_some((0, Request::Released))
    }

    /// Takes a reply.
    ///
    /// # Errors
    /// A sentence when the service has broken a promise.
    pub fn receive(&mut self, id: u64, reply: Reply, toy: &mut Toy, mark: &mut u64) -> Result<Sent, String> {
        if let Reply::Stored { spare } = &reply {
            self.spares.extend(*spare);
        }
        if self.request.map(|(expected, _)| expected) != Some(id) {
            let late = take(&mut self.given_up, id);
            return Ok(match reply {
                Reply::Granted(grant) if late => Some((0, Request::Abandon { grant: grant.id })),
                _ => None,
            });
        }
        self.request = None;
        match (std::mem::replace(&mut self.doing, Doing::Idle), reply) {
            (Doing::Reserving { what }, Reply::Granted(grant)) => {
                *mark += 1;
                self.doing = Doing::Filling { what, grant, done: 0, mark: *mark };
            }
            (Doing::Getting { region, name, .. }, Reply::Parts { version, parts }) => {
                let cells: u128 = parts.iter().flat_map(|p| &p.cells).map(|r| r.cells()).sum();
                if cells != region.cells() {
                    return Err(format!("{cells} cells in answer to a get of {region}: {parts:?}"));
                }
                if let Some(words) = toy.words.get_mut(&self.peer) {
                    words.hazards.extend(tickets(&parts));
                    self.doing = Doing::LeasingParts { name, version, parts };
                }
            }
            (Doing::Getting { region, key: Some(key), .. }, Reply::Summary { found, .. }) => {
                let sum = field::sum(&key, &region);
                if (u128::from(found.summary.count), found.summary.sum.to_f64()) != (region.cells(), sum) {
                    return Err(format!("{region} of {key} sums to {sum}, not {:?}", found.summary));
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

/// The publications of parts in the service's memory.
fn tickets(parts: &[Part]) -> Vec<Ticket> {
    let here = |part: &Part| match part.lies {
        Lies::Here { ticket, .. } => Some(ticket),
        Lies::There { .. } => None,
    };
    parts.iter().filter_map(here).collect()
}
