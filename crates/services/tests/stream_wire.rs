//! The stream service's wire: what is documented is what is sent, and arbitrary bytes are refused or mean themselves.
//! `THALWEG_FUZZ=1000000` tries longer; `THALWEG_SEED=7` replays one.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fmt::Debug;
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Error, Kind, Nanos};
use thalweg_services::envelope::{decode, encode};
use thalweg_services::greeting::{Greeting, Hello};
use thalweg_services::stream::driver::{Handshake, RemoteReply, RemoteRequest, Whereabouts};
use thalweg_services::stream::message::{Batch, Begin, Held, Place, Reply, Request};
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};

fn name(text: &str) -> Name {
    Name::new("test", text).unwrap()
}

fn place() -> Place {
    Place { topic: name("frames"), partition: 3 }
}

fn batch() -> Batch {
    Batch {
        producer: 0x1122_3344_5566_7788,
        sequence: 41,
        heard: 40,
        events: 2,
        metadata_bytes: 14,
        data_bytes: 3,
        apart: false,
        at: 4096,
    }
}

fn partition() -> Partition {
    Partition {
        rest: Rest::Apart { data: "/fast".into() },
        durability: Durability::Interval(Nanos(50_000_000)),
        retention: Retention { age: Some(Nanos(9)), bytes: Some(Bytes(1 << 30)), acknowledged: true },
    }
}

fn topic() -> Topic {
    let rule = |text: &str| text.to_string();
    Topic {
        partitions: vec![partition(), partition()],
        validator: rule("null"),
        selector: rule("\"round_robin\""),
        serializer: rule("\"json\""),
    }
}

fn requests() -> Vec<Request> {
    let (topic_name, consumer) = (name("frames"), name("trainer"));
    vec![
        Request::Create { name: name("frames"), topic: topic() },
        Request::Delete { name: name("frames") },
        Request::List,
        Request::Describe { name: name("frames") },
        Request::AddPartition { name: name("frames"), partition: partition() },
        Request::Produce { place: place(), batch: batch() },
        Request::Join {
            topic: topic_name.clone(),
            consumer: consumer.clone(),
            only: Some(vec![0, 3]),
            begin: Begin::Next,
        },
        Request::Poll {
            topic: topic_name.clone(),
            consumer: consumer.clone(),
            generation: 7,
            known: vec![(0, 10), (3, 1 << 40)],
            within: Nanos(5),
        },
        Request::Acknowledge { place: place(), consumer: consumer.clone(), next: 9 },
        Request::Leave { topic: topic_name, consumer, forget: true },
        Request::Cancel { request: 77 },
    ]
}

fn replies() -> Vec<Reply> {
    vec![
        Reply::Done,
        Reply::Topics(vec![name("a"), name("b")]),
        Reply::Topic(topic(), vec![0..9, 5..1 << 40]),
        Reply::Produced(1 << 33),
        Reply::News { generation: 8, held: vec![Held { partition: 3, next: 4, events: 0..9, origin: 5 }] },
        Reply::Failed(Error::new(Kind::Full, "stream.produce", "no room")),
    ]
}

fn handshakes() -> Vec<Handshake> {
    vec![
        Handshake::Refused(Error::new(Kind::Access, "stream.connect", "wrong token")),
        Handshake::Welcome,
        Handshake::Outbox { bytes: Bytes(64 << 20) },
        Handshake::Descriptor { bytes: Bytes(64 << 20) },
        Handshake::Segment { place: place(), event: 900 },
        Handshake::Data { place: place(), position: 1 << 40 },
        Handshake::Since { place: place(), time: Nanos(1 << 60) },
        Handshake::File(Whereabouts { number: 800, place: 64, next: 800, end: Some(1000) }),
        Handshake::Event(1000),
    ]
}

fn frames() -> Vec<RemoteRequest> {
    vec![
        RemoteRequest::Ask(Request::Produce { place: place(), batch: batch() }),
        RemoteRequest::Fetch { place: place(), wanted: 9, until: 100, most: 1 << 19 },
        RemoteRequest::Outbox(Bytes(64 << 20)),
        RemoteRequest::Since { place: place(), time: Nanos(5) },
        RemoteRequest::Data { place: place(), event: 9, range: 0..1 << 20 },
    ]
}

