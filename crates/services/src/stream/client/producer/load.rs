//! What is to be sent as a batch: what it holds, and who writes it to the outbox.

use crate::stream::laid::Laid;
use thalweg_transport::journal::Content;

/// Data of so many bytes an event lie apart from their metadata.
const APART: u64 = 32 << 10;

/// Writes ends and metadata to its first argument, and the data, with the padding behind them, to its second.
pub(super) type Write<'w> = dyn Fn(&mut [u8], &mut [u8]) + 'w;

/// What a batch holds, and who writes it.
pub(super) struct Load<'w> {
    pub(super) content: Content,
    pub(super) write: &'w Write<'w>,
}

impl Load<'_> {
    pub(super) fn apart(&self) -> bool {
        self.content.data / u64::from(self.content.records.max(1)) >= APART
    }

    /// Bytes in the outbox.
    pub(super) fn bytes(&self) -> u64 {
        self.laid().bytes
    }

    fn laid(&self) -> Laid {
        Laid::of(&self.content, self.apart())
    }

    /// Writes it to `into`, which is as long as it.
    pub(super) fn write(&self, into: &mut [u8]) {
        let Laid { front, data, .. } = self.laid();
        let (before, behind) = into.split_at_mut(data as usize);
        (self.write)(&mut before[..front as usize], behind);
    }
}
