//! Room for what is put: what gives way to it, in which order, and who is told.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::HashMap;
use thalweg_foundation::array::{DType, Extents, Layout, Region};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Version};
use thalweg_services::greeting::Hello;
use thalweg_services::staging::core::{Config, Input, Outcome, Output, PeerId, Staging, Task, WhenFull};
use thalweg_services::staging::message::{Purpose, Reply, Request, Stats, Which, Wish, PROTOCOL};
use thalweg_services::staging::{Definition, Print, Strategy};
use thalweg_testkit::{Toy, Words};

const ME: PeerId = PeerId(1);
/// Rows of the variable, each of which takes `ROW` bytes.
const ROWS: u64 = 8;
const ROW: u64 = 256;

fn name(text: &str) -> Name {
    Name::new("room", text).unwrap()
}

fn key(variable: &str, version: u64) -> Key {
    Key { name: name(variable), version: Version(version) }
}

fn rows(lower: u64, count: u64) -> Region {
    Region::new(&[lower, 0], &[count, ROW]).unwrap()
}

fn left() -> Option<Layout> {
    Some(Layout::left(2))
}

fn config(limit: u64) -> Config {
    Config {
        limit: Bytes(limit),
        when_full: WhenFull::Block,
        slots: 256,
        waits_per_client: 64,
        replicas: Bytes(limit),
        private: false,
        spill: None,
    }
}

/// A service with one client; time stands still unless a test moves it.
struct Service {
    core: Staging,
    toy: Toy,
    now: Nanos,
    next: u64,
    /// Work that the service wants done.
    tasks: Vec<(u64, Task)>,
    /// Answers that have come, by the number of the request.
    answers: Vec<(u64, Reply)>,
    /// What fits on the disk of the spill file, beyond which nothing can be moved.
    disk: Option<u64>,
    /// As what the variables are known.
    prints: HashMap<String, Print>,
}

impl Service {
    fn new(config: Config) -> Service {
        let mut service = Service {
            core: Staging::new(config),
            toy: Toy::of(config.limit, config.spill),
            now: Nanos(0),
            next: 1,
            tasks: Vec::new(),
            answers: Vec::new(),
            disk: None,
            prints: HashMap::new(),
        };
        let hello = Hello {
            protocol: PROTOCOL,
            name: name("client"),
            pid: 1,
            namespace: name("space"),
            token: String::new(),
        };
        service.toy.words.insert(ME, Words::default());
        service.step(Input::Joined { peer: ME, hello, takes_spares: false });
        service
    }

