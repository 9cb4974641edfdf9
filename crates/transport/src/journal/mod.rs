//! A journal: numbered records in append-only files that survive what happens to the process and the machine.
//!
//! What lies on the disk is specified in `docs/formats/journal.md`. The journal does not know what its records mean.

mod body;
mod chunk;
mod entry;
mod folder;
mod head;
mod index;
mod lookup;
mod memory;
mod opening;
mod reader;
mod recovery;
mod scan;
mod segment;
mod store;
mod verify;
mod writer;

pub use body::{write_front, Body};
pub use chunk::{read_data, Chunk};
pub use entry::{padded, Batch, Content, Entry, Header, Parts, Place, BODY_MAX, CHUNK, HEADER};
pub use folder::{received, Disk, File, Folder};
pub use head::{Head, Identity, Use, HEAD};
pub use memory::{Memory, Room};
pub use reader::{Follower, Located, Read, Reader, Step};
pub use recovery::Recovered;
pub use scan::{Damage, Found};
pub use verify::{verify, Finding};
pub use writer::{Journal, Random, Settings};

use thalweg_foundation::{Error, Kind};

/// The checksum of everything in a journal: CRC-32C.
pub fn check(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The checksum of `salt`, then `bytes`.
fn check_salted(salt: u64, bytes: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&salt.to_le_bytes());
    digest.update(bytes);
    digest.finalize() as u32
}

/// The checksum of `parts`, one behind the other.
fn check_parts(parts: &[&[u8]]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

/// That the file `name` is not at `place` what was written.
fn damaged(name: &str, place: u64, detail: &str) -> Error {
    Error::new(Kind::Corrupt, "journal.read", format!("{name} at {place}: {detail}"))
}
