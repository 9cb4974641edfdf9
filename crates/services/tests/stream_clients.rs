//! Clients of a real server, over shared memory and over TCP: what one produces another consumes, whatever happens between.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Kind, Nanos};
use thalweg_services::server::{Server, Settings};
use thalweg_services::stream::client::{
    BatchSize, Column, Consumer, ConsumerOptions, Driver, Identity, Producer, ProducerOptions,
};
use thalweg_services::stream::message::Begin;
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};
use thalweg_transport::link::Patience;

const TOKEN: &str = "a-long-secret";

fn soon() -> Patience<'static> {
    Patience::of(Nanos(20_000_000_000))
}

fn name(text: &str) -> Name {
    Name::new("test", text).unwrap()
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Atomic::Relaxed);
        let path = std::env::temp_dir().join(format!("thalweg-clients-{}-{n}", std::process::id()));
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn server(folder: &Folder, socket: Option<&str>) -> Server {
    Server::start(Settings {
        limit: Some(Bytes(8 << 20)),
        socket: socket.map(str::to_string),
        listen: Some("127.0.0.1:0".into()),
        token: Some(TOKEN.into()),
        streams: Some(folder.0.clone()),
        stream_memory: Some(Bytes(64 << 20)),
        ..Settings::default()
    })
    .unwrap()
}

fn driver(address: &str) -> Driver {
    let identity = Identity { name: name("tester"), token: TOKEN.into() };
    Driver::connect(address, identity, soon()).unwrap()
}

fn create(driver: &Driver, topic: &str, partitions: usize, rest: Rest, durability: Durability) {
    let partition = Partition { rest, durability, retention: Retention::default() };
    let rule = || "null".to_string();
    let topic_is = Topic {
        partitions: vec![partition; partitions],
        validator: rule(),
        selector: rule(),
        serializer: rule(),
    };
    driver.create(name(topic), topic_is, soon()).unwrap();
}

fn consumer(driver: &Driver, topic: &str, who: &str, begin: Begin) -> Consumer {
    let options = ConsumerOptions { name: name(who), only: None, begin };
    driver.consumer(name(topic), options, soon()).unwrap()
}

fn producer(driver: &Driver, topic: &str, batch: BatchSize) -> Producer {
    let options = ProducerOptions { batch, outbox: Bytes(8 << 20), ..ProducerOptions::default() };
    driver.producer(name(topic), options, soon()).unwrap()
}

/// Everything that comes within a moment: partition, number, metadata, data.
fn all(consumer: &Consumer) -> Vec<(u32, u64, Vec<u8>, Vec<u8>)> {
    let mut got = Vec::new();
    while let Some(events) = consumer.pull(100, Patience::of(Nanos(300_000_000))).unwrap() {
        for n in 0..events.len() as u32 {
            let range = events.data_range(n);
            let mut data = vec![0; (range.end - range.start) as usize];
            consumer.read_data(&events, n, 0..data.len() as u64, &mut data, soon()).unwrap();
            got.push((events.partition, events.first() + u64::from(n), events.metadata(n).to_vec(), data));
        }
    }
    got
}

fn data_of(n: usize) -> Vec<u8> {
    // Of all kinds: none, small, beside their metadata and apart.
    let size = [0, 1, 7, 8, 1000, 40_000, 300_000][n % 7];
    (0..size).map(|byte| (byte * 7 + n * 13) as u8).collect()
}

fn both(check: impl Fn(&Server, &str)) {
    let folder = Folder::new();
    let server = server(&folder, None);
    check(&server, server.address());
    check(&server, server.tcp_address().unwrap());
}

