//! The end of the newest segment file, after whatever ended the process or the machine.

use super::entry::Header;
use super::folder::File;
use super::head::{Use, HEAD};
use super::scan::{Damage, Found};
use super::segment::SegmentFile;
use super::store::Store;
use std::ops::Range;
use thalweg_foundation::{Bytes, Nanos, Result};

/// So much is written again at a time.
const PIECE: usize = 1 << 20;

/// What was found when a journal was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The torn tail that was cut off.
    pub cut: Bytes,
    /// Parts that cannot be read, among those that were looked at.
    pub damage: Vec<Damage>,
    /// Files that were missing, or whose heads were damaged, and are made again.
    pub mended: Vec<String>,
}

/// Where to go on.
pub(super) struct End {
    /// The number of the next record.
    pub next: u64,
    /// The time of the last entry.
    pub time: Nanos,
}

/// Writes again what lies at `places` of a file.
pub(super) fn rewrite(file: &dyn File, places: Range<u64>) -> Result<()> {
    let mut bytes = Vec::new();
    for at in places.clone().step_by(PIECE) {
        bytes.resize(PIECE.min((places.end.min(file.bytes()?)).saturating_sub(at) as usize), 0);
        file.read(at, &mut bytes)?;
        file.write(at, &[&bytes])?;
    }
    Ok(())
}

/// Brings the newest segment file to a good end.
pub(super) fn recover(segment: &mut SegmentFile, store: &Store, found: &mut Recovered) -> Result<End> {
    let (mut place, mut next, mut time) = match segment.last_safe_item() {
        Some(item) => (item.place, item.first, item.time),
        None => (HEAD as u64, segment.head.number, segment.head.made),
    };
    let before = segment.end;
    let mut headers = Vec::new();
    // Nobody was told that what lies behind this survives a crash of the machine, and it may not have.
    let known = segment.safe();
    let safe = known.map_or(u64::MAX, |safe| safe.place);
    // Entries whose data are missing are torn as long as no good one follows.
    let mut end = (place, next, time);
    let mut damage = Vec::new();
    let mut scan = segment.scan();
    loop {
        match scan.find(place, next)? {
            Found::Entry(entry) => {
                let header = entry.header;
                if header.place >= safe && !store.is_good(&entry)? {
                    break;
                }
                (place, next, time) = (header.end(), header.numbers().end, header.time.max(time));
                if header.stored().is_none_or(|positions| store.holds(&positions)) {
                    headers.push(header);
                    end = (place, next, time);
                    found.damage.append(&mut damage);
                }
            }
            Found::Damage(part) if part.place >= safe && part.until > part.place => break,
            Found::Damage(part) => {
                (place, next) = (part.until, part.next);
                damage.push(part);
            }
            Found::End => match known {
                // What was safe is no torn tail: it is damage, and what comes next goes behind it.
                Some(known) if place < known.place && next < known.next => {
                    let file = Use::Log.name(segment.head.number);
                    let (until, first) = (known.place, next);
                    found.damage.push(Damage { file, place, until, first, next: known.next });
                    (place, next) = (until, known.next);
                    end = (place, next, time);
                }
                _ => break,
            },
        }
    }
    drop(scan);
    // A synchronisation may have failed, after which a kernel takes for written what it still has: what nobody said was safe is
    // written again.
    if let Some(known) = known {
        rewrite(&*segment.file, known.place.min(end.0)..end.0)?;
        let behind = headers.iter().filter(|header| header.place >= known.place);
        for positions in behind.filter_map(Header::stored).filter(|positions| !positions.is_empty()) {
            store.rewrite(&positions)?;
        }
    }
    headers.iter().for_each(|header| segment.note(header));
    let (place, next, time) = end;
    found.cut = Bytes(before.saturating_sub(place));
    // Also what was set aside for it before.
    segment.cut(place)?;
    Ok(End { next, time })
}
