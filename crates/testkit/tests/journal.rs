//! What a journal promises: everything that was appended comes back, or an error says what does not.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_foundation::{Bytes, Kind, Nanos, Result};
use thalweg_testkit::{Chance, ToyDisk};
use thalweg_transport::journal::{
    Batch, Body, Disk, Folder, Follower, Journal, Memory, Read, Recovered, Room, Settings,
};

type Record = (Vec<u8>, Vec<u8>);

const SMALL: Settings = Settings { segment: Bytes(1 << 30), data: Bytes(1 << 30), durable: true };

fn open(disk: &ToyDisk, settings: Settings, seed: u64) -> Result<(Journal, Recovered)> {
    let mut chance = Chance::new(seed);
    let folder = Arc::new(disk.clone());
    Journal::open(folder.clone(), folder, settings, Box::new(move || chance.number()), Nanos(1_000))
}

/// A record that can be told from all others.
fn record(n: u64, metadata: usize, data: usize) -> Record {
    let bytes = |len: usize, of: u64| {
        let mut chance = Chance::new(n * 2 + of);
        (0..len).map(|_| chance.number() as u8).collect()
    };
    (bytes(metadata, 0), bytes(data, 1))
}

fn append(journal: &mut Journal, now: u64, records: &[Record], inline: bool) -> Result<u64> {
    let mut body = Body::default();
    records.iter().try_for_each(|(metadata, data)| body.push(metadata, data))?;
    let bytes = body.bytes(inline);
    let apart = (!inline).then_some(body.data());
    let batch = Batch { content: body.content(), writer: 7, sequence: now, body: &bytes, apart };
    journal.append(Nanos(now), &[batch]).map(|headers| headers[0].first)
}

/// The records from `from` on until an error, and the error.
fn read(journal: &Journal, from: u64) -> (Vec<(u64, Record)>, Option<thalweg_foundation::Error>) {
    let mut all = Vec::new();
    let mut next = from;
    while next < journal.numbers().end {
        let read = journal.read(next, |entry| {
            for n in 0..entry.header.content.records {
                let data = journal.data_of(entry, n)?.into_owned();
                let number = entry.header.first + u64::from(n);
                if number >= from {
                    all.push((number, (entry.metadata(n).to_vec(), data)));
                }
            }
            Ok(true)
        });
        match read {
            Ok(after) => next = after,
            Err(e) => return (all, Some(e)),
        }
    }
    (all, None)
}

/// Every record that can be read, and how many errors stood between.
fn read_over_damage(journal: &Journal) -> (Vec<(u64, Record)>, usize) {
    let (mut all, mut errors, mut from) = (Vec::new(), 0, journal.numbers().start);
    while from < journal.numbers().end {
        let (some, error) = read(journal, from);
        from = some.last().map_or(from, |(n, _)| n + 1);
        all.extend(some);
        if let Some(e) = error {
            assert_eq!(e.kind, Kind::Corrupt, "{e}");
            (errors, from) = (errors + 1, from + 1);
        }
    }
    (all, errors)
}

fn log() -> String {
    format!("{:020}.log", 0)
}

/// As `three_unsafe`, and safe.
fn three(disk: &ToyDisk) -> Vec<Record> {
    let all = three_unsafe(disk);
    open(disk, SMALL, 7).unwrap().0.sync().unwrap();
    all
}

/// Three batches of small records, one of them with data in the store, which nobody has synchronised.
fn three_unsafe(disk: &ToyDisk) -> Vec<Record> {
    let (mut journal, _) = open(disk, SMALL, 1).unwrap();
    let all: Vec<Record> = [(3, 9), (0, 0), (5, 1), (70_000, 8), (0, 3)]
        .iter()
        .enumerate()
        .map(|(n, (data, metadata))| record(n as u64, *metadata, *data))
        .collect();
    append(&mut journal, 2_000, &all[..2], true).unwrap();
    append(&mut journal, 3_000, &all[2..4], false).unwrap();
    append(&mut journal, 3_500, &all[4..], true).unwrap();
    all
}