fn remote_replies() -> Vec<RemoteReply> {
    vec![
        RemoteReply::Failed(Error::new(Kind::Gone, "stream", "closing")),
        RemoteReply::Welcome,
        RemoteReply::Answer(Reply::Produced(7)),
        RemoteReply::Entries { bytes: 4096, number: 0, salt: 77, place: 64, next: 9 },
        RemoteReply::Damaged { next: 12, why: Error::new(Kind::Corrupt, "journal.read", "bad") },
        RemoteReply::Event(8),
        RemoteReply::Bytes(1 << 20),
    ]
}

/// A generator that needs no library: SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

/// What can be read of mutated messages must, written again, read as the same.
fn attack<T: Debug + PartialEq>(
    good: &[Vec<u8>],
    read: impl Fn(&[u8]) -> Option<T>,
    write: impl Fn(&T) -> Vec<u8>,
) {
    for bytes in good {
        let message = read(bytes).expect("a good message is read");
        assert_eq!(&write(&message), bytes);
    }
    let mut chance = Chance(number("THALWEG_SEED", 1));
    for _ in 0..number("THALWEG_FUZZ", 30_000) {
        let mut bytes = good[chance.below(good.len())].clone();
        for _ in 0..=chance.below(4) {
            let at = chance.below(bytes.len());
            match chance.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, chance.next() as u8),
                2 if !bytes.is_empty() => bytes[at] = chance.next() as u8,
                _ if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
                _ => bytes.push(chance.next() as u8),
            }
        }
        if let Some(message) = read(&bytes) {
            assert_eq!(read(&write(&message)).as_ref(), Some(&message));
        }
    }
}

fn encoded<T: serde::Serialize>(message: &T) -> Vec<u8> {
    postcard::to_stdvec(message).unwrap()
}

#[test]
fn messages_survive_an_attack() {
    let write = |(id, body): &(u64, Request)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = requests().into_iter().map(|body| write(&(300, body))).collect();
    attack(&good, |bytes| decode::<Request>(bytes).ok(), write);
    let write = |(id, body): &(u64, Reply)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = replies().into_iter().map(|body| write(&(300, body))).collect();
    attack(&good, |bytes| decode::<Reply>(bytes).ok(), write);
}

#[test]
fn handshakes_survive_an_attack() {
    let good: Vec<Vec<u8>> = handshakes().iter().map(encoded).collect();
    attack(&good, |bytes| Handshake::decode(bytes).ok(), encoded);
}

#[test]
fn frames_between_nodes_survive_an_attack() {
    let write = |(id, body): &(u64, RemoteRequest)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = frames().into_iter().map(|body| write(&(5, body))).collect();
    attack(&good, |bytes| decode::<RemoteRequest>(bytes).ok(), write);
    let write = |(id, body): &(u64, RemoteReply)| encode(*id, body, Vec::new()).unwrap();
    let good: Vec<Vec<u8>> = remote_replies().into_iter().map(|body| write(&(5, body))).collect();
    attack(&good, |bytes| decode::<RemoteReply>(bytes).ok(), write);
}

/// The examples of docs/formats/stream-wire.md.
#[test]
fn the_documents_examples_are_what_is_sent() {
    let hello = Hello {
        protocol: 1,
        name: name("detector"),
        pid: 4711,
        namespace: name("streams"),
        token: "a-long-secret".into(),
    };
    let examples = [
        Greeting::Streams(hello).encode().unwrap(),
        encode(5, &Request::Produce { place: place(), batch: batch() }, Vec::new()).unwrap(),
        encode(5, &Reply::Produced(1000), Vec::new()).unwrap(),
    ];
    let hex = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let written = examples.map(|bytes| bytes.chunks(16).map(hex).collect::<Vec<_>>().join("\n"));
    let document = include_str!("../../../docs/formats/stream-wire.md");
    let blocks = document.split("```hex\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    assert_eq!(written.to_vec(), blocks.collect::<Vec<_>>(), "{written:#?}");
}
