//! The data of events that were pulled.

use super::super::events::Events;
use super::Consumer;
use std::ops::Range;
use std::sync::atomic::Ordering;
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::link::{now, Patience};

impl Consumer {
    /// Copies `range` of the data of event `n` of `events`, counted in bytes from the event's first, to `into`.
    ///
    /// # Errors
    /// `Invalid` outside of the data or where the consumer does not hold the partition any more; `Corrupt`, `Gone`.
    pub fn read_data(
        &self,
        events: &Events,
        n: u32,
        range: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let held = events.data_range(n);
        let wanted = held.start.saturating_add(range.start)..held.start.saturating_add(range.end);
        if range.start > range.end || wanted.end > held.end || into.len() as u64 != range.end - range.start {
            let detail = format!(
                "bytes {} to {} of {} into {} bytes",
                range.start,
                range.end,
                held.end - held.start,
                into.len()
            );
            return Err(Error::new(Kind::Invalid, "stream.data", detail));
        }
        if let Some(data) = events.data(n) {
            into.copy_from_slice(&data[range.start as usize..range.end as usize]);
            return Ok(());
        }
        self.read_apart(events, wanted, into, patience)
    }

    /// Copies the data of `events`, from the first byte of the first on, to `into`, which has room for all; how many events were
    /// copied: those in front of the first whose data are damaged.
    ///
    /// # Errors
    /// As `read_data`; `Corrupt` when the data of the first are damaged.
    pub fn read_all(&self, events: &Events, into: &mut [u8], patience: Patience<'_>) -> Result<u32> {
        let count = events.len() as u32;
        let wanted = events.data_range(0).start..events.data_range(count.saturating_sub(1)).end;
        if into.len() as u64 != wanted.end - wanted.start {
            let detail = format!("{} bytes into {}", wanted.end - wanted.start, into.len());
            return Err(Error::new(Kind::Invalid, "stream.data", detail));
        }
        if let Some(data) = events.data_column() {
            into.copy_from_slice(data);
            return Ok(count);
        }
        match self.read_apart(events, wanted.clone(), into, patience) {
            Ok(()) => return Ok(count),
            Err(e) if e.kind == Kind::Corrupt => {}
            Err(e) => return Err(e),
        }
        // One damaged chunk costs the events that lie in it, not the whole batch.
        for n in 0..count {
            let range = events.data_range(n);
            let place = (range.start - wanted.start) as usize..(range.end - wanted.start) as usize;
            match self.read_apart(events, range, &mut into[place], patience) {
                Ok(()) => {}
                Err(e) if e.kind == Kind::Corrupt && n > 0 => return Ok(n),
                Err(e) => return Err(e),
            }
        }
        Ok(count)
    }

    /// Reads data that lie apart; where the link breaks it connects again, as `pull` does.
    fn read_apart(
        &self,
        events: &Events,
        wanted: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let deadline = now().after(patience.within);
        loop {
            let link = self.link();
            let left = Patience { within: deadline.since(now()), ..patience };
            match self.read_apart_once(events, wanted.clone(), into, left) {
                Err(e) if e.kind == Kind::Gone && !self.closed.load(Ordering::Relaxed) => {
                    if !self.rejoin(&link, e.clone(), left)? {
                        return Err(e);
                    }
                }
                done => return done,
            }
        }
    }

    fn read_apart_once(
        &self,
        events: &Events,
        wanted: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let Some(batch) = events.batch() else { return Ok(()) };
        let mut state = self.lock();
        let Some(lane) = state.lanes.get_mut(&events.partition) else {
            drop(state);
            // Another member holds the partition now; the data are there all the same.
            return self.link().source(&self.place(events.partition)).data(&batch, wanted, into, patience);
        };
        if lane.origin != events.origin {
            let detail = format!(
                "data of event {} of partition {}: the events that were kept in memory ended with their server",
                events.first(),
                events.partition
            );
            return Err(Error::new(Kind::NotFound, "stream.data", detail));
        }
        lane.source.data(&batch, wanted, into, patience)
    }
}
