//! A client that says whatever it likes, with whatever in its outbox, to a service that others use: they are not disturbed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_services::envelope::decode;
use thalweg_services::stream::core::Config;
use thalweg_services::stream::driver::{Delivery, Host, Outbox, Settings};
use thalweg_services::stream::message::{Batch, Place, Reply, Request};
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};

struct Memory(Vec<u8>);

impl Outbox for Memory {
    fn bytes(&self, at: u64, bytes: u64) -> Result<&[u8]> {
        let range = usize::try_from(at).ok().zip(at.checked_add(bytes).and_then(|end| usize::try_from(end).ok()));
        let found = range.and_then(|(at, end)| self.0.get(at..end));
        found.ok_or_else(|| Error::new(Kind::Protocol, "fuzz", "outside"))
    }
}

struct Way(Sender<(u64, Reply)>);

impl Delivery for Way {
    fn deliver(&mut self, id: u64, reply: Reply) {
        let _ = self.0.send((id, reply));
    }
}

fn joined(host: &Host, outbox: Vec<u8>) -> (PeerId, Receiver<(u64, Reply)>) {
    let (way, replies) = channel();
    let peer = host.join(Box::new(Way(way)), Arc::new(Memory(outbox))).expect("the service is open");
    (peer, replies)
}

fn name(text: &str) -> Name {
    Name::new("fuzz", text).expect("a name")
}

fn host() -> &'static Arc<Host> {
    static HOST: OnceLock<Arc<Host>> = OnceLock::new();
    HOST.get_or_init(|| {
        let settings = Settings { folder: None, memory: Bytes(64 << 20), config: Config { topics: 50, consumers: 50 } };
        Host::open(settings).expect("the service opens")
    })
}

/// One event without metadata, whose data are 8 bytes.
fn event() -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(8u64.to_le_bytes());
    body.extend([7; 8]);
    body
}

/// An honest client makes a topic, appends to it and removes it: the service does all that, whatever was said to it before.
fn honest(host: &Host) {
    let (peer, replies) = joined(host, event());
    let answer = |id: u64, body: Request| {
        host.submit(peer, id, body).expect("the service takes requests");
        let (of, reply) = replies.recv_timeout(Duration::from_secs(20)).expect("an answer");
        assert_eq!(of, id);
        reply
    };
    let retention = Retention { bytes: Some(Bytes(1 << 20)), ..Retention::default() };
    let partition = Partition { rest: Rest::Memory, durability: Durability::None, retention };
    let rule = String::new;
    let topic = Topic { partitions: vec![partition], validator: rule(), selector: rule(), serializer: rule() };
    let honest = name("honest");
    let _ = answer(1, Request::Delete { name: honest.clone() });
    let made = answer(2, Request::Create { name: honest.clone(), topic });
    assert!(made == Reply::Done || matches!(&made, Reply::Failed(e) if e.kind == Kind::Full), "{made:?}");
    if made == Reply::Done {
        let batch = Batch {
            producer: 1,
            sequence: 0,
            heard: 0,
            events: 1,
            metadata_bytes: 0,
            data_bytes: 8,
            apart: false,
            at: 0,
        };
        let place = Place { topic: honest.clone(), partition: 0 };
        let appended = answer(3, Request::Produce { place, batch });
        let full = matches!(&appended, Reply::Failed(e) if e.kind == Kind::Full);
        assert!(full || appended == Reply::Produced(0), "{appended:?}");
        assert_eq!(answer(4, Request::Delete { name: honest }), Reply::Done);
    }
    host.leave(peer);
}

fuzz_target!(|bytes: &[u8]| {
    let host = host();
    // First what is said, each with its length in front, then what lies in the outbox.
    let (count, mut rest) = bytes.split_first().map_or((0, bytes), |(n, rest)| (*n % 16, rest));
    let mut said = Vec::new();
    for _ in 0..count {
        let Some((length, behind)) = rest.split_first() else { break };
        let (message, behind) = behind.split_at(usize::from(*length).min(behind.len()));
        said.push(message);
        rest = behind;
    }
    let (peer, _replies) = joined(host, rest.to_vec());
    for message in said {
        let Ok((id, body)) = decode::<Request>(message) else { continue };
        // Folders on this machine are nobody's to choose here.
        let folders = |partition: &Partition| partition.rest != Rest::Memory;
        match &body {
            Request::Create { topic, .. } if topic.partitions.iter().any(folders) => continue,
            Request::AddPartition { partition, .. } if folders(partition) => continue,
            _ => host.submit(peer, id, body).expect("the service takes requests"),
        }
    }
    host.leave(peer);
    honest(host);
});
