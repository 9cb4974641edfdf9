//! What is to be sent as a batch: what it holds, and who writes it to the outbox.

use thalweg_transport::journal::Content;

/// Data of so many bytes an event lie apart from their metadata.
const APART: u64 = 32 << 10;

/// What a batch holds, and who writes it.
pub(super) struct Load<'w> {
    pub(super) content: Content,
    pub(super) write: &'w dyn Fn(&mut [u8], bool),
}

impl Load<'_> {
    pub(super) fn apart(&self) -> bool {
        self.content.data / u64::from(self.content.records.max(1)) >= APART
    }

    /// Bytes in the outbox.
    pub(super) fn bytes(&self) -> u64 {
        let parts = self.content.parts(!self.apart());
        match self.apart() {
            true => parts.rest.next_multiple_of(64).saturating_add(self.content.data),
            false => parts.body,
        }
    }
}
