//! A segment file: entries one behind the other, and its index.

use super::entry::Header;
use super::folder::{File, Folder};
use super::head::{Head, Use, HEAD};
use super::index::{Item, Items, ITEM};
use super::scan::{Found, Scan};
use std::sync::Arc;
use thalweg_foundation::{Kind, Nanos, Result};

/// Makes the file with `head` and then `start`. Under its name there is never a part of it.
pub fn make(folder: &dyn Folder, head: &Head, start: &[u8]) -> Result<Arc<dyn File>> {
    let name = head.of.name(head.number);
    let fresh = format!("{name}.new");
    let file = folder.create(&fresh)?;
    let done = file.write(0, &[&head.encode(), start]).and_then(|()| file.sync());
    let done = done.and_then(|()| folder.rename(&fresh, &name)).and_then(|()| folder.sync());
    if let Err(e) = done {
        // What is left of it is removed when the journal is opened next, if not now.
        let _ = folder.remove(&fresh);
        return Err(e);
    }
    Ok(file)
}

/// The head at the beginning of `file`, which is called `name`.
///
/// # Errors
/// `Io`, or what `Head::decode` says.
pub fn read_head(file: &dyn File, of: Use, name: &str) -> Result<Head> {
    let mut bytes = [0; HEAD];
    if file.bytes()? < HEAD as u64 {
        return Err(super::damaged(name, 0, "the file ends in its head"));
    }
    file.read(0, &mut bytes)?;
    Head::decode(&bytes, of, name)
}

/// Opens the file with `number`.
pub fn open(folder: &dyn Folder, of: Use, number: u64) -> Result<(Arc<dyn File>, Head)> {
    let name = of.name(number);
    let file = folder.open(&name)?;
    let head = read_head(&*file, of, &name)?;
    Ok((file, head))
}

/// What the index of segment file `number` knows of it: its head, and the number behind the last record of which it has heard. None
/// where the index cannot be read.
pub fn known_by_index(folder: &dyn Folder, number: u64) -> Option<(Head, u64)> {
    let (file, head) = open(folder, Use::Index, number).ok()?;
    let mut bytes = vec![0; (file.bytes().ok()? as usize).checked_sub(HEAD)?];
    file.read(HEAD as u64, &mut bytes).ok()?;
    let (safe, items) = bytes.split_at_checked(ITEM)?;
    let safe = Item::decode(safe).map_or(0, |item| item.first);
    let noted = Items::decode(items).last().map_or(0, |item| item.first + 1);
    Some((Head { of: Use::Log, ..head }, number.max(safe).max(noted)))
}

/// Opens a segment file. Its index has the same head, so that damage to one of them is mended from the other.
fn open_log(folder: &dyn Folder, number: u64) -> Result<(Arc<dyn File>, Head)> {
    let damaged = match open(folder, Use::Log, number) {
        // A damaged version looks like a later one; of a later release the index would be one too.
        Err(e) if matches!(e.kind, Kind::Corrupt | Kind::Protocol) => e,
        opened => return opened,
    };
    let Some((head, _)) = known_by_index(folder, number) else { return Err(damaged) };
    let file = folder.open(&Use::Log.name(number))?;
    file.write(0, &[&head.encode()])?;
    Ok((file, head))
}

/// An open segment file.
#[derive(Debug)]
pub struct SegmentFile {
    /// The file.
    pub file: Arc<dyn File>,
    /// Its head.
    pub head: Head,
    /// Where its last entry ends.
    pub end: u64,
    /// Up to where all survives the machine, and the number of the record behind; none where nobody waits for that.
    safe: Option<Safe>,
    items: Items,
    index: Option<Arc<dyn File>>,
}

/// What survives the end of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Safe {
    /// Where it ends.
    pub place: u64,
    /// The number of the next record.
    pub next: u64,
}

/// Where the items begin in an index: behind its head and what is safe.
const ITEMS: usize = HEAD + ITEM;

fn make_index(folder: &dyn Folder, of: &Head, safe: Option<Item>) -> Option<Arc<dyn File>> {
    let head = Head { of: Use::Index, ..*of };
    let start = safe.map_or([0; ITEM], |item| item.encode());
    make(folder, &head, &start).ok()
}

impl SegmentFile {
    /// Begins one; `durable` when it will be synchronised.
    pub fn make(folder: &dyn Folder, head: Head, durable: bool) -> Result<SegmentFile> {
        let file = make(folder, &head, &[])?;
        let (items, end) = (Items::default(), HEAD as u64);
        let mut segment = SegmentFile {
            file,
            head,
            end,
            safe: durable.then_some(Safe { place: end, next: head.number }),
            items,
            index: None,
        };
        segment.index = make_index(folder, &head, segment.safe_item());
        Ok(segment)
    }

    /// Opens one for reading; its end is that of the file.
    pub fn open(folder: &dyn Folder, number: u64) -> Result<SegmentFile> {
        let (file, head) = open_log(folder, number)?;
        let mut segment =
            SegmentFile { file, head, end: 0, safe: None, items: Items::default(), index: None };
        segment.end = segment.file.bytes()?;
        segment.read_index(folder)?;
        Ok(segment)
    }

