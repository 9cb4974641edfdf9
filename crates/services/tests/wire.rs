//! The wire decoder meets arbitrary and mutated bytes: it refuses them or reads a message that means itself, and never
//! panics. `THALWEG_FUZZ=1000000` tries longer; `THALWEG_SEED=7` replays one.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fmt::Debug;
use thalweg_foundation::array::{
    Cell, DType, Extents, Field, Histogram, Layout, Number, Records, Region, Shape, Sum, Summary,
};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::sync::Ticket;
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Version};
use thalweg_services::envelope::{decode, encode, MESSAGE_MAX};
use thalweg_services::greeting::{Greeting, Hello};
use thalweg_services::staging::driver::{Handshake, RemoteReply, RemoteRequest};
use thalweg_services::staging::message::{
    Bins, Entry, Grant, Habit, Lies, Part, Publication, Purpose, Question, Reduction, Reply, Request, Stats,
    VersionState, Which, Wish,
};
use thalweg_services::staging::{Definition, Strategy};

fn key() -> Key {
    Key { name: Name::new("test", "vorticity").unwrap(), version: Version(70_000) }
}

fn shape() -> Shape {
    Shape::new(DType::new(b'f', 8).unwrap(), Extents::new(&[64, 300, 7]).unwrap()).unwrap()
}

fn hello() -> Hello {
    let name = |text| Name::new("test", text).unwrap();
    Hello { protocol: 1, name: name("solver"), pid: 4711, namespace: name("run"), token: "secret".into() }
}

fn grant() -> Grant {
    Grant { id: 99, segment: 0, offset: 1 << 40, bytes: Bytes(12_345) }
}

fn requests() -> Vec<Request> {
    vec![
        Request::Reserve {
            bytes: Bytes(1 << 33),
            key: key(),
            purpose: Purpose::Array { replace: false },
            within: Nanos(5),
        },
        Request::Reserve { bytes: Bytes(9), key: key(), purpose: Purpose::Piece, within: Nanos(0) },
        Request::Put { grant: 7, key: key(), shape: shape(), replace: true },
        Request::Abandon { grant: u64::MAX },
        Request::Wait { keys: vec![key(), key()], all: false, within: Nanos(u64::MAX) },
        Request::Cancel { request: 3 },
        Request::Delete { key: key() },
        Request::List { after: Some(key()) },
        Request::List { after: None },
        Request::DropNamespace,
        Request::Stats,
        Request::Released,
        Request::Define { name: key().name, definition: definition(), part: region() },
        Request::Describe { name: key().name, within: Nanos(1) },
        Request::Variables { after: Some(key().name) },
        Request::Annotate { name: key().name, attribute: "units".into(), value: "m/s".into() },
        Request::PutPiece {
            grant: 5,
            key: key(),
            of: definition().print(),
            region: region(),
            put: region().into(),
            layout: layout(),
        },
        Request::Refer {
            key: key(),
            of: definition().print(),
            region: region(),
            put: region().into(),
            layout: layout(),
            address: "unix:@x".into(),
            source: key(),
        },
        get(Which::Exactly(Version(7)), Wish::Parts { layout: Some(layout()), strategy: None }),
        get(Which::LATEST, Wish::Parts { layout: None, strategy: Some(Strategy::InAdvance) }),
        get(
            Which::From(Version(1)),
            Wish::Summary { bins: Some(Bins { lower: -1.5, upper: 2.0, count: 9 }) },
        ),
        Request::Seal { key: key(), writer: 3 },
        Request::Release { key: key() },
        Request::Versions { name: key().name, after: Some(Version(2)) },
        Request::Patterns { name: key().name },
    ]
}

fn region() -> Region {
    Region::new(&[0, 100, 2], &[64, 200, 5]).unwrap()
}

fn layout() -> Layout {
    Layout::of(&[2, 0, 1]).unwrap().with_records(Records::Arrays)
}

fn definition() -> Definition {
    let field = |text: &str, size, offset| Field {
        name: Name::new("test", text).unwrap(),
        dtype: DType::new(b'f', size).unwrap(),
        offset,
    };
    let cell = Cell::record(16, vec![field("x", 8, 0), field("y", 4, 8)]).unwrap();
    let plain = Definition::new(DType::new(b'f', 8).unwrap(), Extents::new(&[64, 300, 7]).unwrap());
    Definition { cell, layouts: vec![layout()], keep_last: Some(3), writers: 4, ..plain }
}