    /// A service with a variable `u` of `ROWS` rows, whose versions are read in another layout.
    fn with_pattern(config: Config) -> Service {
        let mut service = Service::new(config);
        service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
        service.put("u", 0, 0, ROWS);
        service.get(0, left(), None);
        service.work();
        service.ask(Request::Release { key: key("u", 0) });
        service
    }

    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.step(self.now, input, &mut self.toy, &mut out);
        self.core.invariants().unwrap();
        for output in out {
            match output {
                Output::Send { id, reply, .. } => self.answers.push((id, reply)),
                Output::Work { number, task } => self.tasks.push((number, task)),
            }
        }
    }

    /// Asks; the number of the request.
    fn post(&mut self, body: Request) -> u64 {
        self.next += 1;
        self.step(Input::Request { from: ME, id: self.next, body });
        self.next
    }

    /// The answer to request `id`, if there is one.
    fn answer(&mut self, id: u64) -> Option<Reply> {
        let at = self.answers.iter().position(|(i, _)| *i == id)?;
        Some(self.answers.swap_remove(at).1)
    }

    fn ask(&mut self, body: Request) -> Reply {
        let id = self.post(body);
        self.answer(id).unwrap()
    }

    fn define(&mut self, variable: &str, definition: Definition) {
        let part = definition.whole();
        self.prints.insert(variable.into(), definition.print());
        let reply = self.ask(Request::Define { name: name(variable), definition, part });
        assert!(matches!(reply, Reply::Defined { .. }), "{reply:?}");
    }

    /// Asks for memory for rows of `variable`.
    fn reserve(&mut self, variable: &str, version: u64, count: u64) -> u64 {
        let key = key(variable, version);
        self.post(Request::Reserve {
            bytes: Bytes(count * ROW),
            key,
            purpose: Purpose::Piece,
            within: Nanos(1000),
        })
    }

    /// Puts rows into the memory that request `id` was granted; whether it was.
    fn fill(&mut self, id: u64, variable: &str, version: u64, lower: u64, count: u64) -> bool {
        let Some(reply) = self.answer(id) else { return false };
        let Reply::Granted(grant) = reply else { panic!("{reply:?}") };
        let (key, layout) = (key(variable, version), Layout::right(2));
        let (of, region) = (self.prints[variable], rows(lower, count));
        let reply =
            self.ask(Request::PutPiece { grant: grant.id, key, of, region, put: region.into(), layout });
        assert!(matches!(reply, Reply::Stored { .. }), "{reply:?}");
        true
    }

    fn put(&mut self, variable: &str, version: u64, lower: u64, count: u64) {
        let id = self.reserve(variable, version, count);
        assert!(
            self.fill(id, variable, version, lower, count),
            "no room for version {version}: {:?}",
            self.stats()
        );
    }

    /// Asks for all of a version of `u`.
    fn get(&mut self, version: u64, layout: Option<Layout>, strategy: Option<Strategy>) -> u64 {
        let (which, wish) = (Which::Exactly(Version(version)), Wish::Parts { layout, strategy });
        let region = rows(0, ROWS);
        let of = self.prints["u"];
        self.post(Request::Get { name: name("u"), of, which, region, wish, within: Nanos(1000) })
    }

    /// Does all that is to be done.
    fn work(&mut self) {
        while let Some((number, task)) = self.tasks.pop() {
            let beyond = |end: u64| self.disk.is_some_and(|disk| end > disk);
            let outcome = match task {
                Task::Move { to, .. } if beyond(to.offset + to.bytes) => {
                    Outcome::Failed(Error::new(Kind::Full, "toy", "no space left on the disk"))
                }
                _ => Outcome::Written,
            };
            self.step(Input::Done { number, outcome });
        }
    }

    fn stats(&self) -> Stats {
        self.core.stats()
    }

    /// Lets all deadlines pass.
    fn expire(&mut self) {
        self.now = Nanos(self.now.0 + 100_000);
        self.step(Input::Tick);
    }
}