#[test]
fn what_is_pushed_is_pulled_in_order_with_all_its_bytes() {
    both(|_, address| {
        for (rest, durability) in [
            (Rest::Memory, Durability::None),
            (Rest::Files, Durability::None),
            (Rest::Files, Durability::Always),
        ] {
            let driver = driver(address);
            create(&driver, "events", 2, rest, durability);
            for batch in [BatchSize::Adaptive, BatchSize::Fixed(1), BatchSize::Fixed(10)] {
                let producer = producer(&driver, "events", batch);
                let pushed: Vec<_> = (0..70)
                    .map(|n| {
                        let data = data_of(n);
                        let (front, back) = data.split_at(data.len() / 3);
                        let text = format!("{{\"n\":{n}}}");
                        producer.push(n as u32 % 2, text.as_bytes(), &[front, back], soon()).unwrap()
                    })
                    .collect();
                producer.flush(soon()).unwrap();
                let numbers: Vec<u64> = pushed.iter().map(|p| p.outcome().unwrap().unwrap()).collect();
                let reader =
                    consumer(&driver, "events", &format!("{batch:?}").replace(['(', ')'], "-"), Begin::First);
                let got = all(&reader);
                let mine = &got[got.len() - 70..];
                for partition in 0..2 {
                    let expected: Vec<_> = (0..70)
                        .filter(|n| *n as u32 % 2 == partition)
                        .map(|n| (partition, numbers[n], format!("{{\"n\":{n}}}").into_bytes(), data_of(n)))
                        .collect();
                    let of_partition: Vec<_> = got.iter().filter(|e| e.0 == partition).cloned().collect();
                    assert!(of_partition.ends_with(&expected), "{address} partition {partition}");
                }
                assert_eq!(mine.len(), 70);
            }
            driver.delete(name("events"), soon()).unwrap();
        }
    });
}

#[test]
fn columns_are_pushed_as_their_rows() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "columns", 1, Rest::Memory, Durability::None);
        let producer = producer(&driver, "columns", BatchSize::Adaptive);
        let (mut metadata, mut data, mut ends, mut data_ends) = (vec![], vec![], vec![], vec![]);
        for n in 0..500 {
            metadata.extend_from_slice(n.to_string().as_bytes());
            ends.push(metadata.len() as u64);
            data.extend_from_slice(&data_of(n)[..data_of(n).len().min(1001)]);
            data_ends.push(data.len() as u64);
        }
        let many = producer
            .push_many(
                0,
                Column { bytes: &metadata, ends: &ends },
                Some(Column { bytes: &data, ends: &data_ends }),
                soon(),
            )
            .unwrap();
        assert_eq!(many.wait(soon()).unwrap(), vec![0..500]);
        let got = all(&consumer(&driver, "columns", "reader", Begin::First));
        for (n, (_, number, metadata, data)) in got.iter().enumerate() {
            let expected = data_of(n);
            assert_eq!((*number, metadata.as_slice()), (n as u64, n.to_string().as_bytes()));
            assert_eq!(data.as_slice(), &expected[..expected.len().min(1001)]);
        }
        assert_eq!(got.len(), 500);
        driver.delete(name("columns"), soon()).unwrap();
    });
}

#[test]
fn a_named_consumer_goes_on_behind_what_it_acknowledged_and_its_members_share() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "shared", 4, Rest::Files, Durability::None);
        let producer = producer(&driver, "shared", BatchSize::Adaptive);
        for n in 0..40u32 {
            producer.push(n % 4, &n.to_le_bytes(), &[], soon()).unwrap();
        }
        producer.flush(soon()).unwrap();
        let first = consumer(&driver, "shared", "crew", Begin::First);
        assert_eq!(all(&first).len(), 40);
        for partition in 0..4 {
            first.acknowledge(partition, 5).unwrap();
            // A lower number changes nothing.
            first.acknowledge(partition, 2).unwrap();
        }
        first.close(false, soon()).unwrap();
        let second = consumer(&driver, "shared", "crew", Begin::First);
        let third = consumer(&driver, "shared", "crew", Begin::First);
        let (of_second, of_third) = (all(&second), all(&third));
        assert_eq!(of_third.len(), 10, "two partitions each");
        // What the second read before the third came is given to the third once more.
        assert!(of_second.len() == 10 || of_second.len() == 20);
        assert!(of_third.iter().all(|event| event.1 >= 5));
        assert_eq!(all(&consumer(&driver, "shared", "other", Begin::First)).len(), 40);
        assert_eq!(all(&consumer(&driver, "shared", "late", Begin::Next)).len(), 0);
        // One that is forgotten begins anew.
        let passing = consumer(&driver, "shared", "passing", Begin::First);
        assert_eq!(all(&passing).len(), 40);
        passing.acknowledge(0, 10).unwrap();
        passing.close(true, soon()).unwrap();
        assert_eq!(all(&consumer(&driver, "shared", "passing", Begin::First)).len(), 40);
        driver.delete(name("shared"), soon()).unwrap();
    });
}

