//! Opening a journal: which files there are, and what takes the place of those that are damaged or missing.

use super::folder::Folder;
use super::head::{Head, Identity, Use, HEAD};
use super::recovery::{recover, Recovered};
use super::segment::{known_by_index, make, open, SegmentFile};
use super::store::Store;
use super::writer::{Journal, Random, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// A record takes so many bytes of its entry at least: where its metadata end, and its data.
const RECORD_LEAST: u64 = 12;

impl Journal {
    /// Opens the journal in `folder`, or begins one; data that lie apart are in `data`, which may be the same.
    ///
    /// A segment file that is missing or whose head cannot be read costs its own records alone: they are an error for who reads
    /// them, and their numbers are not given again.
    ///
    /// # Errors
    /// `Io`, `Full`; `Access` when a data file is of another journal, `Protocol` when a file is of a later release.
    pub fn open(
        folder: Arc<dyn Folder>,
        data: Arc<dyn Folder>,
        settings: Settings,
        mut random: Random,
        now: Nanos,
    ) -> Result<(Journal, Recovered)> {
        // Files whose making was interrupted; the two folders may be one.
        for folder in [&folder, &data] {
            for name in folder.list()?.iter().filter(|name| name.ends_with(".new")) {
                folder.remove(name)?;
            }
        }
        let mut found = Recovered::default();
        let mut store = Store::open(data, settings.data)?;
        let missing = restore_missing(&*folder, &mut found)?;
        let mut numbers: Vec<u64> = folder.list()?.iter().filter_map(|name| Use::Log.number(name)).collect();
        numbers.sort_unstable();
        let identity = identity(&*folder, &numbers, &store).unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&random().to_le_bytes());
            bytes[8..].copy_from_slice(&random().to_le_bytes());
            Identity(bytes)
        });
        let newest = numbers.pop();
        let mut older = Vec::new();
        for number in numbers {
            older.push((number, folder.open(&Use::Log.name(number))?.bytes()?));
        }
        let mut begin = |number: u64| {
            let head = Head { of: Use::Log, journal: identity, number, salt: random(), made: now };
            SegmentFile::make(&*folder, head, settings.durable)
        };
        let (newest, next, time) = match newest {
            None => (begin(0)?, 0, now),
            Some(number) => match behind(&*folder, number, &missing)? {
                None => {
                    let mut newest = SegmentFile::reopen(&*folder, number, settings.durable)?;
                    let end = recover(&mut newest, &store, &mut found)?;
                    (newest, end.next, end.time)
                }
                Some(next) => {
                    older.push((number, folder.open(&Use::Log.name(number))?.bytes()?));
                    (begin(next)?, next, now)
                }
            },
        };
        if let Some(name) = store.stranger(&identity) {
            let detail =
                format!("{name} is of another journal; give each server a folder of its own for data");
            return Err(Error::new(Kind::Access, "journal.open", detail));
        }
        found.mended.extend(store.mend_heads(identity, now)?);
        let mut journal = Journal {
            folder,
            settings,
            identity,
            random,
            older,
            newest,
            data_at: store.end(),
            store,
            next,
            time,
            dirty: false,
            failed: None,
        };
        if settings.durable {
            journal.sync_all()?;
        }
        Ok((journal, found))
    }

    /// Whoever appended it may not have waited until it was safe.
    fn sync_all(&mut self) -> Result<()> {
        for (number, _) in &self.older {
            self.folder.open(&Use::Log.name(*number))?.sync()?;
        }
        self.store.sync_all()?;
        self.newest.sync(self.next)
    }
}

/// Makes segment files again, empty, that are missing though their index is there; the numbers behind the records that they had.
fn restore_missing(folder: &dyn Folder, found: &mut Recovered) -> Result<BTreeMap<u64, u64>> {
    let names = folder.list()?;
    let lost = |number: &u64| !names.contains(&Use::Log.name(*number));
    let mut missing = BTreeMap::new();
    for number in names.iter().filter_map(|name| Use::Index.number(name)).filter(lost) {
        if let Some((head, next)) = known_by_index(folder, number).filter(|(_, next)| *next > number) {
            make(folder, &head, &[])?;
            found.mended.push(Use::Log.name(number));
            missing.insert(number, next);
        }
    }
    Ok(missing)
}

/// Of which journal the files are, by the first that tells.
fn identity(folder: &dyn Folder, numbers: &[u64], store: &Store) -> Option<Identity> {
    let by_log = |number: &u64| {
        let log = open(folder, Use::Log, *number).map(|(_, head)| head);
        log.ok().or_else(|| known_by_index(folder, *number).map(|(head, _)| head))
    };
    numbers.iter().rev().find_map(by_log).map(|head| head.journal).or_else(|| store.identity())
}

/// The number behind the records of the newest segment file, where nothing can be appended to it: it was missing, or its head
/// cannot be read. None where it can go on.
fn behind(folder: &dyn Folder, number: u64, missing: &BTreeMap<u64, u64>) -> Result<Option<u64>> {
    if let Some(next) = missing.get(&number) {
        return Ok(Some(*next));
    }
    match open(folder, Use::Log, number) {
        Err(e)
            if matches!(e.kind, Kind::Corrupt | Kind::Protocol)
                && known_by_index(folder, number).is_none() =>
        {
            if e.kind == Kind::Protocol {
                return Err(e);
            }
            // Nobody knows how many records it had: the next number is one that none of them can have had.
            let bytes = folder.open(&Use::Log.name(number))?.bytes()?;
            Ok(Some(number + 1 + bytes.saturating_sub(HEAD as u64) / RECORD_LEAST))
        }
        Err(e) if matches!(e.kind, Kind::Corrupt | Kind::Protocol) => Ok(None),
        opened => opened.map(|_| None),
    }
}