#[test]
fn what_was_appended_comes_back_after_reopening_and_over_many_files() {
    let disk = ToyDisk::default();
    let settings = Settings { segment: Bytes(3_000), data: Bytes(5_000), durable: true };
    let mut chance = Chance::new(3);
    let mut all: Vec<Record> = Vec::new();
    for life in 0..5 {
        let (mut journal, found) = open(&disk, settings, life).unwrap();
        assert_eq!(found, Recovered::default());
        assert_eq!(journal.numbers(), 0..all.len() as u64);
        for k in 0..40 {
            let batch: Vec<Record> = (0..chance.below(5) + 1)
                .map(|n| {
                    let (metadata, data) = (chance.below(40) as usize, chance.below(400) as usize);
                    record(all.len() as u64 + n, metadata, data)
                })
                .collect();
            let first = append(&mut journal, 2_000 + life * 100 + k, &batch, chance.percent(50)).unwrap();
            assert_eq!(first, all.len() as u64);
            all.extend(batch);
        }
        let from = chance.below(all.len() as u64);
        let (some, error) = read(&journal, from);
        assert_eq!(error, None);
        assert!(some.iter().map(|(n, _)| *n).eq(from..all.len() as u64));
        assert!(some.iter().all(|(n, r)| *r == all[*n as usize]));
    }
}

#[test]
fn a_file_cut_at_any_byte_gives_every_whole_entry_and_nothing_else() {
    let whole = ToyDisk::default();
    let all = three_unsafe(&whole);
    let bytes = whole.contents(&log()).len();
    let mut seen = BTreeSet::new();
    for cut in 64..=bytes {
        let disk = whole.twin();
        disk.change(&log(), |bytes| bytes.truncate(cut));
        let (mut journal, found) = open(&disk, SMALL, 2).unwrap();
        let (records, errors) = read_over_damage(&journal);
        assert_eq!(errors, 0);
        assert!(records.iter().map(|(_, r)| r).eq(&all[..records.len()]), "cut at {cut}");
        assert_eq!(disk.contents(&log()).len() as u64, cut as u64 - found.cut.0);
        seen.insert(records.len());
        // It goes on where the good part ends.
        let first = append(&mut journal, 9_000, &[record(99, 4, 4)], true).unwrap();
        assert_eq!(first, records.len() as u64);
        drop(journal);
        let (journal, found) = open(&disk, SMALL, 3).unwrap();
        assert_eq!(found, Recovered::default());
        assert_eq!(read(&journal, first).0, [(first, record(99, 4, 4))]);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 2, 4, 5]);
}

#[test]
fn what_was_safe_and_is_cut_off_is_missed() {
    let whole = ToyDisk::default();
    let all = three(&whole);
    let bytes = whole.contents(&log()).len();
    for cut in 64..bytes {
        let disk = whole.twin();
        disk.change(&log(), |bytes| bytes.truncate(cut));
        let (mut journal, found) = open(&disk, SMALL, 2).unwrap();
        assert_eq!((journal.numbers(), found.damage.len()), (0..5, 1), "cut at {cut}");
        let (records, errors) = read_over_damage(&journal);
        // Of the last entry nothing but zeros may be missing.
        assert!((errors > 0) == (records.len() < 5) && records.iter().all(|(n, r)| *r == all[*n as usize]));
        // Their numbers are not given to others.
        assert_eq!(append(&mut journal, 9_000, &[record(99, 4, 4)], true).unwrap(), 5);
        drop(journal);
        let (journal, found) = open(&disk, SMALL, 3).unwrap();
        let (after, errors) = read_over_damage(&journal);
        assert_eq!(
            after.len(),
            records.len() + 1,
            "cut at {cut}: {found:?} {:?} {errors}",
            journal.numbers()
        );
    }
}