#[test]
fn a_wait_takes_as_long_as_said_and_loses_nothing() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "waits", 1, Rest::Memory, Durability::None);
        let reader = consumer(&driver, "waits", "reader", Begin::First);
        let start = std::time::Instant::now();
        assert!(reader.pull(1, Patience::of(Nanos(400_000_000))).unwrap().is_none());
        let waited = start.elapsed().as_millis();
        assert!((400..1500).contains(&waited), "{waited} ms");
        producer(&driver, "waits", BatchSize::Adaptive)
            .push(0, b"x", &[], soon())
            .unwrap()
            .wait(soon())
            .unwrap();
        assert_eq!(reader.pull(1, soon()).unwrap().unwrap().first(), 0);
        driver.delete(name("waits"), soon()).unwrap();
    });
}

#[test]
fn reading_goes_on_where_one_seeks_to() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "seeks", 1, Rest::Files, Durability::None);
        let writer = producer(&driver, "seeks", BatchSize::Fixed(3));
        for n in 0..10u8 {
            writer.push(0, &[n], &[], soon()).unwrap();
        }
        writer.flush(soon()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let later =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        writer.push(0, &[10], &[], soon()).unwrap().wait_flushed(&writer);
        let reader = consumer(&driver, "seeks", "reader", Begin::First);
        assert_eq!(all(&reader).len(), 11);
        reader.seek(0, 4, soon()).unwrap();
        assert_eq!(all(&reader).iter().map(|event| event.1).collect::<Vec<_>>(), (4..11).collect::<Vec<_>>());
        reader.seek_time(0, Nanos(later), soon()).unwrap();
        assert_eq!(all(&reader).iter().map(|event| event.1).collect::<Vec<_>>(), [10]);
        let refused = reader.seek(0, 12, soon()).unwrap_err();
        assert!(refused.to_string().ends_with("event 12 of partition 0; accepted are 0 to 11"), "{refused}");
        assert_eq!(reader.seek(3, 0, soon()).unwrap_err().kind, Kind::Invalid);
        driver.delete(name("seeks"), soon()).unwrap();
    });
}

trait Flushed {
    fn wait_flushed(&self, producer: &Producer);
}

impl Flushed for thalweg_services::stream::client::Pushed {
    fn wait_flushed(&self, producer: &Producer) {
        producer.flush(soon()).unwrap();
        self.wait(soon()).unwrap();
    }
}

