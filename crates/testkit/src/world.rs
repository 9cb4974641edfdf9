//! One life of the staging service: clients, a network that cannot be trusted, deaths, restarts, and what must hold.

use super::chance::Chance;
use super::client::{whole, Client, Doing};
use super::ground::{Toy, Words};
use super::task::perform;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{catch_unwind, AssertUnwindSafe};
use thalweg_foundation::array::DType;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Error, Kind, Nanos};
use thalweg_services::greeting::Hello;
use thalweg_services::staging::core::{Config, Input, Outcome, Output, PeerId, Staging, Task, WhenFull};
use thalweg_services::staging::hash;
use thalweg_services::staging::message::{Reply, Request, PROTOCOL};

const TRACE: usize = 60;
const STEPS: u64 = 400;

/// What went wrong, and how to see it again.
#[derive(Debug)]
pub struct Failure {
    /// The seed that replays it.
    pub seed: u64,
    /// The broken promise.
    pub broken: String,
    /// The last steps before it.
    pub trace: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.broken)?;
        self.trace.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

#[derive(Clone, Debug)]
enum Letter {
    ToService(PeerId, u64, Request),
    ToClient(PeerId, u64, Reply),
    /// The service learns that a client has ended.
    End(PeerId),
}

/// The world.
pub struct World {
    chance: Chance,
    now: Nanos,
    config: Config,
    service: Staging,
    toy: Toy,
    clients: BTreeMap<PeerId, Client>,
    under_way: Vec<(Nanos, Letter)>,
    /// What every key must hold: the mark of the last put that the service took, exact unless it may drop versions.
    model: BTreeMap<[u64; 2], (Name, u64)>,
    namespaces: BTreeMap<PeerId, Name>,
    /// Work under way, and when it is done.
    tasks: Vec<(Nanos, u64, Task)>,
    failing_percent: u64,
    loss_percent: u64,
    next_peer: u64,
    mark: u64,
    trace: VecDeque<String>,
}