    /// Opens one to go on with it; `durable` when what nobody says may be gone by a crash of the machine.
    pub fn reopen(folder: &dyn Folder, number: u64, durable: bool) -> Result<SegmentFile> {
        let mut segment = SegmentFile::open(folder, number)?;
        if segment.index.is_none() {
            segment.safe = durable.then_some(Safe { place: HEAD as u64, next: number });
            let _ = folder.remove(&Use::Index.name(number));
            segment.index = make_index(folder, &segment.head, segment.safe_item());
        }
        segment.cut_index();
        Ok(segment)
    }

    /// Writes the head again where it is not what it was. Readers in other processes begin with it.
    pub fn keep_head(&self) -> Result<()> {
        let name = Use::Log.name(self.head.number);
        match read_head(&*self.file, Use::Log, &name) {
            Ok(head) if head == self.head => Ok(()),
            Err(e) if e.kind == Kind::Io => Err(e),
            _ => self.file.write(0, &[&self.head.encode()]),
        }
    }

    /// Takes the index as far as it is one of this file.
    fn read_index(&mut self, folder: &dyn Folder) -> Result<()> {
        let ours = Head { of: Use::Index, ..self.head };
        let Some((index, _)) = open(folder, Use::Index, ours.number).ok().filter(|(_, head)| *head == ours)
        else {
            return Ok(());
        };
        let mut bytes = vec![0; (index.bytes()? as usize).saturating_sub(HEAD)];
        index.read(HEAD as u64, &mut bytes)?;
        let Some((safe, items)) = bytes.split_at_checked(ITEM) else { return Ok(()) };
        if safe.iter().any(|byte| *byte != 0) {
            // Torn by a crash of the machine: then nobody knows.
            let Some(item) = Item::decode(safe) else { return Ok(()) };
            self.safe = Some(Safe { place: item.place, next: item.first });
        }
        self.items = Items::decode(items);
        self.index = Some(index);
        // An item that names no entry was written before a crash, or damaged: those in front of it are good.
        while let Some(last) = self.items.last().copied() {
            let found = Scan::new(&*self.file, self.head, self.end).header(last.place)?;
            if found.is_some_and(|header| header.first == last.first && header.time == last.time) {
                break;
            }
            self.items.cut(last.place);
        }
        Ok(())
    }

    fn safe_item(&self) -> Option<Item> {
        self.safe.map(|Safe { place, next }| Item { first: next, time: self.head.made, place })
    }

    /// What survives the machine; none where nobody waits for that.
    pub fn safe(&self) -> Option<Safe> {
        self.safe
    }

    /// Makes all that was appended, up to record `next`, survive the machine, and notes that for who opens it after the process
    /// alone has ended.
    pub fn sync(&mut self, next: u64) -> Result<()> {
        self.file.sync()?;
        self.safe = Some(Safe { place: self.end, next });
        let item = self.safe_item().map(|item| item.encode()).unwrap_or_default();
        if self.index.as_ref().is_some_and(|index| index.write(HEAD as u64, &[&item]).is_err()) {
            self.index = None;
        }
        Ok(())
    }

    fn cut_index(&mut self) {
        let bytes = (ITEMS + self.items.len() * ITEM) as u64;
        if self.index.as_ref().is_some_and(|index| index.cut(bytes).is_err()) {
            self.index = None;
        }
    }

    /// The last item of the index that is of what is safe; those behind it are forgotten.
    pub fn last_safe_item(&mut self) -> Option<Item> {
        self.items.cut(self.safe.map_or(u64::MAX, |safe| safe.place.saturating_add(1)));
        self.cut_index();
        self.items.last().copied()
    }

    /// Adds an item for the entry behind `header` where it is time for one. Without an index searching takes longer, no more.
    pub fn note(&mut self, header: &Header) {
        let Header { first, time, place, .. } = *header;
        let at = (ITEMS + self.items.len() * ITEM) as u64;
        let Some(item) = self.items.due(Item { first, time, place }) else { return };
        if self.index.as_ref().is_some_and(|index| index.write(at, &[&item.encode()]).is_err()) {
            self.index = None;
        }
    }

    /// Cuts off what lies behind `end`.
    pub fn cut(&mut self, end: u64) -> Result<()> {
        self.file.cut(end)?;
        self.end = end;
        self.items.cut(end);
        self.cut_index();
        Ok(())
    }

    /// A reader of its entries.
    pub fn scan(&self) -> Scan<'_> {
        Scan::new(&*self.file, self.head, self.end)
    }

    /// Where to begin to look for record `number`: a place, and the number of the record there.
    pub fn near(&self, number: u64) -> (u64, u64) {
        let item = self.items.last_where(|item| item.first <= number);
        item.map_or((HEAD as u64, self.head.number), |item| (item.place, item.first))
    }

    /// The number of the first record that was appended at `time` or later, up to where the file ends: none.
    pub fn first_since(&self, time: Nanos) -> Result<Option<u64>> {
        let item = self.items.last_where(|item| item.time < time);
        let (mut place, mut next) =
            item.map_or((HEAD as u64, self.head.number), |item| (item.place, item.first));
        let mut scan = self.scan();
        loop {
            // The headers are enough while they are good.
            let header = match scan.header(place)? {
                Some(header) => header,
                None => match scan.find(place, next)? {
                    Found::Entry(entry) => entry.header,
                    Found::Damage(damage) => {
                        (place, next) = (damage.until, damage.next);
                        continue;
                    }
                    Found::End => return Ok(None),
                },
            };
            if header.time >= time {
                return Ok(Some(header.first));
            }
            (place, next) = (header.end(), header.numbers().end);
        }
    }
}
