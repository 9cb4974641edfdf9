//! The stream service over real files: what is acknowledged survives SIGKILL at any moment.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_services::stream::core::Config;
use thalweg_services::stream::driver::{Delivery, Host, Outbox, Settings};
use thalweg_services::stream::message::{Batch, Begin, Held, Place, Reply, Request};
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};
use thalweg_transport::journal::{Body, Disk, Journal};

const LATE: Duration = Duration::from_secs(60);

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thalweg-streams-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Way(Sender<(u64, Reply)>);

impl Delivery for Way {
    fn deliver(&mut self, id: u64, reply: Reply) {
        let _ = self.0.send((id, reply));
    }
}

/// Batches one behind the other.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<u64, &'static [u8]>>);

impl Outbox for Memory {
    fn bytes(&self, at: u64, bytes: u64) -> Result<&[u8]> {
        let all = self.0.lock().unwrap();
        let (start, held) = all.range(..=at).next_back().unwrap();
        let from = (at - start) as usize;
        let wrong = || Error::new(Kind::Protocol, "test", "outside of the outbox");
        held.get(from..from + bytes as usize).ok_or_else(wrong)
    }
}

struct Client {
    host: Arc<Host>,
    peer: PeerId,
    replies: Receiver<(u64, Reply)>,
    memory: Arc<Memory>,
    id: u64,
}

fn host(folder: &Path) -> Arc<Host> {
    Host::open(Settings {
        folder: Some(folder.to_path_buf()),
        memory: Bytes(1 << 20),
        config: Config::default(),
    })
    .unwrap()
}

fn name(text: &str) -> Name {
    Name::new("test", text).unwrap()
}

fn place(partition: u32) -> Place {
    Place { topic: name("events"), partition }
}

fn topic(durability: Durability, partitions: usize) -> Topic {
    let partition = Partition { rest: Rest::Files, durability, retention: Retention::default() };
    let partitions = vec![partition; partitions];
    Topic { partitions, validator: String::new(), selector: String::new(), serializer: String::new() }
}

/// What event `n` holds.
fn event(n: u64) -> (Vec<u8>, Vec<u8>) {
    let metadata = format!("{{\"n\":{n}}}").into_bytes();
    (metadata, (0..n % 300).map(|k| (n + k) as u8).collect())
}

impl Client {
    fn new(host: &Arc<Host>) -> Client {
        let (sender, replies) = channel();
        let memory = Arc::new(Memory::default());
        let peer = host.join(Box::new(Way(sender)), memory.clone()).unwrap();
        Client { host: host.clone(), peer, replies, memory, id: 0 }
    }

    fn send(&mut self, body: Request) -> u64 {
        self.id += 1;
        self.host.submit(self.peer, self.id, body).unwrap();
        self.id
    }

    fn ask(&mut self, body: Request) -> Reply {
        let id = self.send(body);
        let (answered, reply) = self.replies.recv_timeout(LATE).unwrap();
        assert_eq!(answered, id);
        reply
    }

    /// A batch of the events from `first` on.
    fn produce(&mut self, producer: u64, first: u64, events: u32, apart: bool) -> u64 {
        let mut body = Body::default();
        for n in first..first + u64::from(events) {
            let (metadata, data) = event(n);
            body.push(&metadata, &data).unwrap();
        }
        let mut bytes = body.bytes(!apart);
        if apart {
            bytes.resize(bytes.len().next_multiple_of(64), 0);
            bytes.extend_from_slice(body.data());
        }
        let at = first << 32;
        self.memory.0.lock().unwrap().insert(at, bytes.leak());
        let content = body.content();
        let (metadata_bytes, data_bytes) = (content.metadata, content.data);
        let heard = first;
        let batch = Batch { producer, sequence: first, heard, events, metadata_bytes, data_bytes, apart, at };
        self.send(Request::Produce { place: place(0), batch })
    }
}