/// What a refused request was told.
fn refusal(reply: Option<Reply>) -> (Kind, String) {
    match reply {
        Some(Reply::Failed(e)) => (e.kind, e.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn replicas_of_unfinished_versions_give_way_to_what_is_put() {
    let half = ROWS / 2;
    let mut service = Service::with_pattern(config(16 * ROWS * ROW));
    // One writer is far ahead of the other one; every half that comes begins a replica of the whole.
    for version in 1..=15 {
        service.put("u", version, 0, half);
        service.work();
    }
    assert!(service.stats().replica_bytes > 0);
    for version in 1..=15 {
        service.put("u", version, half, half);
        service.work();
    }
    assert_eq!(service.stats().entries, 15);
}

#[test]
fn memory_into_which_a_task_writes_goes_to_a_put_when_the_task_ends() {
    let mut service = Service::with_pattern(config(4 * ROWS * ROW));
    service.put("u", 1, 0, 1);
    assert_eq!((service.tasks.len(), service.stats().replica_bytes), (1, ROWS * ROW));
    let id = service.reserve("v", 0, 4);
    assert!(matches!(service.answer(id), Some(Reply::Failed(_))), "there is no such variable");
    service.define("v", Definition::new(DType::BYTES, Extents::new(&[64, ROW]).unwrap()));
    let id = service.reserve("v", 0, 4 * ROWS - 1);
    assert!(service.answer(id).is_none(), "the task still writes");
    service.work();
    assert!(service.fill(id, "v", 0, 0, 4 * ROWS - 1));
    assert_eq!(service.stats().replica_bytes, 0);
}

#[test]
fn a_replica_that_meets_what_a_writer_keeps_is_dropped() {
    let mut service = Service::with_pattern(config(16 * ROWS * ROW));
    service.put("u", 1, 0, 1);
    assert_eq!(service.stats().replica_bytes, ROWS * ROW);
    let (address, source) = ("unix:writer".to_string(), key("kept", 0));
    let (region, layout) = (rows(1, ROWS - 1), Layout::right(2));
    let (of, put) = (service.prints["u"], region.into());
    service.ask(Request::Refer { key: key("u", 1), of, region, put, layout, address, source });
    service.work();
    assert_eq!(service.stats().replica_bytes, 0);
    assert!(service.tasks.is_empty());
}

#[test]
fn a_put_that_finds_no_room_is_told_what_replicas_hold() {
    let mut service = Service::with_pattern(config(2 * ROWS * ROW));
    service.put("u", 1, 0, ROWS);
    service.work();
    let id = service.get(1, left(), None);
    let Some(Reply::Parts { parts, .. }) = service.answer(id) else { panic!("it is there") };
    let ticket = match parts[0].lies {
        thalweg_services::staging::message::Lies::Here { ticket, .. } => ticket,
        _ => panic!("it is here"),
    };
    service.toy.words.get_mut(&ME).unwrap().hazards.push(ticket);
    let id = service.reserve("u", 2, ROWS);
    service.expire();
    let (kind, text) = refusal(service.answer(id));
    assert_eq!(kind, Kind::Timeout);
    assert!(
        text.contains("2 of 128 places are taken, 1 by replicas") && text.contains("replicas hold 2 KiB"),
        "{text}"
    );
}

#[test]
fn replicas_give_their_places_in_the_directory_to_what_is_put() {
    for when_full in [WhenFull::Block, WhenFull::DropOldest] {
        let places = 16;
        let config = Config { slots: 2 * places, when_full, ..config(1 << 20) };
        let mut service = Service::with_pattern(config);
        for version in 1..=places as u64 {
            service.put("u", version, 0, ROWS);
            service.work();
        }
        let stats = service.stats();
        assert!(stats.replicas_made > 4);
        assert_eq!((stats.entries, stats.dropped, stats.replica_bytes), (places as u64, 0, 0));
    }
}

#[test]
fn replicas_take_a_share_of_the_directory() {
    let mut service = Service::with_pattern(Config { slots: 64, ..config(1 << 20) });
    (1..=20).for_each(|version| {
        service.put("u", version, 0, ROWS);
        service.work();
        service.get(version, left(), None);
    });
    let stats = service.stats();
    assert_eq!((stats.entries, stats.replica_bytes), (20, 8 * ROWS * ROW));
    assert_eq!(stats.replica_hits, 20, "those of the newest versions are there");
}

#[test]
fn one_task_at_a_time_fills_a_replica() {
    let mut service = Service::with_pattern(config(1 << 20));
    let made = service.stats().replicas_made;
    for row in 0..ROWS {
        service.put("u", 1, row, 1);
        assert_eq!(service.tasks.len(), 1);
    }
    let number = service.tasks.pop().unwrap().0;
    service.step(Input::Done { number, outcome: Outcome::Written });
    let Some((number, Task::Reorganise { parts, .. })) = service.tasks.pop() else {
        panic!("rows have come")
    };
    assert_eq!(parts.len() as u64, ROWS - 1, "all that came meanwhile");
    service.step(Input::Done { number, outcome: Outcome::Written });
    assert!(service.tasks.is_empty() && service.stats().replicas_made == made + 1);
}

#[test]
fn a_busy_server_is_not_waited_for() {
    let mut service =
        Service::with_pattern(Config { slots: 1 << 12, waits_per_client: 1000, ..config(1 << 23) });
    let versions = 300;
    (1..=versions).for_each(|version| service.put("u", version, 0, ROWS));
    let begun = service.tasks.len() as u64;
    assert!(begun < versions, "{begun} tasks wait");
    for strategy in Strategy::ALL {
        let id = service.get(versions, left(), Some(strategy));
        assert!(matches!(service.answer(id), Some(Reply::Parts { .. })), "{strategy} waits");
    }
    let reduce = |service: &mut Service| {
        let (which, wish) = (Which::Exactly(Version(1)), Wish::Summary { bins: None });
        let region = rows(0, ROWS);
        let of = service.prints["u"];
        let id = service.post(Request::Get { name: name("u"), of, which, region, wish, within: Nanos(1000) });
        service.answer(id)
    };
    let refused = (0..1000).find_map(|_| reduce(&mut service)).unwrap();
    let (kind, text) = refusal(Some(refused));
    assert_eq!((kind, text.contains("256 tasks wait already")), (Kind::Full, true), "{text}");
    assert_eq!(service.tasks.len(), 256);
    service.work();
    service.put("u", versions + 1, 0, ROWS);
    assert_eq!(service.tasks.len(), 1, "it is not busy any more");
}

#[test]
fn a_reduction_that_takes_too_long_is_told_so_in_time() {
    let mut service = Service::new(config(16 * ROWS * ROW));
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
    service.put("u", 0, 0, ROWS);
    let reduce = |service: &mut Service, within| {
        let (which, wish) = (Which::Exactly(Version(0)), Wish::Summary { bins: None });
        let (of, region) = (service.prints["u"], rows(0, ROWS));
        service.post(Request::Get { name: name("u"), of, which, region, wish, within })
    };
    let (timed, at_once) = (reduce(&mut service, Nanos(1000)), reduce(&mut service, Nanos(0)));
    service.now = service.now.after(Nanos(1000));
    service.step(Input::Tick);
    let (kind, text) = refusal(service.answer(timed));
    assert_eq!((kind, text.contains("2 tasks are under way")), (Kind::Timeout, true), "{text}");
    assert!(service.answer(at_once).is_none(), "who waits for no other put waits for the numbers");
    service.work();
    assert!(service.answer(timed).is_none(), "one answer is enough");
    assert!(service.answer(at_once).is_some());
}

#[test]
fn what_a_full_spill_file_cannot_take_is_dropped_where_the_policy_is_so() {
    let version = ROWS * ROW;
    for leased in [false, true] {
        let when_full = WhenFull::DropOldest;
        let spill = Some(Bytes(2 * version));
        let mut service =
            Service::new(Config { spill, when_full, replicas: Bytes(0), ..config(4 * version) });
        service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
        for version in 0..20 {
            let id = service.reserve("u", version, ROWS);
            service.work();
            assert!(service.fill(id, "u", version, 0, ROWS), "version {version} waits");
            if leased && version == 0 {
                let ticket = service.toy.directory.values().next().unwrap().0;
                service.toy.words.get_mut(&ME).unwrap().hazards.push(ticket);
            }
        }
        let stats = service.stats();
        assert_eq!((stats.entries, stats.dropped, stats.spilled_bytes), (6, 14, 2 * version));
    }
}

#[test]
fn a_full_disk_under_the_spill_file_costs_one_version_for_each_that_comes() {
    let version = ROWS * ROW;
    let when_full = WhenFull::DropOldest;
    let spill = Some(Bytes(100 * version));
    let mut service = Service::new(Config { spill, when_full, replicas: Bytes(0), ..config(4 * version) });
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
    let put = |service: &mut Service, version| {
        let id = service.reserve("u", version, ROWS);
        service.work();
        assert!(service.fill(id, "u", version, 0, ROWS), "version {version} waits");
    };
    (0..20).for_each(|version| put(&mut service, version));
    assert_eq!((service.stats().dropped, service.stats().spilled_bytes), (0, 16 * version));
    // From now on the disk has the blocks that were written before, and no more.
    service.disk = Some(16 * version);
    for (count, version) in (20..30).enumerate() {
        put(&mut service, version);
        let stats = service.stats();
        assert_eq!((stats.dropped, stats.entries), (count as u64 + 1, 20), "version {version}");
    }
}

#[test]
fn memory_that_is_not_used_any_more_goes_back_to_the_system() {
    let version = 1 << 20;
    let mut service = Service::new(config(256 << 20));
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[4 << 10, ROW]).unwrap()));
    (0..100).for_each(|v| service.put("u", v, 0, 4 << 10));
    let peak = service.stats().memory_bytes;
    assert!(peak >= 100 * version);
    (0..100).for_each(|v| drop(service.ask(Request::Release { key: key("u", v) })));
    for _ in 0..2 {
        let at = service.core.next_deadline().unwrap();
        assert_eq!(service.stats().memory_bytes, peak, "not before it was free for a while");
        service.now = service.now.max(at);
        service.step(Input::Tick);
    }
    assert!(service.stats().memory_bytes <= 16 << 20, "{}", service.stats().memory_bytes);
    assert_eq!(service.core.next_deadline(), None);
    service.put("u", 200, 0, 4 << 10);
}

