//! What stands in the directory for one published version, and where to look for it.

use thalweg_foundation::array::{DType, Extents, Shape, MAX_DIMS};
use thalweg_foundation::base::{Key, Name, NAME_MAX};
use thalweg_foundation::sync::{Payload, PAYLOAD_WORDS};
use thalweg_foundation::{Error, Kind, Result};
use xxhash_rust::xxh3::xxh3_128;

/// Where `key` of `namespace` stands in the directory: a 128-bit hash, which also identifies it.
pub fn hash(namespace: &Name, key: &Key) -> [u64; 2] {
    let mut bytes = [0; 2 * NAME_MAX + 10];
    let mut len = 0;
    let (space, name, version) = (namespace.as_str(), key.name.as_str(), key.version.0.to_le_bytes());
    for part in [space.as_bytes(), &[0], name.as_bytes(), &[0], &version] {
        bytes[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    }
    let hash = xxh3_128(&bytes[..len]);
    [hash as u64, (hash >> 64) as u64]
}

/// Where the bytes of an entry lie, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The segment's number.
    pub segment: u32,
    /// Bytes from the segment's start.
    pub offset: u64,
    /// Extents and element type; packed row-major.
    pub shape: Shape,
}

const SEGMENT: usize = 2;
const OFFSET: usize = 3;
const DTYPE: usize = 4;
const EXTENTS: usize = 5;

impl Location {
    /// The directory's words for this location under `hash`.
    pub fn payload(&self, hash: [u64; 2]) -> Payload {
        let mut words = [0; PAYLOAD_WORDS];
        words[..2].copy_from_slice(&hash);
        let extents = self.shape.extents();
        words[SEGMENT] = u64::from(self.segment) << 32 | extents.len() as u64;
        words[OFFSET] = self.offset;
        words[DTYPE] = self.shape.dtype().to_word();
        words[EXTENTS..EXTENTS + extents.len()].copy_from_slice(extents);
        words
    }

    /// The location in the directory's words.
    ///
    /// # Errors
    /// `Protocol` when they hold none.
    pub fn from_payload(words: &Payload) -> Result<Location> {
        let dims = (words[SEGMENT] & 0xffff_ffff) as usize;
        if dims > MAX_DIMS {
            return Err(Error::new(
                Kind::Protocol,
                "stage.directory",
                format!("an entry of {dims} dimensions"),
            ));
        }
        let extents = Extents::new(&words[EXTENTS..EXTENTS + dims])?;
        let shape = Shape::new(DType::from_word(words[DTYPE])?, extents)?;
        Ok(Location { segment: (words[SEGMENT] >> 32) as u32, offset: words[OFFSET], shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_foundation::Version;

    #[test]
    fn a_location_survives_the_directory() {
        let shape = Shape::new(DType::new(b'f', 4).unwrap(), Extents::new(&[3, 4, 5]).unwrap()).unwrap();
        let location = Location { segment: 7, offset: 1 << 40, shape };
        assert_eq!(Location::from_payload(&location.payload([1, 2])).unwrap(), location);
        assert!(Location::from_payload(&[u64::MAX; PAYLOAD_WORDS]).is_err());
    }

    #[test]
    fn names_and_versions_do_not_run_into_each_other() {
        let key = |name: &str, version| Key { name: Name::new("", name).unwrap(), version: Version(version) };
        let space = |name: &str| Name::new("", name).unwrap();
        let all = [
            hash(&space("a"), &key("bc", 0)),
            hash(&space("ab"), &key("c", 0)),
            hash(&space("a"), &key("bc", 1)),
        ];
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    }
}