/// The events of partition 0, read from its files.
fn events(folder: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let disk = Arc::new(Disk::open(&folder.join("partitions/1-0")).unwrap());
    let settings = thalweg_transport::journal::Settings { durable: true, ..Default::default() };
    let (journal, _) = Journal::open(disk.clone(), disk, settings, Box::new(|| 1), Nanos(0)).unwrap();
    let mut all = Vec::new();
    let read = journal.read(0, |entry| {
        for n in 0..entry.header.content.records {
            let data = journal.data_of(entry, n)?.into_owned();
            all.push((entry.metadata(n).to_vec(), data));
        }
        Ok(true)
    });
    assert_eq!(read.unwrap(), journal.numbers().end);
    all
}

#[test]
fn events_topics_and_positions_are_there_after_the_end_of_the_server() {
    let folder = Folder::new("again");
    let origin;
    {
        let host = host(&folder.0);
        let mut client = Client::new(&host);
        let create = Request::Create { name: name("events"), topic: topic(Durability::Always, 2) };
        assert_eq!(client.ask(create.clone()), Reply::Done);
        assert!(matches!(client.ask(create), Reply::Failed(e) if e.kind == Kind::Exists));
        for (first, apart) in [(0, false), (10, true), (20, false)] {
            client.produce(5, first, 10, apart);
            assert_eq!(client.replies.recv_timeout(LATE).unwrap().1, Reply::Produced(first));
        }
        // What is sent again is not appended again.
        client.produce(5, 10, 10, true);
        assert_eq!(client.replies.recv_timeout(LATE).unwrap().1, Reply::Produced(10));
        let (topic, consumer) = (name("events"), name("trainer"));
        let join = Request::Join { topic, consumer: consumer.clone(), only: None, begin: Begin::First };
        let Reply::News { held, .. } = client.ask(join) else { panic!() };
        let all =
            |held: &[Held]| held.iter().map(|h| (h.partition, h.next, h.events.clone())).collect::<Vec<_>>();
        assert_eq!(all(&held), [(0, 0, 0..30), (1, 0, 0..0)]);
        origin = held[0].origin;
        assert_eq!(client.ask(Request::Acknowledge { place: place(0), consumer, next: 12 }), Reply::Done);
        let beyond = Request::Acknowledge { place: place(0), consumer: name("trainer"), next: 31 };
        assert!(matches!(client.ask(beyond), Reply::Failed(e) if e.kind == Kind::Invalid));
        host.close();
    }
    {
        let host = host(&folder.0);
        let other = Host::open(Settings {
            folder: Some(folder.0.clone()),
            memory: Bytes(1 << 20),
            config: Config::default(),
        });
        assert_eq!(other.err().unwrap().kind, Kind::Access);
        let mut client = Client::new(&host);
        assert_eq!(client.ask(Request::List), Reply::Topics(vec![name("events")]));
        let (topic, consumer) = (name("events"), name("trainer"));
        let join = Request::Join { topic, consumer, only: Some(vec![0]), begin: Begin::Next };
        let Reply::News { held, .. } = client.ask(join) else { panic!() };
        assert_eq!(held, [Held { partition: 0, next: 12, events: 0..30, origin }]);
        // It still knows what it has.
        client.produce(5, 20, 10, false);
        assert_eq!(client.replies.recv_timeout(LATE).unwrap().1, Reply::Produced(20));
        assert_eq!(client.ask(Request::Delete { name: name("other") }).clone(), {
            let detail = "there is no topic \"other\"; create it first";
            Reply::Failed(Error::new(Kind::NotFound, "stream", detail))
        });
        host.close();
    }
    assert!(events(&folder.0).into_iter().eq((0..30).map(event)));
    let host = host(&folder.0);
    let mut client = Client::new(&host);
    assert_eq!(client.ask(Request::Delete { name: name("events") }), Reply::Done);
    assert_eq!(client.ask(Request::List), Reply::Topics(vec![]));
    host.close();
    assert!(!folder.0.join("partitions/1-0").exists());
}