#[test]
fn who_waits_because_the_spill_file_is_full_is_told_so() {
    let version = ROWS * ROW;
    let spill = Some(Bytes(version));
    let mut service = Service::new(Config { spill, ..config(2 * version) });
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
    for version in 0..3 {
        let id = service.reserve("u", version, ROWS);
        service.work();
        assert!(service.fill(id, "u", version, 0, ROWS));
    }
    let id = service.reserve("u", 3, ROWS);
    assert!(service.tasks.is_empty() && service.answer(id).is_none());
    service.expire();
    let (kind, text) = refusal(service.answer(id));
    assert_eq!(kind, Kind::Timeout);
    assert!(
        text.contains("the spill file of 2 KiB holds 2 KiB, its largest free piece is 0 bytes"),
        "{text}"
    );
}

#[test]
fn who_waits_for_a_version_that_is_dropped_is_told_at_once() {
    let when_full = WhenFull::DropOldest;
    let mut service = Service::new(Config { when_full, ..config(2 * ROWS * ROW) });
    let extents = Extents::new(&[ROWS, ROW]).unwrap();
    ["u", "v"].iter().for_each(|u| service.define(u, Definition::new(DType::BYTES, extents)));
    service.put("u", 0, 0, 1);
    let waits = service.get(0, None, None);
    assert!(service.answer(waits).is_none());
    service.put("v", 0, 0, ROWS);
    service.put("v", 1, 0, ROWS);
    let asks = service.get(0, None, None);
    for id in [waits, asks] {
        let (kind, text) = refusal(service.answer(id));
        assert_eq!((kind, text.contains("dropped")), (Kind::NotFound, true), "{text}");
    }
}

