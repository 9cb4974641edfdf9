//! The journals of the partitions, and what is done with them.

use super::super::core::{Outcome, Owner, PartitionId, Written};
use super::super::definition::{Durability, Partition as Definition, Rest};
use super::super::laid::content;
use super::super::message::Batch as Described;
use super::identity;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};
use thalweg_transport::journal::{Batch, Disk, Folder, Header, Journal, Memory, Random, Room, Settings};

/// How far back it is looked who has written, in records.
const WRITTEN: u64 = 1 << 20;

/// The smallest files.
const LEAST: u64 = 64 << 10;

/// An open journal.
pub type Open = Arc<Mutex<Journal>>;

/// The journals.
pub struct Files {
    /// None: there are partitions in memory only.
    root: Option<PathBuf>,
    open: Mutex<BTreeMap<PartitionId, Open>>,
    /// What partitions in memory take together.
    room: Arc<Room>,
}

/// Random numbers of the operating system.
pub fn random() -> Random {
    Box::new(|| {
        let mut bytes = [0; 8];
        // The system's source of randomness is there as soon as it runs; a short answer leaves zeros.
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        u64::from_le_bytes(bytes)
    })
}

/// Nanoseconds since 1970: what is written is looked at by others, later.
pub fn wall() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Nanos(since.map_or(0, |since| since.as_nanos() as u64))
}

fn locked(journal: &Open) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// The journals in folders of `root`, or in `memory` bytes of memory.
    pub fn new(root: Option<PathBuf>, memory: Bytes) -> Files {
        Files { root, open: Mutex::default(), room: Arc::new(Room::new(memory)) }
    }

    /// The journal of a partition.
    ///
    /// # Errors
    /// `Io` when it is not open.
    pub fn journal(&self, id: PartitionId) -> Result<Open> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || Error::new(Kind::Io, "stream", "the partition's journal is not open");
        open.get(&id).cloned().ok_or_else(closed)
    }

    /// Whole files are let go of: they are small beside what is to be kept.
    fn sizes(&self, definition: &Definition) -> Settings {
        let Settings { segment, data, durable } = Settings::default();
        let memory = (definition.rest == Rest::Memory).then(|| self.room.limit());
        let kept = [memory, definition.retention.bytes].into_iter().flatten().min();
        let most = kept.map_or(u64::MAX, |kept| (kept.0 / 16).max(LEAST));
        Settings { segment: Bytes(segment.0.min(most)), data: Bytes(data.0.min(most)), durable }
    }

    /// Whether partitions can rest in files.
    pub fn has_folder(&self) -> bool {
        self.root.is_some()
    }

    fn folders(&self, id: PartitionId, rest: &Rest) -> Result<(Arc<dyn Folder>, Arc<dyn Folder>)> {
        if *rest == Rest::Memory {
            let memory = Arc::new(Memory::new(self.room.clone()));
            return Ok((memory.clone(), memory));
        }
        let Some(root) = &self.root else {
            let detail = "this server keeps events in memory only; start it with a folder for streams: thalweg serve --streams DIR";
            return Err(Error::new(Kind::Invalid, "stream.partition", detail));
        };
        let log = Arc::new(Disk::open(&root.join(identity::folder_name(id)))?);
        let Rest::Apart { data } = rest else { return Ok((log.clone(), log)) };
        let path = Path::new(data).join(identity::folder_name(id));
        Ok((log, Arc::new(Disk::open(&path)?)))
    }

    /// Opens the journal of a partition, or begins it.
    ///
    /// # Errors
    /// As the journal says.
    pub fn open(
        &self,
        id: PartitionId,
        definition: &Definition,
        owner: &Owner,
        now: Nanos,
    ) -> Result<Outcome> {
        let (log, data) = self.folders(id, &definition.rest)?;
        if let (Some(root), true) = (&self.root, definition.rest != Rest::Memory) {
            identity::write(&root.join(identity::folder_name(id)), owner, definition)?;
        }
        let durable = definition.durability != Durability::None;
        let settings = Settings { durable, ..self.sizes(definition) };
        let (journal, _) = Journal::open(log, data, settings, random(), now)?;
        let found = opened(&journal)?;
        let journal = Arc::new(Mutex::new(journal));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, journal);
        Ok(found)
    }

    /// Closes all journals.
    pub fn close_all(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Closes the journal of a partition.
    pub fn close(&self, id: PartitionId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Removes the files of a partition that is stored as `rest` says; there may be none.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&self, id: PartitionId, rest: &Rest) -> Result<Outcome> {
        let name = identity::folder_name(id);
        let data = if let Rest::Apart { data } = rest { Some(Path::new(data).join(&name)) } else { None };
        let log = self.root.as_ref().filter(|_| *rest != Rest::Memory).map(|root| root.join(&name));
        // The data first: the folder of the log tells whose they are.
        for folder in data.into_iter().chain(log) {
            match std::fs::remove_dir_all(&folder) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&format!("stream.remove: {}", folder.display()), e));
                }
                _ => {}
            }
        }
        Ok(Outcome::Done)
    }

    /// Appends batches, all or none.
    ///
    /// # Errors
    /// As the journal says.
    pub fn append(&self, id: PartitionId, batches: &[Lies<'_>], sync: bool, now: Nanos) -> Result<Outcome> {
        let journal = self.journal(id)?;
        let mut journal = locked(&journal);
        let batches: Vec<Batch<'_>> = batches.iter().map(Lies::batch).collect();
        appended(&mut journal, &batches, sync, now)
    }

    /// Makes a partition safe.
    ///
    /// # Errors
    /// As the journal says.
    pub fn sync(&self, id: PartitionId) -> Result<Outcome> {
        locked(&self.journal(id)?).sync().map(|()| Outcome::Done)
    }

    /// Lets go of the oldest events.
    ///
    /// # Errors
    /// As the journal says.
    pub fn retain(
        &self,
        id: PartitionId,
        since: Option<Nanos>,
        bytes: Option<Bytes>,
        before: Option<u64>,
    ) -> Result<Outcome> {
        let journal = self.journal(id)?;
        let mut journal = locked(&journal);
        let since = since.map(|since| journal.first_since(since)).transpose()?;
        if let Some(before) = [since, before].into_iter().flatten().max() {
            journal.drop_before(before)?;
        }
        if let Some(bytes) = bytes {
            journal.keep(bytes)?;
        }
        Ok(Outcome::Retained(journal.numbers().start))
    }
}