#[test]
fn who_waits_is_told_of_new_events_and_of_the_end_of_its_time() {
    let folder = Folder::new("wait");
    let host = host(&folder.0);
    let mut client = Client::new(&host);
    let interval = Durability::Interval(Nanos(5_000_000));
    let create = Request::Create { name: name("events"), topic: topic(interval, 1) };
    assert_eq!(client.ask(create), Reply::Done);
    let (topic, consumer) = (name("events"), name("trainer"));
    let join =
        Request::Join { topic: topic.clone(), consumer: consumer.clone(), only: None, begin: Begin::First };
    let Reply::News { generation, .. } = client.ask(join) else { panic!() };
    let poll = |known, within| Request::Poll {
        topic: topic.clone(),
        consumer: consumer.clone(),
        generation,
        known: vec![(0, known)],
        within: Nanos(within),
    };
    let end = |reply| {
        let Reply::News { held, .. } = reply else { panic!() };
        held[0].events.end
    };
    // Nothing comes: it is told so when its time is up.
    assert_eq!(end(client.ask(poll(0, 1_000_000))), 0);
    let waiting = client.send(poll(0, 60_000_000_000));
    let mut other = Client::new(&host);
    other.produce(1, 0, 3, false);
    assert_eq!(other.replies.recv_timeout(LATE).unwrap().1, Reply::Produced(0));
    let (id, reply) = client.replies.recv_timeout(LATE).unwrap();
    assert_eq!((id, end(reply)), (waiting, 3));
    host.close();
    assert!(matches!(host.submit(client.peer, 99, Request::List), Err(e) if e.kind == Kind::Gone));
}

#[test]
fn memory_is_limited_and_what_does_not_fit_is_refused() {
    let folder = Folder::new("memory");
    let host = host(&folder.0);
    let mut client = Client::new(&host);
    let retention = Retention { bytes: None, age: None, acknowledged: false };
    let partition = Partition { rest: Rest::Memory, durability: Durability::None, retention };
    let mut topic = topic(Durability::None, 1);
    topic.partitions = vec![partition];
    assert_eq!(client.ask(Request::Create { name: name("events"), topic }), Reply::Done);
    let mut next = 0;
    let refused = loop {
        client.produce(1, next, 300, next.is_multiple_of(2));
        match client.replies.recv_timeout(LATE).unwrap().1 {
            Reply::Produced(first) => assert_eq!(first, next),
            other => break other,
        }
        next += 300;
    };
    assert!(matches!(&refused, Reply::Failed(e) if e.kind == Kind::Full), "{refused:?}");
    assert!((3_000..30_000).contains(&next));
    // What was there is there, and a little one still fits.
    client.produce(1, next, 1, false);
    assert_eq!(client.replies.recv_timeout(LATE).unwrap().1, Reply::Produced(next));
    let join = || Request::Join {
        topic: name("events"),
        consumer: name("trainer"),
        only: None,
        begin: Begin::First,
    };
    assert!(matches!(client.ask(join()), Reply::News { .. }));
    let acknowledge = Request::Acknowledge { place: place(0), consumer: name("trainer"), next };
    assert_eq!(client.ask(acknowledge), Reply::Done);
    host.close();
    // After the end of the server it is empty, and who reads it begins with what comes.
    let host = self::host(&folder.0);
    let mut client = Client::new(&host);
    let Reply::News { held, .. } = client.ask(join()) else { panic!() };
    assert_eq!((held[0].next, held[0].events.clone()), (0, 0..0));
    assert_eq!(client.ask(Request::Delete { name: name("events") }), Reply::Done);
    host.close();
}