#[test]
fn what_nobody_reads_again_is_not_prepared_for_ever() {
    let mut service = Service::with_pattern(config(1 << 20));
    let prepared = |service: &mut Service, versions: std::ops::Range<u64>| {
        let before = service.stats().replicas_made;
        for version in versions {
            service.put("u", version, 0, ROWS);
            service.work();
            service.ask(Request::Release { key: key("u", version) });
        }
        service.stats().replicas_made - before
    };
    assert_eq!(prepared(&mut service, 1..40), 4);
    service.put("u", 40, 0, ROWS);
    service.get(40, left(), None);
    assert_eq!(prepared(&mut service, 41..43), 2, "a get brings the pattern back");
}

#[test]
fn a_large_put_that_waits_lets_pass_what_makes_its_room() {
    let mut service = Service::new(config(64 * ROW));
    let extents = Extents::new(&[30, ROW]).unwrap();
    service.define("u", Definition { keep_last: Some(1), ..Definition::new(DType::BYTES, extents) });
    service.define("v", Definition::new(DType::BYTES, extents));
    service.put("u", 0, 0, 30);
    service.put("u", 1, 0, 15);
    let large = service.reserve("v", 0, 30);
    assert!(service.answer(large).is_none());
    service.put("u", 1, 15, 15);
    assert!(service.fill(large, "v", 0, 0, 30), "version 0 has made room");
}

