//! Folders of partitions: what they are called, and the file in each that tells whose it is.

use super::super::core::{Owner, PartitionId};
use super::super::definition::Partition as Definition;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::journal::check;

/// The file's name, and what it begins with; then come the version of the format and a checksum of what follows.
const NAME: &str = "partition";
const MAGIC: [u8; 8] = *b"THWG-PAR";
const VERSION: u32 = 1;
const HEAD: usize = 16;

/// The name of a partition's folder.
pub fn folder_name(id: PartitionId) -> String {
    format!("{}-{}", id.topic, id.partition)
}

/// Which partition's folder is called so.
pub fn id_of(name: &str) -> Option<PartitionId> {
    let (topic, partition) = name.split_once('-')?;
    Some(PartitionId { topic: topic.parse().ok()?, partition: partition.parse().ok()? })
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let about = format!("stream.open: {}", path.display());
    move |e| Error::io(&about, e)
}

/// Writes whose the partition in `folder` is, where that is not what stands there.
///
/// # Errors
/// `Io`, `Full`.
pub fn write(folder: &Path, owner: &Owner, definition: &Definition) -> Result<()> {
    let told =
        postcard::to_stdvec(&(owner, definition)).map_err(|e| Error::new(Kind::Io, "stream.open", e))?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(check(&told).to_le_bytes());
    bytes.extend(told);
    let path = folder.join(NAME);
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let fresh = folder.join(format!("{NAME}.new"));
    fs::write(&fresh, &bytes).and_then(|()| fs::rename(&fresh, &path)).map_err(io(&path))
}

/// Whose the partition in `folder` is, if the folder tells.
pub fn read(folder: &Path) -> Option<(Owner, Definition)> {
    let bytes = fs::read(folder.join(NAME)).ok()?;
    let (head, told) = bytes.split_at_checked(HEAD)?;
    let good =
        head[..8] == MAGIC && head[8..12] == VERSION.to_le_bytes() && head[12..] == check(told).to_le_bytes();
    postcard::from_bytes(told).ok().filter(|_| good)
}

/// A folder of a partition, and whose it says that it is.
pub type Found = (PartitionId, Option<(Owner, Definition)>);

/// The folders of partitions in `root`.
///
/// # Errors
/// `Io`.
pub fn folders(root: &Path) -> Result<Vec<Found>> {
    let entries = match fs::read_dir(root) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io(root))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io(root))?;
        if let Some(id) = entry.file_name().to_str().and_then(id_of) {
            found.push((id, read(&entry.path())));
        }
    }
    Ok(found)
}

/// Moves the folder of a partition out of the way, into `aside`; where it is then.
///
/// # Errors
/// `Io`.
pub fn put_aside(root: &Path, aside: &Path, id: PartitionId) -> Result<PathBuf> {
    fs::create_dir_all(aside).map_err(io(aside))?;
    let name = folder_name(id);
    let free = |path: &PathBuf| !path.exists();
    let numbered = (1u32..).map(|n| aside.join(format!("{name}.{n}")));
    let target = std::iter::once(aside.join(&name)).chain(numbered).find(free).unwrap_or_default();
    fs::rename(root.join(&name), &target).map_err(io(&target))?;
    Ok(target)
}