#[test]
fn what_is_under_way_when_the_server_ends_arrives_once_at_the_next_one() {
    let folder = Folder::new();
    let socket = format!("@thalweg-test-{}", std::process::id());
    let mut first = server(&folder, Some(&socket));
    let driver = driver(first.address());
    create(&driver, "again", 1, Rest::Files, Durability::Always);
    let writer = producer(&driver, "again", BatchSize::Adaptive);
    let follower = consumer(&driver, "again", "follower", Begin::First);
    let mut followed = 0;
    let mut pushed = Vec::new();
    for n in 0..3000u32 {
        if n == 1000 {
            while followed < 500 {
                followed += follower.pull(500 - followed, soon()).unwrap().unwrap().len() as u32;
            }
            follower.acknowledge(0, u64::from(followed)).unwrap();
            first.close();
            drop(std::mem::replace(&mut first, server(&folder, Some(&socket))));
        }
        pushed.push(writer.push(0, &n.to_le_bytes(), &[&[n as u8; 100]], soon()).unwrap());
    }
    writer.flush(soon()).unwrap();
    for (n, event) in pushed.iter().enumerate() {
        assert_eq!(event.outcome().unwrap().unwrap(), n as u64);
    }
    // Who reads goes on where it was.
    let got = all(&follower);
    assert_eq!((got.len(), got[0].1), (2500, 500));
    let again = self::driver(first.address());
    let got = all(&consumer(&again, "again", "reader", Begin::First));
    assert_eq!(got.len(), 3000);
    assert!(got.iter().enumerate().all(|(n, event)| event.2 == (n as u32).to_le_bytes()));
}

#[test]
fn an_event_may_be_larger_than_the_memory_of_its_producer() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "huge", 1, Rest::Files, Durability::None);
        let writer = producer(&driver, "huge", BatchSize::Adaptive);
        let huge: Vec<u8> = (0..40 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for n in 0..3u8 {
            writer.push(0, &[n], &[], soon()).unwrap();
            assert_eq!(
                writer.push(0, b"huge", &[&huge], soon()).unwrap().outcome(),
                Some(Ok(u64::from(n) * 2 + 1))
            );
        }
        let got = all(&consumer(&driver, "huge", "reader", Begin::First));
        assert_eq!(got.len(), 6);
        assert!(got.iter().skip(1).step_by(2).all(|event| event.3 == huge));
        driver.delete(name("huge"), soon()).unwrap();
    });
}

#[test]
fn errors_say_what_was_met() {
    both(|server, address| {
        let driver = driver(address);
        let missing = driver.describe(name("nothing"), soon()).unwrap_err();
        assert_eq!(missing.kind, Kind::NotFound);
        create(&driver, "errors", 2, Rest::Memory, Durability::None);
        let writer = producer(&driver, "errors", BatchSize::Adaptive);
        let refused = writer.push(2, b"", &[], soon()).err().unwrap();
        assert_eq!(refused.to_string(), "stream.push: partition 2 of topic \"errors\"; it has 0 to 1");
        let long = writer.push(0, &vec![b' '; 9 << 20], &[], soon()).err().unwrap();
        assert_eq!(long.kind, Kind::Full);
        let wrong = Identity { name: name("thief"), token: "wrong".into() };
        let tcp = server.tcp_address().unwrap();
        let refused = Driver::connect(tcp, wrong, soon()).err().unwrap();
        assert_eq!(refused.kind, Kind::Access);
        driver.delete(name("errors"), soon()).unwrap();
    });
}

#[test]
fn who_is_too_slow_for_retention_goes_on_with_what_is_left() {
    both(|_, address| {
        let driver = driver(address);
        let retention = Retention { bytes: Some(Bytes(4 << 20)), ..Retention::default() };
        let partition = Partition { rest: Rest::Memory, durability: Durability::None, retention };
        let rule = || "null".to_string();
        let topic_is =
            Topic { partitions: vec![partition], validator: rule(), selector: rule(), serializer: rule() };
        driver.create(name("short"), topic_is, soon()).unwrap();
        let writer = producer(&driver, "short", BatchSize::Fixed(4));
        let push = |numbers: std::ops::Range<u32>| {
            numbers.for_each(|n| drop(writer.push(0, &n.to_le_bytes(), &[&[7; 20_000]], soon()).unwrap()));
            writer.flush(soon()).unwrap();
        };
        push(0..8);
        let reader = consumer(&driver, "short", "slow", Begin::First);
        assert_eq!(reader.pull(1, soon()).unwrap().unwrap().first(), 0);
        push(8..1000);
        // Retention looks every second.
        let begun = std::time::Instant::now();
        while driver.describe(name("short"), soon()).unwrap().1[0].start < 100 {
            assert!(begun.elapsed().as_secs() < 20, "retention never came");
            std::thread::sleep(std::time::Duration::from_millis(100));
            push(1000..1004);
        }
        let got = all(&reader);
        let numbers: Vec<u64> = got.iter().map(|event| event.1).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        assert!(*numbers.last().unwrap() >= 999);
        driver.delete(name("short"), soon()).unwrap();
    });
}