fn get(which: Which, wish: Wish) -> Request {
    let of = definition().print();
    Request::Get { name: key().name, of, which, region: region(), wish, within: Nanos(77) }
}

fn replies() -> Vec<Reply> {
    vec![
        Reply::Granted(grant()),
        Reply::Stored { spare: Some(grant()) },
        Reply::Covered,
        Reply::Known { by: "solver (pid 7)".into() },
        Reply::Done,
        Reply::Ready(vec![0, 5, 400]),
        Reply::Deleted(true),
        Reply::Dropped(17),
        Reply::Entries { entries: vec![Entry { key: key(), shape: shape() }], more: true },
        Reply::Stats(Stats { puts: 9, ..Stats::default() }),
        Reply::Failed(Error::new(Kind::Full, "stage.put", "no room")),
        Reply::Defined {
            definition: Box::new(definition()),
            part: region(),
            attributes: vec![("units".into(), "m/s".into())],
        },
        Reply::Parts {
            version: Version(7),
            parts: vec![
                Part {
                    lies: Lies::Here { slot: 4, ticket: Ticket(9), segment: 1, offset: 1 << 33 },
                    region: region(),
                    layout: layout(),
                    cells: vec![region()],
                },
                Part {
                    lies: Lies::There { address: "unix:@x".into(), source: key(), keeper: "s".into() },
                    region: region(),
                    layout: Layout::right(3),
                    cells: vec![],
                },
            ],
        },
        Reply::Summary {
            version: Version(1),
            found: Reduction {
                summary: Summary {
                    count: 3,
                    min: Some(Number::Real(-1.0)),
                    max: Some(Number::Whole(2)),
                    sum: Sum::Real(0.5, 1e-20),
                },
                histogram: Some(Histogram { low: 0.0, high: 1.0, counts: vec![1, 2] }),
            },
        },
        Reply::Released(true),
        Reply::Versions {
            versions: vec![VersionState {
                version: Version(3),
                cells: 77,
                complete: false,
                seals: 1,
                pieces: 2,
                replicas: 0,
            }],
            more: false,
        },
        Reply::Variables { names: vec![key().name], more: true },
        Reply::Patterns(vec![Habit { region: region(), layout: layout(), gets: 5 }]),
    ]
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % n
    }
}

fn mutated(seed: u64, good: &[Vec<u8>]) -> Vec<u8> {
    let mut chance = Chance(seed);
    let mut bytes = good[chance.below(good.len())].clone();
    for _ in 0..1 + chance.below(6) {
        let at = chance.below(bytes.len().max(1));
        match chance.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
            1 if !bytes.is_empty() => bytes[at] = chance.below(256) as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at.min(bytes.len()), 0xff),
            4 => {
                let other = &good[chance.below(good.len())];
                bytes.extend_from_slice(&other[chance.below(other.len())..]);
            }
            _ => bytes = (0..chance.below(40)).map(|_| chance.below(256) as u8).collect(),
        }
    }
    bytes
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Tries many mutations of `good`; what `read` accepts must mean itself when written again.
fn attack<T: PartialEq + Debug>(
    good: &[Vec<u8>],
    read: impl Fn(&[u8]) -> Option<T>,
    write: impl Fn(&T) -> Vec<u8>,
) {
    for bytes in good {
        assert!(read(bytes).is_some(), "a good message is refused");
    }
    let seeds = match number("THALWEG_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("THALWEG_FUZZ").unwrap_or(60_000),
    };
    let mut accepted = 0;
    for seed in seeds.clone() {
        let bytes = mutated(seed, good);
        if let Some(message) = read(&bytes) {
            accepted += 1;
            assert_eq!(read(&write(&message)).as_ref(), Some(&message), "seed {seed}: {bytes:?}");
        }
    }
    assert!(
        seeds.end - seeds.start < 1000 || accepted > 0,
        "no mutation was ever accepted: the test is blind"
    );
}

