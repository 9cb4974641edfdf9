//! A segment file: entries one behind the other, and its index.

use super::entry::Header;
use super::folder::{File, Folder};
use super::head::{Head, Use, HEAD};
use super::index::{Item, Items, ITEM};
use super::scan::{Found, Scan};
use std::sync::Arc;
use thalweg_foundation::{Nanos, Result};

/// Makes the file with `head`, followed by zeros up to `bytes`. Under its name there is never a part of it.
pub fn make<D: Folder>(folder: &D, head: &Head, bytes: usize) -> Result<D::File> {
    let name = head.of.name(head.number);
    let fresh = format!("{name}.new");
    let file = folder.create(&fresh)?;
    let mut start = vec![0; bytes.max(HEAD)];
    start[..HEAD].copy_from_slice(&head.encode());
    let done = file.write(0, &[&start]).and_then(|()| file.sync());
    let done = done.and_then(|()| folder.rename(&fresh, &name)).and_then(|()| folder.sync());
    if let Err(e) = done {
        // What is left of it is removed when the journal is opened next, if not now.
        let _ = folder.remove(&fresh);
        return Err(e);
    }
    Ok(file)
}

/// Opens the file with `number`.
pub fn open<D: Folder>(folder: &D, of: Use, number: u64) -> Result<(D::File, Head)> {
    let name = of.name(number);
    let file = folder.open(&name)?;
    let mut bytes = [0; HEAD];
    if file.bytes()? < HEAD as u64 {
        return Err(super::damaged(&name, 0, "the file ends in its head"));
    }
    file.read(0, &mut bytes)?;
    let head = Head::decode(&bytes, of, &name)?;
    Ok((file, head))
}

/// An open segment file.
#[derive(Debug)]
pub struct SegmentFile<F> {
    /// The file.
    pub file: Arc<F>,
    /// Its head.
    pub head: Head,
    /// Where its last entry ends.
    pub end: u64,
    items: Items,
    index: Option<F>,
}

impl<F: File> SegmentFile<F> {
    /// Begins one.
    pub fn make<D: Folder<File = F>>(folder: &D, head: Head) -> Result<SegmentFile<F>> {
        let file = Arc::new(make(folder, &head, HEAD)?);
        let index = make(folder, &Head { of: Use::Index, ..head }, HEAD).ok();
        Ok(SegmentFile { file, head, end: HEAD as u64, items: Items::default(), index })
    }

    /// Opens one for reading; its end is that of the file.
    pub fn open<D: Folder<File = F>>(folder: &D, number: u64) -> Result<SegmentFile<F>> {
        let (file, head) = open(folder, Use::Log, number)?;
        let end = file.bytes()?;
        let mut segment =
            SegmentFile { file: Arc::new(file), head, end, items: Items::default(), index: None };
        segment.read_index(folder)?;
        Ok(segment)
    }

    /// Opens one to go on with it.
    pub fn reopen<D: Folder<File = F>>(folder: &D, number: u64) -> Result<SegmentFile<F>> {
        let mut segment = SegmentFile::open(folder, number)?;
        if segment.index.is_none() {
            let _ = folder.remove(&Use::Index.name(number));
            segment.index = make(folder, &Head { of: Use::Index, ..segment.head }, HEAD).ok();
        }
        segment.cut_index();
        Ok(segment)
    }

    /// Takes the index as far as it is one of this file.
    fn read_index<D: Folder<File = F>>(&mut self, folder: &D) -> Result<()> {
        let ours = Head { of: Use::Index, ..self.head };
        let Some((index, _)) = open(folder, Use::Index, ours.number).ok().filter(|(_, head)| *head == ours)
        else {
            return Ok(());
        };
        let mut bytes = vec![0; (index.bytes()? as usize).saturating_sub(HEAD)];
        index.read(HEAD as u64, &mut bytes)?;
        self.items = Items::decode(&bytes);
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

    fn cut_index(&mut self) {
        let bytes = (HEAD + self.items.len() * ITEM) as u64;
        if self.index.as_ref().is_some_and(|index| index.cut(bytes).is_err()) {
            self.index = None;
        }
    }

    /// The last item of the index.
    pub fn last_item(&self) -> Option<Item> {
        self.items.last().copied()
    }

    /// Adds an item for the entry behind `header` where it is time for one. Without an index searching takes longer, no more.
    pub fn note(&mut self, header: &Header) {
        let Header { first, time, place, .. } = *header;
        let at = (HEAD + self.items.len() * ITEM) as u64;
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
    pub fn scan(&self) -> Scan<'_, F> {
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