#[test]
fn who_meets_damage_is_told_and_goes_on_behind_it() {
    let folder = Folder::new();
    let mut first = server(&folder, None);
    let maker = driver(first.address());
    create(&maker, "torn", 1, Rest::Files, Durability::Always);
    let writer = producer(&maker, "torn", BatchSize::Fixed(10));
    for n in 0..2000u32 {
        writer.push(0, &n.to_le_bytes(), &[&[n as u8; 500]], soon()).unwrap();
    }
    writer.flush(soon()).unwrap();
    drop((writer, maker));
    first.close();
    let partition = folder.0.join("partitions");
    let partition = std::fs::read_dir(partition).unwrap().next().unwrap().unwrap().path();
    let segment = partition.join(format!("{:020}.log", 0));
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let second = server(&folder, None);
    for address in [second.address(), second.tcp_address().unwrap()] {
        let driver = driver(address);
        let reader = consumer(&driver, "torn", "reader", Begin::First);
        let (mut got, mut damaged) = (Vec::new(), 0);
        while got.last() != Some(&1999) {
            match reader.pull(100, soon()) {
                Ok(Some(events)) => got.extend(events.first()..events.first() + events.len() as u64),
                Ok(None) => panic!("nothing came behind {:?}", got.last()),
                Err(e) => {
                    assert_eq!(e.kind, Kind::Corrupt, "{e}");
                    damaged += 1;
                }
            }
        }
        assert_eq!((got.len(), damaged), (1990, 1), "{address}");
        // One that begins in the middle of it.
        let gap = (0..2000).find(|n| !got.contains(n)).unwrap();
        let fresh = consumer(&driver, "torn", "fresh", Begin::First);
        fresh.seek(0, gap + 3, soon()).unwrap();
        assert_eq!(fresh.pull(100, soon()).unwrap_err().kind, Kind::Corrupt);
        assert_eq!(fresh.pull(100, soon()).unwrap().unwrap().first(), gap + 10);
        reader.close(true, soon()).unwrap();
        fresh.close(true, soon()).unwrap();
    }
}

#[test]
fn a_producer_with_little_memory_appends_all() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "little", 1, Rest::Memory, Durability::None);
        let options = ProducerOptions { outbox: Bytes(256 << 10), ..ProducerOptions::default() };
        let writer = driver.producer(name("little"), options.clone(), soon()).unwrap();
        for n in 0..2000u32 {
            writer.push(0, &n.to_le_bytes(), &[&[1; 1000]], soon()).unwrap();
        }
        writer.flush(soon()).unwrap();
        let (bytes, ends): (Vec<u8>, Vec<u64>) = (vec![2; 2_000_000], (1..=2000).map(|n| n * 1000).collect());
        let many = writer.push_many(0, Column { bytes: &bytes, ends: &ends }, None, soon()).unwrap();
        assert_eq!(many.wait(soon()).unwrap(), vec![2000..4000]);
        assert_eq!(all(&consumer(&driver, "little", "reader", Begin::First)).len(), 4000);
        let none = ProducerOptions { outbox: Bytes(4096), ..options };
        assert_eq!(driver.producer(name("little"), none, soon()).err().unwrap().kind, Kind::Invalid);
        driver.delete(name("little"), soon()).unwrap();
    });
}

