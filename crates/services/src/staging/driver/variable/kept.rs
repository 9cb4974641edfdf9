//! Arrays that a process keeps for its readers.

use super::super::client::{Client, Committed};
use super::super::exchange::tcp_address;
use super::super::held::{shape_of, Lying};
use super::super::shared::unexpected;
use super::Variable;
use crate::staging::message::{Reply, Request};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::array::{transfers, Region, Shape, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Result, Version};
use thalweg_transport::link::Patience;
use thalweg_transport::process;

/// What this process keeps: of which version, with which service, under which key.
pub(super) type Kept = Mutex<Vec<(Version, Arc<Client>, Key)>>;

impl Variable {
    /// As `put`, but the bytes stay in `keeper`, a service in this process, and readers fetch them there: nothing is copied
    /// to the stage's services. They are lost when this process ends.
    ///
    /// # Errors
    /// As `put`; `Invalid` when a service is reached over TCP.
    ///
    /// # Safety
    /// As `put`.
    pub unsafe fn put_local(
        &self,
        keeper: &Arc<Client>,
        version: Version,
        region: &Region,
        from: *const u8,
        lying: &Lying<'_>,
        patience: Patience<'_>,
    ) -> Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.check("stage.put", region)?;
        if let Some(far) = self.stage.clients().iter().find(|c| tcp_address(c.address()).is_some()) {
            let detail = format!(
                "the service at {:?} is reached over TCP, and its readers may not be on this node; put without local",
                far.address()
            );
            return Err(Error::new(Kind::Invalid, "stage.put", detail));
        }
        self.drop_kept(patience)?;
        let cell = &self.definition.cell;
        let layout = lying.layout(cell, &shape_of(cell, region))?;
        let mut done = Vec::new();
        for (client, cells) in self.holders(region) {
            let shape = Shape::new(cell.dtype(), cells.extents())?;
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = Name::new("stage.put", &format!("kept by {} / {n}", process::id()))?;
            let source = Key { name, version };
            let mut loan = keeper.loan(source.clone(), shape, false, patience)?;
            for transfer in transfers(cell, &cells, lying.side(region), Side::Packed(&cells, &layout))? {
                // SAFETY: the loan holds the packed cells and nobody else sees it; the rest is the caller's promise.
                unsafe { transfer.run(from, loan.start()) };
            }
            loan.commit(patience)?;
            let address = keeper.address().to_string();
            let body = Request::Refer {
                key: self.key(version),
                of: self.print,
                region: cells,
                put: *region,
                layout,
                address,
                source: source.clone(),
            };
            match client.ask(body, patience) {
                Ok(Reply::Done) => {
                    self.kept().push((version, keeper.clone(), source));
                    done.push(Committed::Now);
                }
                Ok(Reply::Known { by }) => {
                    keeper.delete(source, patience)?;
                    done.push(Committed::Before { by });
                }
                Ok(other) => return Err(unexpected(&other)),
                Err(e) => {
                    keeper.delete(source, patience)?;
                    return Err(e);
                }
            }
        }
        self.new_somewhere(version, region, done)?;
        self.settle(patience)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(Version, Arc<Client>, Key)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what this process keeps of versions that are past.
    pub(super) fn drop_kept(&self, patience: Patience<'_>) -> Result<()> {
        if self.kept().is_empty() {
            return Ok(());
        }
        let there: Vec<Version> = self.versions(patience)?.into_iter().map(|v| v.version).collect();
        let past: Vec<(Version, Arc<Client>, Key)> = {
            let mut kept = self.kept();
            let (stay, past) = kept.drain(..).partition(|(version, ..)| there.contains(version));
            *kept = stay;
            past
        };
        for (_, keeper, key) in past {
            keeper.delete(key, patience)?;
        }
        Ok(())
    }
}