/// What an open journal tells the service.
///
/// # Errors
/// As the journal says.
pub fn opened(journal: &Journal) -> Result<Outcome> {
    let events = journal.numbers();
    let mut written = Vec::new();
    journal.headers(events.start.max(events.end.saturating_sub(WRITTEN)), |header| {
        let Header { writer: producer, sequence, first, content, .. } = *header;
        written.push(Written { producer, sequence, events: content.records, first });
    })?;
    Ok(Outcome::Opened { events, origin: journal.origin(), written })
}

/// Appends batches to an open journal, all or none.
///
/// # Errors
/// As the journal says, where it cannot be used any more.
pub fn appended(journal: &mut Journal, batches: &[Batch<'_>], sync: bool, now: Nanos) -> Result<Outcome> {
    let headers = match journal.append(now, batches) {
        Ok(headers) => headers,
        Err(e) if journal.failure().is_none() => return Ok(Outcome::Refused(e)),
        Err(e) => return Err(e),
    };
    if sync {
        journal.sync()?;
    }
    Ok(Outcome::Appended(headers.iter().map(|header| header.first).collect()))
}

/// A batch, and where its bytes lie.
#[derive(Clone, Copy, Debug)]
pub struct Lies<'o> {
    /// What it is.
    pub batch: Described,
    /// Its body.
    pub body: &'o [u8],
    /// Its data, where they lie apart.
    pub apart: Option<&'o [u8]>,
}

impl<'o> Lies<'o> {
    fn batch(&self) -> Batch<'o> {
        Batch {
            content: content(&self.batch),
            writer: self.batch.producer,
            sequence: self.batch.sequence,
            body: self.body,
            apart: self.apart,
        }
    }
}