#[test]
fn a_callback_that_would_wait_for_itself_is_told_so() {
    both(|_, address| {
        let driver = driver(address);
        create(&driver, "loop", 1, Rest::Memory, Durability::None);
        let producer = std::sync::Arc::new(producer(&driver, "loop", BatchSize::Adaptive));
        let (tell, told) = std::sync::mpsc::channel();
        // Large ones are answered one by one, so that some are under way when the first is told.
        let mut pushed: Vec<_> =
            (0..8).map(|_| producer.push(0, b"{}", &[&[7; 900_000]], soon()).unwrap()).collect();
        let last = pushed.pop().unwrap();
        let inside = producer.clone();
        last.when_done(Box::new(move || {
            let next = inside.push(0, b"{}", &[], soon()).unwrap();
            tell.send(next.wait(soon())).unwrap();
        }));
        let met = told.recv_timeout(soon().within.duration()).unwrap().map_err(|e| e.kind);
        // It was over before the callback was given, and this thread called it; or the thread of the replies did.
        assert!(met.is_ok() || met == Err(Kind::Invalid), "{met:?}");
        producer.flush(soon()).unwrap();
        driver.delete(name("loop"), soon()).unwrap();
    });
}

#[test]
fn many_producers_share_the_memory_for_batches() {
    let folder = Folder::new();
    let server = server(&folder, None);
    let driver = driver(server.address());
    create(&driver, "crowd", 1, Rest::Memory, Durability::None);
    // Together far more than the machine has.
    let options = ProducerOptions { outbox: Bytes(64 << 30), ..ProducerOptions::default() };
    let crowd: Vec<Producer> =
        (0..8).map(|_| driver.producer(name("crowd"), options.clone(), soon()).unwrap()).collect();
    for producer in &crowd {
        producer.push(0, b"{}", &[&[1; 300_000]], soon()).unwrap();
        producer.flush(soon()).unwrap();
    }
    assert_eq!(all(&consumer(&driver, "crowd", "reader", Begin::First)).len(), 8);
}

/// Changes one bit of the file at `path`.
fn flip(path: &std::path::Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// The files of `folder` and those below whose names end so.
fn files(folder: &std::path::Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_damaged_chunk_of_data_costs_the_events_in_it_and_what_is_given_back_comes_again() {
    let folder = Folder::new();
    let server = server(&folder, None);
    for address in [server.address(), server.tcp_address().unwrap()] {
        let driver = driver(address);
        create(&driver, "events", 1, Rest::Files, Durability::None);
        let writer = producer(&driver, "events", BatchSize::Fixed(8));
        let data = vec![7; 100_000];
        (0..8).for_each(|_| drop(writer.push(0, b"{}", &[&data], soon()).unwrap()));
        writer.flush(soon()).unwrap();
        // In the middle of event 5: chunks are of 64 KiB, so it is in no other event's.
        flip(&files(&folder.0, ".data")[0], 4096 + 5 * 100_000 + 50_000);
        let reader = consumer(&driver, "events", "reader", Begin::First);
        let mut numbers = Vec::new();
        let mut damaged = Vec::new();
        while let Some(events) = reader.pull(100, Patience::of(Nanos(300_000_000))).unwrap() {
            let mut into = vec![
                0;
                (events.data_range(events.len() as u32 - 1).end - events.data_range(0).start)
                    as usize
            ];
            match reader.read_all(&events, &mut into, soon()) {
                Ok(read) => {
                    assert!(into[..read as usize * data.len()].iter().all(|byte| *byte == 7));
                    numbers.extend(events.first()..events.first() + u64::from(read));
                    reader.give_back(&events, read);
                }
                Err(e) => {
                    assert_eq!(e.kind, Kind::Corrupt);
                    damaged.push(events.first());
                    reader.give_back(&events, 1);
                }
            }
        }
        assert_eq!((numbers, damaged), (vec![0, 1, 2, 3, 4, 6, 7], vec![5]));
        driver.delete(name("events"), soon()).unwrap();
    }
}
