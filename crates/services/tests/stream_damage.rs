//! A folder of streams in which one bit is flipped: whatever it hits, everything else is there.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Kind, Nanos};
use thalweg_services::server::{Server, Settings};
use thalweg_services::stream::client::{
    BatchSize, Consumer, ConsumerOptions, Driver, Identity, ProducerOptions,
};
use thalweg_services::stream::core::{recovered, Config, Fact, Input, Outcome, Output, PartitionId, Streams};
use thalweg_services::stream::message::Begin;
use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic};
use thalweg_transport::link::Patience;

const TOPICS: [(&str, Durability); 2] = [("frames", Durability::Always), ("notes", Durability::None)];
const PARTITIONS: u32 = 2;
/// Events of a partition, in batches of `BATCH`.
const EVENTS: u64 = 12;
const BATCH: u64 = 3;
/// Data of every second event are external, and take more than one chunk.
const DATA: usize = 70_000;

fn soon() -> Patience<'static> {
    Patience::of(Nanos(20_000_000_000))
}

fn name(text: &str) -> Name {
    Name::new("test", text).unwrap()
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(what: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thalweg-damage-{what}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Every file in it, sorted.
    fn files(&self) -> Vec<PathBuf> {
        fn of(folder: &Path, all: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    of(&path, all);
                } else {
                    all.push(path);
                }
            }
        }
        let mut all = Vec::new();
        of(&self.0, &mut all);
        all.sort();
        all
    }

    /// Becomes a copy of `other`.
    fn copy(&self, other: &Folder) {
        let _ = fs::remove_dir_all(&self.0);
        for file in other.files() {
            let target = self.0.join(file.strip_prefix(&other.0).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(&file, &target).unwrap();
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn serve(folder: &Folder) -> (Server, Driver) {
    let server = Server::start(Settings {
        limit: Some(Bytes(1 << 20)),
        streams: Some(folder.0.clone()),
        stream_memory: Some(Bytes(1 << 20)),
        ..Settings::default()
    })
    .unwrap();
    let identity = Identity { name: name("tester"), token: String::new() };
    let driver = Driver::connect(server.address(), identity, soon()).unwrap();
    (server, driver)
}

fn reader(driver: &Driver, topic: &str, who: &str) -> Consumer {
    let options = ConsumerOptions { name: name(who), only: None, begin: Begin::First };
    driver.consumer(name(topic), options, soon()).unwrap()
}

fn data_of(partition: u32, number: u64) -> Vec<u8> {
    let size = if (number / BATCH).is_multiple_of(2) { 20 } else { DATA };
    (0..size).map(|byte| (byte as u64 * 7 + number * 13 + u64::from(partition)) as u8).collect()
}

fn fill(folder: &Folder) {
    let (_server, driver) = serve(folder);
    for (topic, durability) in TOPICS {
        let partition = Partition { rest: Rest::Files, durability, retention: Retention::default() };
        let rule = || "null".to_string();
        let partitions = vec![partition; PARTITIONS as usize];
        let described = Topic { partitions, validator: rule(), selector: rule(), serializer: rule() };
        driver.create(name(topic), described, soon()).unwrap();
        let options = ProducerOptions { batch: BatchSize::Fixed(BATCH as u32), ..ProducerOptions::default() };
        let producer = driver.producer(name(topic), options, soon()).unwrap();
        for partition in 0..PARTITIONS {
            for number in 0..EVENTS {
                producer.push(partition, b"{}", &[&data_of(partition, number)], soon()).unwrap();
            }
        }
        producer.flush(soon()).unwrap();
        let consumer = reader(&driver, topic, "crew");
        for partition in 0..PARTITIONS {
            consumer.acknowledge(partition, 4).unwrap();
        }
        consumer.close(false, soon()).unwrap();
    }
}

/// The events of a topic that can be read, by partition, and how many errors stood between.
fn read(driver: &Driver, topic: &str) -> (BTreeMap<u32, Vec<u64>>, usize) {
    let consumer = reader(driver, topic, "all");
    let (mut seen, mut errors) = (BTreeMap::<u32, Vec<u64>>::new(), 0);
    let ends: BTreeMap<u32, u64> =
        consumer.positions(soon()).unwrap().iter().map(|at| (at.partition, at.end)).collect();
    let done = |consumer: &Consumer| {
        consumer.positions(soon()).unwrap().iter().all(|at| at.next >= ends[&at.partition])
    };
    while !done(&consumer) {
        let events = match consumer.pull(100, soon()) {
            Ok(events) => events.unwrap(),
            Err(e) => {
                assert_eq!(e.kind, Kind::Corrupt, "{e}");
                errors += 1;
                continue;
            }
        };
        for n in 0..events.len() as u32 {
            let (partition, number) = (events.partition, events.first() + u64::from(n));
            let range = events.data_range(n);
            let mut data = vec![0; (range.end - range.start) as usize];
            match consumer.read_data(&events, n, 0..data.len() as u64, &mut data, soon()) {
                Ok(()) => {
                    assert_eq!(data, data_of(partition, number), "{topic} {partition} {number}");
                    seen.entry(partition).or_default().push(number);
                }
                Err(e) => {
                    assert_eq!(e.kind, Kind::Corrupt, "{e}");
                    errors += 1;
                }
            }
        }
    }
    (seen, errors)
}

/// What must hold of a folder in which one bit of `file` was flipped; how many partitions have lost events.
fn check(folder: &Folder, file: &Path, what: &str) -> usize {
    let (server, driver) = serve(folder);
    assert_eq!(driver.topics(soon()).unwrap(), TOPICS.map(|(topic, _)| name(topic)), "{what}");
    assert!(!folder.0.join("aside").exists(), "{what}: a folder was put aside: {:?}", server.stream_notes());
    let mut lost = 0;
    for (topic, durability) in TOPICS {
        let (seen, errors) = read(&driver, topic);
        for partition in 0..PARTITIONS {
            let seen = seen.get(&partition).cloned().unwrap_or_default();
            let missing: Vec<u64> = (0..EVENTS).filter(|number| !seen.contains(number)).collect();
            lost += usize::from(!missing.is_empty());
            // At most the batch that it hit.
            let of_one = missing.windows(2).all(|pair| pair[0] / BATCH == pair[1] / BATCH);
            assert!(of_one, "{what}: events {missing:?} of {topic}");
            // The last batch may be a torn tail where nobody was told that it survives.
            let tail =
                durability == Durability::None && missing.iter().all(|n| n / BATCH == EVENTS / BATCH - 1);
            assert!(missing.is_empty() || errors > 0 || tail, "{what}: events {missing:?} are hidden");
        }
        let crew = reader(&driver, topic, "crew").positions(soon()).unwrap();
        let positions: Vec<u64> = crew.iter().map(|at| at.acknowledged).collect();
        let facts = file.to_string_lossy().contains("facts");
        let kept = |at: &u64| *at == 4 || (facts && *at < 4);
        assert!(
            positions.len() == PARTITIONS as usize && positions.iter().all(kept),
            "{what}: {positions:?}"
        );
        let producer = driver.producer(name(topic), ProducerOptions::default(), soon()).unwrap();
        for partition in 0..PARTITIONS {
            producer.push(partition, b"{}", &[], soon()).unwrap();
        }
        producer.flush(soon()).unwrap_or_else(|e| panic!("{what}: nothing can be appended: {e}"));
    }
    assert!(lost <= 1, "{what}: {lost} partitions have lost something");
    lost
}

#[test]
fn one_flipped_bit_hides_deletes_and_stops_nothing_but_what_it_hit() {
    let flips: u64 = std::env::var("THALWEG_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let whole = Folder::new("whole");
    fill(&whole);
    let files = whole.files();
    let copy = Folder::new("copy");
    let (mut chance, mut lost) = (numbers(17), 0);
    for flip in 0..flips {
        // Every file in turn: a place in its head, or anywhere.
        let file = &files[flip as usize % files.len()];
        let mut bytes = fs::read(file).unwrap();
        let within = if chance() % 2 == 0 { bytes.len().min(200) } else { bytes.len() } as u64;
        if within == 0 {
            continue;
        }
        let bit = chance() % (within * 8);
        copy.copy(&whole);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
        let inside = file.strip_prefix(&whole.0).unwrap();
        fs::write(copy.0.join(inside), bytes).unwrap();
        lost += check(&copy, inside, &format!("bit {bit} of {}", inside.display()));
    }
    assert!(lost > 0, "no flip hit anything");
}

#[test]
fn a_folder_that_the_catalogue_does_not_know_is_put_aside_as_it_is() {
    let folder = Folder::new("unknown");
    fill(&folder);
    let unknown = folder.0.join("partitions/77-0");
    fs::create_dir_all(&unknown).unwrap();
    fs::write(unknown.join("precious"), "bytes").unwrap();
    let (server, driver) = serve(&folder);
    assert_eq!(fs::read(folder.0.join("aside/77-0/precious")).unwrap(), b"bytes");
    assert!(
        server.stream_notes().iter().any(|note| note.contains("aside/77-0")),
        "{:?}",
        server.stream_notes()
    );
    // Its number is given to no topic.
    let partition =
        Partition { rest: Rest::Files, durability: Durability::None, retention: Retention::default() };
    let rule = || "null".to_string();
    let described =
        Topic { partitions: vec![partition], validator: rule(), selector: rule(), serializer: rule() };
    driver.create(name("later"), described, soon()).unwrap();
    assert!(folder.0.join("partitions/78-0").exists());
}

#[test]
fn a_catalogue_that_is_gone_is_made_again_from_the_folders() {
    let folder = Folder::new("catalogue");
    fill(&folder);
    fs::remove_dir_all(folder.0.join("facts")).unwrap();
    for round in 0..2 {
        let (server, driver) = serve(&folder);
        assert_eq!(driver.topics(soon()).unwrap(), TOPICS.map(|(topic, _)| name(topic)), "round {round}");
        assert_eq!(server.stream_notes().is_empty(), round == 1, "{:?}", server.stream_notes());
        let all: BTreeMap<u32, Vec<u64>> = (0..PARTITIONS).map(|n| (n, (0..EVENTS).collect())).collect();
        assert_eq!(read(&driver, "frames"), (all, 0));
    }
}

#[test]
fn what_was_to_be_deleted_when_the_server_ended_is_when_it_starts_again() {
    let id = PartitionId { topic: 3, partition: 1 };
    let rest = postcard::to_stdvec(&Rest::Files).unwrap();
    let facts = BTreeMap::from([(Fact::Removing(id), rest)]);
    assert_eq!(recovered(&facts, false, &[(id, None)]).aside, []);
    let mut out = Vec::new();
    let mut service = Streams::new(Config::default(), &facts, &mut out).unwrap();
    let [Output::Remove { number, partition, rest: Rest::Files }] = out[..] else { panic!("{out:?}") };
    assert_eq!(partition, id);
    out.clear();
    let done = Input::Done { number, partition: Some(id), outcome: Ok(Outcome::Done) };
    service.step(Nanos(1), done, &mut out);
    let forgotten = vec![(Fact::Removing(id), None)];
    assert!(matches!(&out[..], [Output::Remember { facts, .. }] if *facts == forgotten), "{out:?}");
}

/// Numbers that look random, the same each time.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}
