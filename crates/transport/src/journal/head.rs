//! The first 64 bytes of every file of a journal.

use super::damaged;
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// Bytes of a head.
pub const HEAD: usize = 64;
const VERSION: u32 = 1;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Entries.
    Log,
    /// Data that do not lie in their entry.
    Data,
    /// Where to begin to search a segment file.
    Index,
}

impl Use {
    fn magic(self) -> [u8; 8] {
        match self {
            Use::Log => *b"THWG-LOG",
            Use::Data => *b"THWG-DAT",
            Use::Index => *b"THWG-IDX",
        }
    }

    /// How the names of such files end.
    pub fn ending(self) -> &'static str {
        match self {
            Use::Log => "log",
            Use::Data => "data",
            Use::Index => "index",
        }
    }

    /// The name of the file with `number`.
    pub fn name(self, number: u64) -> String {
        format!("{number:020}.{}", self.ending())
    }

    /// The number in a file's name.
    pub fn number(self, name: &str) -> Option<u64> {
        let digits = name.strip_suffix(self.ending())?.strip_suffix('.')?;
        (digits.len() == 20).then(|| digits.parse().ok()).flatten()
    }
}

/// Who a journal is: the same in all its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(pub [u8; 16]);

/// What the first bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is for.
    pub of: Use,
    /// Of which journal it is.
    pub journal: Identity,
    /// Its first record, or the position of its first byte of data.
    pub number: u64,
    /// Random; in front of what the CRC of its entries is made of.
    pub salt: u64,
    /// When it was made.
    pub made: Nanos,
}

/// The number at `at`; the caller knows that it is there.
pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    if let Some(found) = bytes.get(at..at + N) {
        wide[..N].copy_from_slice(found);
    }
    u64::from_le_bytes(wide)
}

impl Head {
    /// As it lies in a file.
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.of.magic());
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.journal.0);
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.salt.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.made.0.to_le_bytes());
        let check = super::check(&bytes[16..]);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads the head of the file `name`.
    ///
    /// # Errors
    /// `Corrupt` when it is not one, `Protocol` when a later release wrote it.
    pub fn decode(bytes: &[u8; HEAD], of: Use, name: &str) -> Result<Head> {
        if bytes[..8] != of.magic() {
            return Err(damaged(name, 0, "the file does not begin as such files do"));
        }
        let version = number::<4>(bytes, 8) as u32;
        // First the version: a later one may compute its CRC otherwise.
        if version > VERSION {
            let detail = format!("{name} is of version {version}; this release reads up to {VERSION}");
            return Err(Error::new(Kind::Protocol, "journal.open", detail));
        }
        if number::<4>(bytes, 12) != u64::from(super::check(&bytes[16..])) || version == 0 {
            return Err(damaged(name, 0, "the head's check is wrong"));
        }
        let mut journal = [0; 16];
        journal.copy_from_slice(&bytes[16..32]);
        let head = Head {
            of,
            journal: Identity(journal),
            number: number::<8>(bytes, 32),
            salt: number::<8>(bytes, 40),
            made: Nanos(number::<8>(bytes, 48)),
        };
        match of.number(name) {
            Some(n) if n == head.number && bytes[56..] == [0; 8] => Ok(head),
            _ => Err(damaged(name, 0, "the head belongs to another file")),
        }
    }
}
