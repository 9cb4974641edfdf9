//! Arrays that a process keeps for its readers.

use super::super::client::{Client, Committed};
use super::super::exchange::tcp_address;
use super::super::held::{shape_of, Lying};
use super::super::shared::unexpected;
use super::Variable;
use crate::staging::message::{Reply, Request};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::array::{transfers, Region, Shape, Side};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Nanos, Result, Version};
use thalweg_transport::link::Patience;
use thalweg_transport::process;

/// How long the end of what is kept may take.
const LAST: Nanos = Nanos(1_000_000_000);

/// An array that this process keeps: of which version, with which service, under which key.
struct Keeping {
    version: Version,
    keeper: Arc<Client>,
    key: Key,
}

/// What a stage's clients keep of each variable for its readers, who lose it when the stage's connections end.
#[derive(Default)]
pub(in super::super) struct Kept(Mutex<HashMap<Name, Vec<Keeping>>>);

impl Kept {
    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Vec<Keeping>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for kept in std::mem::take(&mut *self.lock()).into_values().flatten() {
            // The service is in this process; where it has ended already there is nothing to free.
            let _ = kept.keeper.delete(kept.key, Patience::of(LAST));
        }
    }
}

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
                put: Box::new(*region),
                layout,
                address,
                source: source.clone(),
            };
            match client.ask(body, patience) {
                Ok(Reply::Done) => {
                    let keeping = Keeping { version, keeper: keeper.clone(), key: source };
                    self.stage.kept().lock().entry(self.name.clone()).or_default().push(keeping);
                    done.push(Committed::Now);
                }
                Ok(Reply::Covered) => {
                    keeper.delete(source, patience)?;
                    done.push(Committed::Covered);
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

    /// Forgets what this process keeps of versions that are past.
    pub(super) fn drop_kept(&self, patience: Patience<'_>) -> Result<()> {
        let Some(mine) = self.stage.kept().lock().remove(&self.name) else { return Ok(()) };
        let there = self.versions(patience);
        let is_past =
            |kept: &Keeping| there.as_ref().is_ok_and(|all| all.iter().all(|v| v.version != kept.version));
        let (past, stay): (Vec<Keeping>, Vec<Keeping>) = mine.into_iter().partition(is_past);
        self.stage.kept().lock().entry(self.name.clone()).or_default().extend(stay);
        there?;
        for kept in past {
            kept.keeper.delete(kept.key, patience)?;
        }
        Ok(())
    }
}
