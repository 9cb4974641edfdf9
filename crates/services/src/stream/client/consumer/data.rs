//! The data of events that were pulled.

use super::super::events::Events;
use super::Consumer;
use std::ops::Range;
use thalweg_foundation::{Error, Kind, Result};
use thalweg_transport::link::Patience;

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

    /// Copies the data of all `events`, from the first byte of the first to the last of the last, to `into`.
    ///
    /// # Errors
    /// As `read_data`.
    pub fn read_all(&self, events: &Events, into: &mut [u8], patience: Patience<'_>) -> Result<()> {
        let last = (events.len() as u32).saturating_sub(1);
        let wanted = events.data_range(0).start..events.data_range(last).end;
        if into.len() as u64 != wanted.end - wanted.start {
            let detail = format!("{} bytes into {}", wanted.end - wanted.start, into.len());
            return Err(Error::new(Kind::Invalid, "stream.data", detail));
        }
        match events.data_column() {
            Some(data) => into.copy_from_slice(data),
            None => self.read_apart(events, wanted, into, patience)?,
        }
        Ok(())
    }

    fn read_apart(
        &self,
        events: &Events,
        wanted: Range<u64>,
        into: &mut [u8],
        patience: Patience<'_>,
    ) -> Result<()> {
        let Some(batch) = events.batch() else { return Ok(()) };
        let mut state = self.lock();
        if let Some(lane) = state.lanes.get_mut(&events.partition) {
            return lane.source.data(&batch, wanted, into, patience);
        }
        // Another member holds the partition now; the data are there all the same.
        self.link().source(&self.place(events.partition)).data(&batch, wanted, into, patience)
    }
}