impl World {
    /// Lives one life; the number of puts that were acknowledged.
    ///
    /// # Errors
    /// The first broken promise, with its seed.
    pub fn run(seed: u64) -> Result<u64, Box<Failure>> {
        let mut world = World::new(seed);
        let lived = catch_unwind(AssertUnwindSafe(|| world.live())).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(format!("panic: {}", text.unwrap_or_else(|| "of unknown kind".into())))
        });
        lived.map_err(|broken| {
            Box::new(Failure { seed, broken, trace: world.trace.iter().cloned().collect() })
        })
    }

    fn new(seed: u64) -> World {
        let mut chance = Chance::new(seed);
        let when_full = [WhenFull::Block, WhenFull::Fail, WhenFull::DropOldest][chance.below(3) as usize];
        let config = Config {
            private: false,
            limit: Bytes(1024 << chance.below(5)),
            when_full,
            slots: 1 << (2 + chance.below(5)),
            waits_per_client: 1 + chance.below(4) as usize,
            replicas: Bytes(chance.below(2048)),
            spill: chance.percent(40).then(|| Bytes(256 << chance.below(6))),
        };
        let failing_percent = [0, 0, 5, 40][chance.below(4) as usize];
        let loss_percent = [0, 0, 2, 10, 30][chance.below(5) as usize];
        World {
            chance,
            now: Nanos(0),
            config,
            service: Staging::new(config),
            toy: Toy::of(config.limit, config.spill),
            clients: BTreeMap::new(),
            under_way: Vec::new(),
            model: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            tasks: Vec::new(),
            failing_percent,
            loss_percent,
            next_peer: 1,
            mark: 0,
            trace: VecDeque::new(),
        }
    }

    fn note(&mut self, line: String) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(format!("{:>7} {line}", self.now.0));
    }

    fn live(&mut self) -> Result<u64, String> {
        let crowd = 1 + self.chance.below(5);
        (0..crowd).for_each(|_| self.arrive());
        for _ in 0..STEPS {
            self.now = Nanos(self.now.0 + 1 + self.chance.below(40));
            self.happen()?;
            self.deliver()?;
            self.promises()?;
        }
        self.settle()?;
        Ok(self.service.stats().puts)
    }

    fn happen(&mut self) -> Result<(), String> {
        match self.chance.below(1000) {
            0..=14 => {
                if let Some(peer) = self.anybody() {
                    self.die(peer);
                }
            }
            15..=34 if self.clients.len() < 6 => self.arrive(),
            35..=37 => self.restart(),
            _ => {
                if let Some(peer) = self.anybody() {
                    return self.act(peer);
                }
                self.arrive();
            }
        }
        Ok(())
    }

    fn anybody(&mut self) -> Option<PeerId> {
        let n = self.chance.below(self.clients.len().max(1) as u64) as usize;
        self.clients.keys().nth(n).copied()
    }

    fn act(&mut self, peer: PeerId) -> Result<(), String> {
        let World { clients, chance, toy, mark, now, .. } = self;
        let Some(client) = clients.get_mut(&peer) else {
            return Ok(());
        };
        let sent = client.step(*now, chance, toy, mark)?;
        let doing = format!("{peer:?} {:?}", client.doing);
        self.note(doing);
        self.post(peer, sent);
        Ok(())
    }

    fn post(&mut self, peer: PeerId, sent: Option<(u64, Request)>) {
        if let Some((id, body)) = sent {
            self.note(format!("{peer:?} asks {id}: {body:?}"));
            self.send(Letter::ToService(peer, id, body));
        }
    }

    fn send(&mut self, letter: Letter) {
        if self.chance.percent(self.loss_percent) {
            self.note(format!("lost: {letter:?}"));
            return;
        }
        let copies = 1 + u64::from(self.chance.percent(self.loss_percent / 3));
        for _ in 0..copies {
            let delay = if self.chance.percent(80) { self.chance.below(30) } else { self.chance.below(900) };
            self.under_way.push((self.now.after(Nanos(delay)), letter.clone()));
        }
    }

    fn arrive(&mut self) {
        let peer = PeerId(self.next_peer);
        self.next_peer += 1;
        let name = |text: &str| Name::new("world", text).expect("a good name");
        let namespace = name(["run", "other", "third"][self.chance.below(3) as usize]);
        let remote = self.chance.percent(25);
        let hello = Hello {
            protocol: PROTOCOL,
            name: name("client"),
            pid: peer.0 as u32,
            namespace: namespace.clone(),
            token: String::new(),
        };
        self.toy.words.insert(peer, Words::default());
        self.namespaces.insert(peer, namespace.clone());
        self.clients.insert(peer, Client::new(peer, namespace));
        self.note(format!("{peer:?} arrives"));
        let mut out = Vec::new();
        self.service.step(
            self.now,
            Input::Joined { peer, hello, takes_spares: !remote },
            &mut self.toy,
            &mut out,
        );
    }

    /// A client is killed, in the middle of whatever it does; the service hears of it later.
    fn die(&mut self, peer: PeerId) {
        self.note(format!("{peer:?} dies"));
        self.clients.remove(&peer);
        let delay = self.chance.below(300);
        self.under_way.push((self.now.after(Nanos(delay)), Letter::End(peer)));
    }

    /// The server is killed and started again: memory, entries and connections are gone.
    fn restart(&mut self) {
        self.note("the server is killed and restarted".into());
        self.service = Staging::new(self.config);
        self.toy = Toy::of(self.config.limit, self.config.spill);
        self.tasks.clear();
        self.model.clear();
        let crowd = self.clients.len();
        self.clients.clear();
        // Letters of the old connections may still come; their numbers are never used again.
        (0..crowd).for_each(|_| self.arrive());
    }

    fn deliver(&mut self) -> Result<(), String> {
        if self.service.next_deadline().is_some_and(|at| at <= self.now) {
            self.serve(Input::Tick)?;
        }
        while let Some(at) = self.tasks.iter().position(|(due, ..)| *due <= self.now) {
            let (_, number, task) = self.tasks.swap_remove(at);
            let outcome = match self.chance.percent(self.failing_percent) {
                true => Outcome::Failed(Error::new(Kind::Io, "world", "it could not be done")),
                false => perform(&task, &mut self.toy)?,
            };
            self.note(format!("task {number} ends: {outcome:?}"));
            self.serve(Input::Done { number, outcome })?;
        }
        loop {
            let due: Vec<usize> =
                (0..self.under_way.len()).filter(|i| self.under_way[*i].0 <= self.now).collect();
            if due.is_empty() {
                return Ok(());
            }
            // Any order: what was sent first need not come first.
            let at = due[self.chance.below(due.len() as u64) as usize];
            let (_, letter) = self.under_way.swap_remove(at);
            match letter {
                Letter::ToService(from, id, body) => self.serve(Input::Request { from, id, body })?,
                Letter::End(peer) => {
                    self.toy.words.remove(&peer);
                    self.serve(Input::Gone(peer))?;
                }
                Letter::ToClient(to, id, reply) => {
                    if let Some(client) = self.clients.get_mut(&to) {
                        let sent = client.receive(id, reply, &mut self.toy, &mut self.mark)?;
                        self.post(to, sent);
                    }
                }
            }
        }
    }

    fn serve(&mut self, input: Input) -> Result<(), String> {
        let before = self.service.stats();
        let mut out = Vec::new();
        self.service.step(self.now, input.clone(), &mut self.toy, &mut out);
        self.service.invariants()?;
        let after = self.service.stats();
        let dropped = after.dropped - before.dropped;
        if let Input::Request { from, body, .. } = input {
            let (puts, deletes) = (after.puts - before.puts, after.deletes - before.deletes);
            // Letters of connections that have ended are ignored by the service.
            if self.toy.words.contains_key(&from) {
                let namespace = self.namespaces.get(&from).ok_or("a request of nobody")?.clone();
                self.expect(namespace, body, puts > 0, deletes, dropped)?;
            }
        }
        let held: BTreeSet<[u64; 2]> = self.toy.directory.values().map(|(_, h, _)| *h).collect();
        let gone = self.model.keys().filter(|h| !held.contains(*h)).count() as u64;
        if gone > dropped {
            return Err(format!("{gone} versions are gone where {dropped} were dropped"));
        }
        self.model.retain(|h, _| held.contains(h));
        for output in out {
            match output {
                Output::Send { to, id, reply } => {
                    self.note(format!("service to {to:?} {id}: {reply:?}"));
                    self.send(Letter::ToClient(to, id, reply));
                }
                Output::Work { number, task } => {
                    self.note(format!("task {number}: {task:?}"));
                    let delay = if self.chance.percent(50) { 20 } else { 900 };
                    let due = self.now.after(Nanos(self.chance.below(delay)));
                    self.tasks.push((due, number, task));
                }
            }
        }
        Ok(())
    }

    /// Does to the model what the service says that it has done.
    fn expect(
        &mut self,
        namespace: Name,
        body: Request,
        put: bool,
        deletes: u64,
        dropped: u64,
    ) -> Result<(), String> {
        match body {
            Request::Put { key, .. } if put => {
                let hash = hash(&namespace, &key);
                let found = self.toy.find(hash).and_then(|(_, at)| self.toy.bytes(&at)).and_then(whole);
                match found {
                    Some(mark) => self.model.insert(hash, (namespace, mark)),
                    // Whoever waited for room was served at once, and this was the oldest version that nobody read.
                    None if dropped > 0 => self.model.remove(&hash),
                    None => {
                        return Err(format!("a put of {key} was taken, but it is not there or not whole"))
                    }
                };
            }
            Request::Delete { key } => {
                let there = self.model.remove(&hash(&namespace, &key)).is_some();
                if there != (deletes > 0) {
                    return Err(format!(
                        "deleting {key}: it was there: {there}; the service says {}",
                        deletes > 0
                    ));
                }
            }
            Request::DropNamespace => {
                let before = self.model.len();
                self.model.retain(|_, (space, _)| *space != namespace);
                let gone = (before - self.model.len()) as u64;
                // Versions of variables count too.
                if gone > deletes {
                    return Err(format!("dropping a namespace of {gone} versions removed {deletes}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What must hold at every moment.
    fn promises(&self) -> Result<(), String> {
        let arrays = self.toy.directory.iter().filter(|(_, (_, _, at))| at.shape.dtype() == DType::BYTES);
        for (slot, (ticket, hash, location)) in arrays {
            let bytes = self.toy.bytes(location).ok_or(format!("slot {slot} points outside its segment"))?;
            let mark = whole(bytes).ok_or(format!("{ticket:?} is published and not whole"))?;
            if self.model.get(hash).is_some_and(|(_, m)| *m != mark) {
                return Err(format!("{ticket:?} holds mark {mark}, not the one that was put last"));
            }
        }
        for hash in self.model.keys() {
            if self.toy.find(*hash).is_none() {
                return Err("a version that was put is gone, and nobody deleted it".into());
            }
        }
        Ok(())
    }

    /// The network heals, everybody finishes and leaves: nothing may be left behind.
    fn settle(&mut self) -> Result<(), String> {
        self.loss_percent = 0;
        for _ in 0..40 {
            self.now = Nanos(self.now.0 + 400);
            let busy: Vec<PeerId> =
                self.clients.values().filter(|c| !matches!(c.doing, Doing::Idle)).map(|c| c.peer).collect();
            for peer in busy {
                self.act(peer)?;
            }
            self.deliver()?;
            self.promises()?;
        }
        let stats = self.service.stats();
        if stats.waiting_now > 0 || stats.blocked_now > 0 {
            return Err(format!("somebody still waits long after every deadline: {stats:?}"));
        }
        let everybody: Vec<PeerId> = self.toy.words.keys().copied().collect();
        for peer in everybody {
            self.toy.words.remove(&peer);
            self.serve(Input::Gone(peer))?;
        }
        let stats = self.service.stats();
        if stats.clients > 0 || stats.granted_bytes > 0 || stats.retired_bytes > 0 || stats.tasks_now > 0 {
            return Err(format!("memory is still held for clients that have gone: {stats:?}"));
        }
        self.promises()
    }
}