#[test]
fn a_batch_that_lies_costs_nobody_else_anything() {
    let folder = Folder::new("lies");
    let host = host(&folder.0);
    let mut honest = Client::new(&host);
    let create = Request::Create { name: name("events"), topic: topic(Durability::Always, 1) };
    assert_eq!(honest.ask(create), Reply::Done);
    let mut liar = Client::new(&host);
    for round in 0..40 {
        let batch = |data_bytes, at| Batch {
            producer: 66,
            sequence: 0,
            heard: 0,
            events: 2,
            metadata_bytes: 16,
            data_bytes,
            apart: false,
            at,
        };
        liar.memory.0.lock().unwrap().insert(1 << 40, &[255; 4096]);
        // Ends that are none, more than may be, and bytes that are not in its outbox.
        for (data_bytes, behind) in [(16, 0), (u64::MAX, 0), (1 << 20, 0), (8, 4090)] {
            let batch = batch(data_bytes, (1 << 40) + behind);
            liar.send(Request::Produce { place: place(0), batch });
        }
        for k in 0..4 {
            honest.produce(7, round * 12 + k * 3, 3, k == 2);
        }
        for k in 0..4 {
            let reply = honest.replies.recv_timeout(LATE).unwrap().1;
            assert_eq!(reply, Reply::Produced(round * 12 + k * 3));
            assert!(matches!(liar.replies.recv_timeout(LATE).unwrap().1, Reply::Failed(_)));
        }
    }
    host.close();
    assert!(events(&folder.0).into_iter().eq((0..480).map(event)));
}

/// The other process: says which events were acknowledged until it is killed.
#[test]
#[ignore = "started by the test below"]
fn produces_until_it_is_killed() {
    let Some(folder) = std::env::var_os("THALWEG_CRASH") else { return };
    let first: u64 = std::env::var("THALWEG_FIRST").unwrap().parse().unwrap();
    let host = host(Path::new(&folder));
    let mut client = Client::new(&host);
    let create = Request::Create { name: name("events"), topic: topic(Durability::Always, 1) };
    drop(client.ask(create));
    let mut next = first;
    let mut say = std::io::stdout();
    loop {
        let events = 1 + next as u32 % 7;
        client.produce(9, next, events, next.is_multiple_of(3));
        match client.replies.recv_timeout(LATE).unwrap().1 {
            Reply::Produced(number) => writeln!(say, "\nacknowledged {next} {events} {number}").unwrap(),
            other => writeln!(say, "\nrefused {other:?}").unwrap(),
        }
        say.flush().unwrap();
        next += u64::from(events);
    }
}

/// `THALWEG_KILLS=200` kills it so often.
#[test]
fn what_was_acknowledged_survives_sigkill_at_any_moment() {
    let folder = Folder::new("crash");
    let kills: u64 = std::env::var("THALWEG_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let mut acknowledged = 0;
    for life in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "produces_until_it_is_killed", "--nocapture"])
            .env("THALWEG_CRASH", &folder.0)
            .env("THALWEG_FIRST", acknowledged.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(std::io::Result::ok);
        // It is killed at some moment after it was heard of so often; what it says until then counts too.
        let enough = 1 + life * 7 % 23;
        let mut heard = 0;
        for line in lines {
            assert!(!line.starts_with("refused"), "{line}");
            let Some(words) = line.strip_prefix("acknowledged ") else { continue };
            let words: Vec<u64> = words.split(' ').map(|word| word.parse().unwrap()).collect();
            // What the one before had appended without being heard is not appended again.
            assert_eq!((words[0], words[2]), (acknowledged, acknowledged));
            acknowledged += words[1];
            heard += 1;
            if heard == enough {
                std::thread::sleep(Duration::from_micros(life * 373 % 9_000));
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(heard >= enough, "it ended by itself");
    }
    let there = events(&folder.0);
    assert!(there.len() as u64 >= acknowledged);
    let all = (0..there.len() as u64).map(event);
    assert!(there.into_iter().eq(all));
}
