//! Looking through the files of a journal that nobody has open, without changing any.

use super::entry::Entry;
use super::folder::Folder;
use super::head::{Use, HEAD};
use super::scan::{Found, Scan};
use super::segment::{known_by_index, open};
use super::store::Store;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use thalweg_foundation::{Bytes, Kind, Result};

/// Something wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file's name.
    pub file: String,
    /// What is wrong.
    pub problem: String,
    /// The records that cannot be read for it; without an end: nobody knows how many there were.
    pub lost: Option<(u64, Option<u64>)>,
    /// Whether opening the journal mends it.
    pub mends: bool,
}

impl Finding {
    fn mended(file: String, problem: impl Into<String>) -> Finding {
        Finding { file, problem: problem.into(), lost: None, mends: true }
    }

    fn lost(file: String, problem: impl Into<String>, from: u64, until: Option<u64>) -> Finding {
        Finding { file, problem: problem.into(), lost: Some((from, until)), mends: false }
    }
}

/// Reads every byte of the journal in `folder`, whose data files are in `data`, which may be the same, and says what is damaged.
///
/// # Errors
/// `Io`; `Protocol` when a file is of a later release.
pub fn verify(folder: &dyn Folder, data: Arc<dyn Folder>) -> Result<Vec<Finding>> {
    let names = folder.list()?;
    let store = Store::open(data, Bytes(u64::MAX))?;
    let head_is_bad = |name| Finding::mended(name, "the head is damaged");
    let mut found: Vec<Finding> = store.damaged_heads().map(head_is_bad).collect();
    let number = |name: &String| Use::Log.number(name).or_else(|| Use::Index.number(name));
    let numbers: BTreeSet<u64> = names.iter().filter_map(number).collect();
    let mut numbers = numbers.into_iter().peekable();
    while let Some(number) = numbers.next() {
        let known = known_by_index(folder, number);
        let log = Use::Log.name(number);
        // The first record of the file behind it.
        let behind = numbers.peek().copied();
        let known_next = known.as_ref().map(|(_, next)| *next);
        if !names.contains(&log) {
            let until = behind.or(known_next);
            if until.is_some_and(|until| until > number) {
                found.push(Finding::lost(log, "the file is missing", number, until));
            }
            continue;
        }
        if known.is_none() {
            found.push(Finding::mended(Use::Index.name(number), "the index cannot be read, or is missing"));
        }
        let head = match (open(folder, Use::Log, number), &known) {
            (Ok((_, head)), _) => head,
            (Err(e), Some((head, _))) if matches!(e.kind, Kind::Corrupt | Kind::Protocol) => {
                found.push(Finding::mended(log.clone(), "the head is damaged"));
                *head
            }
            (Err(e), None) if e.kind == Kind::Corrupt => {
                found.push(Finding::lost(
                    log,
                    "the head is damaged, and so is that of the index",
                    number,
                    behind,
                ));
                continue;
            }
            (Err(e), _) => return Err(e),
        };
        let file = folder.open(&log)?;
        let bytes = file.bytes()?;
        let mut scan = Scan::new(&*file, head, bytes);
        let (mut place, mut next) = (HEAD as u64, number);
        loop {
            match scan.find(place, next)? {
                Found::Entry(entry) => {
                    found.extend(bad_data(&store, &entry)?);
                    (place, next) = (entry.header.end(), entry.header.numbers().end);
                }
                Found::Damage(damage) => {
                    let problem = format!("no good entry from byte {} to {}", damage.place, damage.until);
                    found.push(Finding::lost(log.clone(), problem, damage.first, Some(damage.next)));
                    (place, next) = (damage.until, damage.next);
                }
                Found::End => break,
            }
        }
        // What the index knows of was there; of a tail that it does not know nobody was told.
        let until = behind.or(known_next).unwrap_or(next);
        if until > next {
            let problem = format!("no good entry from byte {place} on");
            found.push(Finding::lost(log, problem, next, Some(until)));
        } else if behind.is_none() && bytes > place {
            found.push(Finding::mended(log, format!("a torn tail of {}", Bytes(bytes - place))));
        }
    }
    Ok(found)
}

/// The records of a batch whose external data are not what was written.
fn bad_data(store: &Store, entry: &Entry<'_>) -> Result<Option<Finding>> {
    let Some(positions) = entry.header.stored().filter(|_| !store.is_good(entry).unwrap_or(false)) else {
        return Ok(None);
    };
    let first = entry.header.first;
    let mut bad: Option<Range<u64>> = None;
    for n in 0..entry.header.content.records {
        let range = entry.data_range(n);
        let mut into = vec![0; (range.end - range.start) as usize];
        match store.read(entry, range, &mut into) {
            Err(e) if e.kind == Kind::Corrupt => {
                let number = first + u64::from(n);
                let begin = bad.map_or(number, |bad| bad.start);
                bad = Some(begin..number + 1);
            }
            read => read?,
        }
    }
    let file =
        store.holding(positions.start).map_or("data files".into(), |(number, _)| Use::Data.name(number));
    Ok(bad.map(|bad| Finding::lost(file, "a check of data is wrong", bad.start, Some(bad.end))))
}