#[test]
fn a_cut_head_costs_the_records_of_its_file_and_their_numbers_are_not_given_again() {
    let whole = ToyDisk::default();
    three(&whole);
    for (cut, index) in (0..64).flat_map(|cut| [(cut, true), (cut, false)]) {
        let disk = whole.twin();
        disk.change(&log(), |bytes| bytes.truncate(cut));
        if !index {
            disk.remove(&format!("{:020}.index", 0)).unwrap();
        }
        let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
        let (records, errors) = read_over_damage(&journal);
        assert_eq!((records, errors > 0), (vec![], true), "cut at {cut}");
        let first = append(&mut journal, 9_000, &[record(99, 4, 4)], true).unwrap();
        // Without an index nobody knows how many there were: of a file that ends in its head there can have been none.
        assert_eq!(first, if index { 5 } else { 1 });
        drop(journal);
        let (journal, _) = open(&disk, SMALL, 3).unwrap();
        assert_eq!(read(&journal, first).0, [(first, record(99, 4, 4))]);
    }
}

#[test]
fn a_flipped_bit_costs_the_records_that_it_hit_and_nothing_else() {
    let whole = ToyDisk::default();
    let all = three(&whole);
    let names = [log(), format!("{:020}.data", 0), format!("{:020}.index", 0)];
    for name in &names {
        let bytes = whole.contents(name).len();
        // Of the data, of which there are many, every 97th bit, and all of the head.
        let bits =
            (0..64 * 8).chain((64 * 8..bytes * 8).step_by(if name.ends_with("data") { 97 } else { 1 }));
        for bit in bits {
            let disk = whole.twin();
            disk.change(name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
            assert_eq!(journal.numbers(), 0..5, "{name} bit {bit}");
            let (records, errors) = read_over_damage(&journal);
            assert!(records.iter().all(|(n, r)| *r == all[*n as usize]), "{name} bit {bit}");
            if bit < 64 * 8 || name.ends_with("index") {
                assert_eq!((records.len(), errors), (all.len(), 0), "{name} bit {bit}");
            } else if !name.ends_with("data") {
                // Of padding nobody notices it.
                assert!(records.len() >= all.len() - 2, "{name} bit {bit}: {} records", records.len());
            }
            assert_eq!(
                append(&mut journal, 9_000, &[record(99, 4, 4)], true).unwrap(),
                5,
                "{name} bit {bit}"
            );
        }
    }
}

/// Five segment files of one record each, by their numbers.
fn five(disk: &ToyDisk, settings: Settings) -> Vec<Record> {
    let all: Vec<Record> = (0..5).map(|n| record(n, 10, 50)).collect();
    let (mut journal, _) = open(disk, settings, 1).unwrap();
    for (n, record) in all.iter().enumerate() {
        append(&mut journal, 2_000 + n as u64, std::slice::from_ref(record), true).unwrap();
        if settings.durable {
            journal.sync().unwrap();
        }
    }
    all
}

fn files(number: u64) -> [String; 2] {
    [format!("{number:020}.log"), format!("{number:020}.index")]
}

#[test]
fn a_segment_file_that_cannot_be_read_or_is_missing_costs_its_own_records_alone() {
    for durable in [true, false] {
        let settings = Settings { segment: Bytes(65), data: Bytes(1 << 30), durable };
        let whole = ToyDisk::default();
        let all = five(&whole, settings);
        for (victim, missing) in (0..5).flat_map(|n| [(n, true), (n, false)]) {
            let disk = whole.twin();
            let [log, index] = files(victim);
            match missing {
                true => disk.remove(&log).unwrap(),
                false => {
                    disk.remove(&index).unwrap();
                    disk.change(&log, |bytes| bytes[20] ^= 4);
                }
            }
            let mut expected: Vec<(u64, Record)> =
                (0..).zip(all.clone()).filter(|(n, _)| *n != victim).collect();
            // Also when it is opened for the second time.
            for (round, seed) in (0..2).zip(2..) {
                let (mut journal, _) = open(&disk, settings, seed).unwrap();
                let (records, errors) = read_over_damage(&journal);
                assert_eq!(
                    (&records, errors > 0),
                    (&expected, true),
                    "{log}, missing: {missing}, round {round}"
                );
                let first = append(&mut journal, 9_000, &[record(99, 4, 4)], true).unwrap();
                assert!(first > records.last().unwrap().0 && first >= 5, "{first} is given again");
                expected.push((first, record(99, 4, 4)));
            }
        }
    }
}

#[test]
fn whoever_follows_a_journal_goes_on_behind_a_file_that_cannot_be_read() {
    let settings = Settings { segment: Bytes(65), data: Bytes(1 << 30), durable: false };
    let disk = ToyDisk::default();
    five(&disk, settings);
    let [log, index] = files(2);
    disk.remove(&index).unwrap();
    disk.change(&log, |bytes| bytes[45] ^= 1);
    let (journal, _) = open(&disk, settings, 2).unwrap();
    let (mut follower, mut wanted, mut seen, mut errors) = (Follower::default(), 0, Vec::new(), Vec::new());
    while wanted < 5 {
        match follower.read(&mut |number| journal.locate(number), wanted, 5, 1 << 20, Vec::new()).unwrap() {
            Read::Entries(chunk) => {
                seen.extend((0..chunk.len()).map(|n| chunk.entry(n).unwrap().header.first));
                wanted = seen.last().unwrap() + 1;
            }
            Read::Damaged { next, why } => {
                errors.push(why.message.clone());
                wanted = next;
            }
        }
    }
    assert_eq!((seen, errors.len()), (vec![0, 1, 3, 4], 1));
    assert!(errors[0].contains(&log), "{errors:?}");
}

#[test]
fn damage_in_the_middle_costs_its_own_records_alone() {
    let disk = ToyDisk::default();
    let all = three(&disk);
    // The metadata of the first batch.
    disk.change(&log(), |bytes| bytes[64 + 96 + 8 + 16 + 2] ^= 1);
    let (journal, found) = open(&disk, SMALL, 2).unwrap();
    assert_eq!(journal.numbers(), 0..5);
    assert_eq!((found.cut, found.damage.len()), (Bytes(0), 1));
    let e = read(&journal, 0).1.unwrap();
    assert_eq!(e.kind, Kind::Corrupt);
    assert!(e.message.contains("records 0 to 1 cannot be read"), "{e}");
    let (records, error) = read(&journal, 2);
    assert_eq!(error, None);
    assert!(records.iter().map(|(_, r)| r).eq(&all[2..]));
}

#[test]
fn what_was_never_synchronised_goes_with_its_first_bad_entry() {
    let disk = ToyDisk::default();
    let all = three(&disk);
    let safe = disk.contents(&log()).len();
    let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
    let more: Vec<Record> = (5..8).map(|n| record(n, 9, 9)).collect();
    for r in &more {
        append(&mut journal, 5_000, std::slice::from_ref(r), true).unwrap();
    }
    drop(journal);
    disk.change(&log(), |bytes| bytes[safe + 96 + 20] ^= 1);
    let (journal, found) = open(&disk, SMALL, 3).unwrap();
    assert_eq!((journal.numbers(), found.damage.len()), (0..5, 0));
    assert_eq!(disk.contents(&log()).len(), safe);
    assert!(read(&journal, 0).0.iter().map(|(_, r)| r).eq(&all));
}

#[test]
fn a_record_that_looks_like_an_entry_is_not_taken_for_one() {
    let disk = ToyDisk::default();
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    append(&mut journal, 2_000, &[record(0, 5, 5)], true).unwrap();
    let image = disk.contents(&log())[64..].to_vec();
    append(&mut journal, 2_001, &[(Vec::new(), image)], true).unwrap();
    let end = disk.contents(&log()).len();
    // The second entry is torn: its header is gone, the image in its data is whole.
    disk.change(&log(), |bytes| {
        bytes[64 + 96 + 40] = 0;
        bytes.truncate(end - 8);
    });
    drop(journal);
    let (journal, _) = open(&disk, SMALL, 2).unwrap();
    assert!(read_over_damage(&journal).0.len() <= 1);
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    for room in 0..1_500 {
        let disk = ToyDisk::default();
        let all = three(&disk);
        let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
        disk.room(Some(room));
        let more = [record(5, 100, 500), record(6, 100, 500)];
        let appended = append(&mut journal, 9_000, &more, room % 2 == 0);
        if let Err(e) = &appended {
            assert_eq!(e.kind, Kind::Full);
        }
        disk.room(None);
        let first = append(&mut journal, 9_001, &[record(7, 1, 1)], true).unwrap();
        assert_eq!(first, if appended.is_ok() { 7 } else { 5 });
        drop(journal);
        let (journal, found) = open(&disk, SMALL, 3).unwrap();
        assert_eq!(found, Recovered::default());
        let (records, error) = read(&journal, 0);
        assert_eq!(error, None);
        assert!(records[..5].iter().map(|(_, r)| r).eq(&all));
        assert_eq!(records.last(), Some(&(first, record(7, 1, 1))));
    }
}

#[test]
fn after_a_failed_sync_nothing_is_appended_before_it_is_opened_again() {
    let disk = ToyDisk::default();
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    append(&mut journal, 2_000, &[record(0, 1, 1)], true).unwrap();
    disk.break_sync(true);
    assert_eq!(journal.sync().unwrap_err().kind, Kind::Io);
    disk.break_sync(false);
    assert_eq!(journal.sync().unwrap_err().kind, Kind::Io);
    assert_eq!(append(&mut journal, 2_001, &[record(1, 1, 1)], true).unwrap_err().kind, Kind::Io);
    drop(journal);
    let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
    assert_eq!(append(&mut journal, 2_001, &[record(1, 1, 1)], true).unwrap(), 1);
}

#[test]
fn a_data_file_cut_at_any_byte_costs_what_it_held() {
    let whole = ToyDisk::default();
    let all = three(&whole);
    let data = format!("{:020}.data", 0);
    let bytes = whole.contents(&data).len();
    for cut in (0..bytes).step_by(61) {
        let disk = whole.twin();
        disk.change(&data, |bytes| bytes.truncate(cut));
        let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
        let (records, errors) = read_over_damage(&journal);
        assert!(records.iter().all(|(n, r)| *r == all[*n as usize]));
        assert!(errors > 0 && records.iter().any(|(n, _)| *n == 4), "cut at {cut}");
        // New data may come to lie where others are missing: they are not taken for them.
        let more = record(9, 5, 70_000);
        let first = append(&mut journal, 9_000, std::slice::from_ref(&more), false).unwrap();
        assert_eq!(read(&journal, first).0, [(first, more)]);
        let (after, errors) = read_over_damage(&journal);
        assert!(after.iter().all(|(n, r)| all.get(*n as usize).is_none_or(|of| r == of)));
        assert!(errors > 0 && after.len() > records.len());
    }
}

#[test]
fn a_folder_of_a_file_system_has_one_owner() {
    let path = std::env::temp_dir().join(format!("thalweg-journal-{}", std::process::id()));
    let settings = Settings { segment: Bytes(1 << 20), data: Bytes(1 << 20), durable: true };
    let record = |n: u64| record(n, 100, 300_000);
    for life in 0..3 {
        let disk = Arc::new(Disk::open(&path).unwrap());
        assert_eq!(Disk::open(&path).unwrap_err().kind, Kind::Access);
        let random = Box::new(move || life);
        let (mut journal, found) = Journal::open(disk.clone(), disk, settings, random, Nanos(1_000)).unwrap();
        assert_eq!((found, journal.numbers()), (Recovered::default(), 0..life * 20));
        for n in life * 20..(life + 1) * 20 {
            append(&mut journal, 2_000, &[record(n)], n % 2 == 0).unwrap();
        }
        journal.sync().unwrap();
        let (all, error) = read(&journal, 0);
        assert_eq!(error, None);
        assert!(all.iter().all(|(n, r)| *r == record(*n)) && all.len() as u64 == (life + 1) * 20);
    }
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn memory_holds_what_there_is_room_for_and_gives_it_back() {
    let room = Arc::new(Room::new(Bytes(1 << 20)));
    for round in 0..3 {
        let memory = Arc::new(Memory::new(room.clone()));
        let settings = Settings { segment: Bytes(100_000), data: Bytes(100_000), durable: false };
        let random = Box::new(move || round);
        let (mut journal, _) = Journal::open(memory.clone(), memory, settings, random, Nanos(1)).unwrap();
        let mut n = 0;
        let e = loop {
            match append(&mut journal, 1, &[record(n, 100, 3_000)], n % 2 == 0) {
                Ok(first) => assert_eq!(first, n),
                Err(e) => break e,
            }
            n += 1;
        };
        assert_eq!(e.kind, Kind::Full);
        assert!((300..340).contains(&n), "{n} records");
        journal.drop_before(n / 2).unwrap();
        assert_eq!(append(&mut journal, 1, &[record(n, 100, 3_000)], true).unwrap(), n);
        let (records, error) = read(&journal, n / 2);
        assert_eq!(error, None);
        assert!(records.iter().all(|(k, r)| *r == record(*k, 100, 3_000)) && records.last().unwrap().0 == n);
    }
}

#[test]
fn a_batch_that_lies_is_refused() {
    let disk = ToyDisk::default();
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    let mut body = Body::default();
    (0..3).for_each(|n| body.push(&[n; 5], &[n; 11]).unwrap());
    let good = body.bytes(true);
    let content = body.content();
    let mut refused = 0;
    for byte in 0..40 {
        let mut bytes = good.clone();
        bytes[byte] ^= 0x81;
        let batch = Batch { content, writer: 0, sequence: 0, body: &bytes, apart: None };
        match journal.append(Nanos(5_000), &[batch]) {
            Ok(_) => assert!((12..16).contains(&byte), "byte {byte}"),
            Err(e) => {
                assert_eq!(e.kind, Kind::Protocol);
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 36);
    let short = Batch { content, writer: 0, sequence: 0, body: &good[..good.len() - 8], apart: None };
    assert_eq!(journal.append(Nanos(5_000), &[short]).unwrap_err().kind, Kind::Protocol);
}

#[test]
fn time_finds_the_first_record_since_and_never_goes_back() {
    let disk = ToyDisk::default();
    let settings = Settings { segment: Bytes(2_000), ..SMALL };
    let (mut journal, _) = open(&disk, settings, 1).unwrap();
    let times = [5_000, 5_000, 4_000, 6_000, 9_000, 9_500];
    for k in 0..60 {
        append(&mut journal, times[k / 10] + k as u64 % 10, &[record(k as u64, 50, 50)], true).unwrap();
    }
    // Where the clock went back, records have the time of the one before.
    for (time, first) in
        [(0, 0), (5_000, 0), (5_001, 1), (5_009, 9), (5_010, 30), (6_000, 30), (7_000, 40), (9_509, 59)]
    {
        assert_eq!(journal.first_since(Nanos(time)).unwrap(), first, "since {time}");
    }
    assert_eq!(journal.first_since(Nanos(9_510)).unwrap(), 60);
}

#[test]
fn the_oldest_files_are_let_go_of_and_no_others() {
    let disk = ToyDisk::default();
    let settings = Settings { segment: Bytes(2_000), data: Bytes(2_000), durable: true };
    let (mut journal, _) = open(&disk, settings, 1).unwrap();
    for k in 0..100 {
        append(&mut journal, 2_000 + k, &[record(k, 50, 150)], k % 3 == 0).unwrap();
    }
    let before = journal.bytes();
    journal.drop_before(60).unwrap();
    let numbers = journal.numbers();
    assert!(numbers.start > 40 && numbers.start <= 60 && numbers.end == 100);
    assert!(journal.bytes().0 < before.0 * 7 / 10);
    assert_eq!(journal.read(0, |_| Ok(true)).unwrap_err().kind, Kind::NotFound);
    drop(journal);
    let (journal, _) = open(&disk, settings, 2).unwrap();
    let (records, error) = read(&journal, numbers.start);
    assert_eq!(error, None);
    assert!(
        records.iter().all(|(n, r)| *r == record(*n, 50, 150)) && records.len() as u64 == 100 - numbers.start
    );
}

/// Thousands of lives: killed at any byte, out of power, out of disk; what was synchronised is there afterwards, in order.
#[test]
fn nothing_that_was_synchronised_is_lost() {
    for seed in 0..3_000 {
        life(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

fn life(seed: u64) -> std::result::Result<(), String> {
    let mut chance = Chance::new(seed);
    let disk = ToyDisk::default();
    let settings = Settings {
        segment: Bytes(1 << (9 + chance.below(6))),
        data: Bytes(1 << (9 + chance.below(6))),
        durable: true,
    };
    // What was appended, how many of them are never lost, and those that a loss of power took from among them before.
    let (mut appended, mut safe): (Vec<Record>, usize) = (Vec::new(), 0);
    let mut lost = BTreeSet::new();
    for _ in 0..chance.below(5) + 2 {
        disk.live(None);
        disk.room(None);
        disk.break_sync(false);
        let (mut journal, _) = open(&disk, settings, chance.number()).map_err(|e| format!("open: {e}"))?;
        let there = journal.numbers().end as usize;
        if there < safe || there > appended.len() {
            return Err(format!(
                "{there} records are there, {safe} were synchronised, {} appended",
                appended.len()
            ));
        }
        appended.truncate(there);
        let records: BTreeMap<u64, Record> = read_over_damage(&journal).0.into_iter().collect();
        for n in 0..there as u64 {
            match records.get(&n) {
                Some(found) if *found != appended[n as usize] => {
                    return Err(format!("record {n} is another"))
                }
                None if (n as usize) < safe && !lost.contains(&n) => {
                    return Err(format!("record {n} is lost"))
                }
                None => drop(lost.insert(n)),
                Some(_) => {}
            }
        }
        lost.retain(|n| *n < there as u64);
        safe = there;
        if chance.percent(50) {
            disk.live(Some(chance.below(6_000)));
        }
        if chance.percent(20) {
            disk.room(Some(chance.below(6_000)));
        }
        for k in 0..chance.below(30) {
            let (now, inline) = (2_000 + chance.below(1_000), chance.percent(60));
            let batch: Vec<Record> = (0..chance.below(4) + 1)
                .map(|j| {
                    record(seed * 1_000 + k * 10 + j, chance.below(60) as usize, chance.below(300) as usize)
                })
                .collect();
            appended.extend(batch.clone());
            match append(&mut journal, now, &batch, inline) {
                Ok(_) => {}
                // All or none, unless the process is killed before it could take it back.
                Err(e) if e.kind == Kind::Full => appended.truncate(appended.len() - batch.len()),
                Err(_) => break,
            }
            if chance.percent(5) {
                disk.break_sync(true);
            }
            if chance.percent(40) {
                match journal.sync() {
                    Ok(()) => safe = appended.len(),
                    Err(_) => break,
                }
            }
        }
        drop(journal);
        // Else the process alone has ended: what it wrote is there.
        if chance.percent(40) {
            disk.lose_power(&mut chance);
        }
    }
    Ok(())
}

/// The example of docs/formats/journal.md.
#[test]
fn the_documents_example_is_what_is_written() {
    let disk = ToyDisk::default();
    let mut numbers = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, 0x1122_3344_5566_7788].into_iter();
    let folder = Arc::new(disk.clone());
    let random = Box::new(move || numbers.next().unwrap());
    let (mut journal, _) = Journal::open(folder.clone(), folder, SMALL, random, Nanos(1_000)).unwrap();
    let mut body = Body::default();
    body.push(br#"{"n":1}"#, b"abc").unwrap();
    body.push(br#"{"n":2}"#, b"").unwrap();
    let bytes = body.bytes(true);
    let batch = Batch { content: body.content(), writer: 7, sequence: 41, body: &bytes, apart: None };
    journal.append(Nanos(2_000), &[batch]).unwrap();
    let written = disk.contents(&log());
    let hex = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> =
        written.chunks(16).enumerate().map(|(n, line)| format!("{:04x}  {}", n * 16, hex(line))).collect();
    let document = include_str!("../../../docs/formats/journal.md");
    let example = document.split("```hex\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert_eq!(lines.join("\n"), example);
}