#[test]
fn a_large_put_that_waits_is_not_overtaken_for_ever() {
    let mut service = Service::new(config(120 * ROW));
    let extents = Extents::new(&[90, ROW]).unwrap();
    ["u", "v"].iter().for_each(|u| service.define(u, Definition::new(DType::BYTES, extents)));
    service.put("u", 0, 0, 69);
    service.put("u", 1, 0, 1);
    let large = service.reserve("v", 0, 60);
    let passed = (0..40).take_while(|version| {
        let id = service.reserve("u", 10 + version, 1);
        service.fill(id, "u", 10 + version, 0, 1)
    });
    assert_eq!(passed.count(), 32, "more would be too often");
    let begun = service.reserve("u", 1, 1);
    assert!(service.fill(begun, "u", 1, 1, 1), "its end could make room");
    service.ask(Request::Release { key: key("u", 0) });
    assert!(service.fill(large, "v", 0, 0, 60));
}

#[test]
fn a_writer_far_ahead_leaves_the_others_the_memory_that_they_need() {
    let (version, quarter) = (ROWS * ROW, ROWS / 4);
    let mut service = Service::new(Config { replicas: Bytes(0), ..config(8 * version) });
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
    service.put("u", 0, 0, ROWS);
    service.ask(Request::Release { key: key("u", 0) });
    let ahead = (1..).take_while(|version| {
        let id = service.reserve("u", *version, quarter);
        service.fill(id, "u", *version, 0, quarter)
    });
    let ahead = ahead.count() as u64;
    assert!((8..32).contains(&ahead), "{ahead} versions are begun");
    // The others come, and what is complete is let go.
    for version in 1..=ahead {
        (1..4).for_each(|rank| service.put("u", version, rank * quarter, quarter));
        service.ask(Request::Release { key: key("u", version) });
    }
    assert_eq!(service.answers.len(), 1, "the one that waited has room");
}

#[test]
fn versions_that_are_kept_until_newer_ones_are_complete_can_become_so() {
    let (version, half, kept) = (ROWS * ROW, ROWS / 2, 3);
    let mut service = Service::new(Config { replicas: Bytes(0), ..config(8 * version) });
    let plain = Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap());
    service.define("u", Definition { keep_last: Some(kept), ..plain });
    service.put("u", 0, 0, ROWS);
    let ahead = (1..).take_while(|version| {
        let id = service.reserve("u", *version, half);
        service.fill(id, "u", *version, 0, half)
    });
    let ahead = ahead.count() as u64;
    assert!(ahead > u64::from(kept), "{ahead} versions are begun");
    (1..=ahead).for_each(|version| service.put("u", version, half, half));
    assert_eq!(service.stats().entries, u64::from(kept));
}

#[test]
fn versions_that_never_become_complete_keep_nothing_from_others() {
    let mut service = Service::new(Config { replicas: Bytes(0), ..config(8 * ROWS * ROW) });
    service.define("u", Definition::new(DType::BYTES, Extents::new(&[ROWS, ROW]).unwrap()));
    service.put("u", 0, 0, ROWS);
    service.ask(Request::Release { key: key("u", 0) });
    service.put("u", 1, 0, 1);
    service.ask(Request::Release { key: key("u", 1) });
    (2..60).for_each(|version| service.put("u", version, 0, 1));
}

#[test]
fn who_waits_for_a_task_in_vain_is_refused_where_the_policy_is_so() {
    let when_full = WhenFull::Fail;
    let mut service = Service::with_pattern(Config { when_full, ..config(4 * ROWS * ROW) });
    service.put("u", 1, 0, 1);
    service.define("v", Definition::new(DType::BYTES, Extents::new(&[64, ROW]).unwrap()));
    let id = service.reserve("v", 0, 4 * ROWS);
    assert!(service.answer(id).is_none(), "the task still writes");
    service.work();
    assert_eq!(refusal(service.answer(id)).0, Kind::Full);
}