#[test]
fn requests_survive_an_attack() {
    let write = |(id, body): &(u64, Request)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = requests().into_iter().map(|body| write(&(300, body))).collect();
    attack(&good, |bytes| decode::<Request>(bytes).ok(), write);
}

#[test]
fn replies_survive_an_attack() {
    let write = |(id, body): &(u64, Reply)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = replies().into_iter().map(|body| write(&(300, body))).collect();
    attack(&good, |bytes| decode::<Reply>(bytes).ok(), write);
}

#[test]
fn greetings_survive_an_attack() {
    let write = |message: &Greeting| message.encode().unwrap();
    let good = [Greeting::Staging(hello()), Greeting::Streams(hello())].map(|message| write(&message));
    attack(&good, |bytes| Greeting::decode(bytes).ok(), write);
}

#[test]
fn handshakes_survive_an_attack() {
    let write = |message: &Handshake| postcard::to_stdvec(message).unwrap();
    let good: Vec<Vec<u8>> = [
        Handshake::Welcome { directory: Bytes(1 << 24) },
        Handshake::Segment { number: 3, write: true },
        Handshake::Descriptor { bytes: Bytes(1 << 30) },
        Handshake::Refused(Error::new(Kind::Access, "stage.connect", "wrong token")),
    ]
    .iter()
    .map(write)
    .collect();
    attack(&good, |bytes| Handshake::decode(bytes).ok(), write);
}

#[test]
fn a_message_with_something_behind_it_is_refused() {
    let mut bytes = encode(1, &Request::Stats, Vec::new()).unwrap();
    bytes.push(0);
    assert_eq!(decode::<Request>(&bytes).unwrap_err().to_string(), "message: 1 bytes behind its end");
}

#[test]
fn a_message_that_is_too_long_is_refused_on_both_sides() {
    let long = Request::Wait {
        keys: vec![Key { name: Name::new("test", &"x".repeat(250)).unwrap(), version: Version(1) }; 2000],
        all: true,
        within: Nanos(1),
    };
    let refused = encode(1, &long, Vec::new()).unwrap_err();
    assert_eq!(refused.kind, Kind::Invalid);
    assert_eq!(decode::<Request>(&vec![0; MESSAGE_MAX + 1]).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn frames_between_nodes_survive_an_attack() {
    let write = |message: &RemoteRequest| postcard::to_stdvec(message).unwrap();
    let good: Vec<Vec<u8>> = [
        RemoteRequest::Put {
            what: Publication::Array { key: key(), shape: shape(), replace: false },
            within: Nanos(9),
        },
        RemoteRequest::Put {
            what: Publication::Piece {
                key: key(),
                of: definition().print(),
                shape: shape(),
                region: region(),
                put: region().into(),
                layout: layout(),
            },
            within: Nanos(9),
        },
        RemoteRequest::GetRegion {
            question: Question {
                name: key().name,
                of: definition().print(),
                which: Which::LATEST,
                region: region(),
                layout: Some(layout()),
                strategy: Some(Strategy::AsRequested),
            },
            within: Nanos(9),
        },
        RemoteRequest::Get { key: key(), within: Nanos(9) },
        RemoteRequest::Exists { key: key() },
        RemoteRequest::Ask(Request::Stats),
    ]
    .iter()
    .map(write)
    .collect();
    attack(&good, |bytes| postcard::from_bytes::<RemoteRequest>(bytes).ok(), write);

    let write = |message: &RemoteReply| postcard::to_stdvec(message).unwrap();
    let good: Vec<Vec<u8>> = [
        RemoteReply::Welcome,
        RemoteReply::Value(shape()),
        RemoteReply::Region { version: Version(4), layout: layout() },
        RemoteReply::Room,
        RemoteReply::Stored,
        RemoteReply::Covered,
        RemoteReply::Known { by: "solver (pid 7)".into() },
        RemoteReply::Exists(true),
        RemoteReply::Answer(Reply::Dropped(3)),
        RemoteReply::Failed(Error::new(Kind::Gone, "stage", "closing")),
    ]
    .iter()
    .map(write)
    .collect();
    attack(&good, |bytes| postcard::from_bytes::<RemoteReply>(bytes).ok(), write);
}
