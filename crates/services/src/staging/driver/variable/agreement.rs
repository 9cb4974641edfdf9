//! One version for all the services that hold a variable.

use super::super::client::Client;
use super::super::shared::unexpected;
use super::Variable;
use crate::staging::message::{Reply, Request, Which};
use std::sync::Arc;
use thalweg_foundation::array::Region;
use thalweg_foundation::{Kind, Nanos, Result, Version};
use thalweg_transport::link::{now, Patience};

impl Variable {
    /// One version for all services that hold cells of `region`: the one, or the oldest or newest that each of them can give.
    fn agreed(&self, which: Which, region: &Region, patience: Patience<'_>) -> Result<Which> {
        let holders = self.holders(region);
        if holders.len() < 2 || matches!(which, Which::Exactly(_)) {
            return Ok(which);
        }
        if let Which::UpTo(newest) = which {
            let at_once = Patience { within: Nanos(0), ..patience };
            match self.fixed(&holders, newest, Which::UpTo, at_once) {
                Err(e) if e.kind == Kind::Timeout => {}
                found => return found.map(Which::Exactly),
            }
        }
        // None is there on all of them: the first that will be.
        let oldest = if let Which::From(oldest) = which { oldest } else { Version(0) };
        self.fixed(&holders, oldest, Which::From, patience).map(Which::Exactly)
    }

    /// Asks the services in turn, each from what the one before could give, until all give the same version.
    fn fixed(
        &self,
        holders: &[(&Arc<Client>, Region)],
        from: Version,
        which: fn(Version) -> Which,
        patience: Patience<'_>,
    ) -> Result<Version> {
        let deadline = now().after(patience.within);
        let (mut version, mut agreeing) = (from, 0);
        for (client, region) in holders.iter().cycle() {
            let within = if patience.within == Nanos(0) { Nanos(0) } else { deadline.since(now()) };
            let found = client.newest_or_oldest(
                (&self.name, self.print),
                which(version),
                region,
                Patience { within, ..patience },
            )?;
            agreeing = if found == version { agreeing + 1 } else { 1 };
            version = found;
            if agreeing >= holders.len() {
                break;
            }
        }
        Ok(version)
    }

    /// Does `each` for one version that all services agree on; again with another one when that is past meanwhile.
    pub(super) fn of_one_version<T>(
        &self,
        which: Which,
        region: &Region,
        patience: Patience<'_>,
        each: &dyn Fn(Which, Patience<'_>) -> Result<T>,
    ) -> Result<T> {
        let deadline = now().after(patience.within);
        let mut left = patience;
        loop {
            let chosen = self.agreed(which, region, left)?;
            match each(chosen, left) {
                Err(e) if e.kind == Kind::NotFound && chosen != which && now() < deadline => {}
                done => return done,
            }
            left = Patience { within: deadline.since(now()), ..patience };
        }
    }

    /// Releases what is not kept any more: several services cannot know of each other which versions are complete.
    pub(super) fn settle(&self, patience: Patience<'_>) -> Result<()> {
        let (Some(keep), true) = (self.definition.keep_last, self.parts.len() > 1) else { return Ok(()) };
        let there = self.versions(patience)?;
        let complete = there.iter().rev().filter(|state| state.complete);
        let Some(oldest) = complete.take(keep as usize).nth(keep as usize - 1) else { return Ok(()) };
        for old in there.iter().take_while(|state| state.version < oldest.version) {
            self.release_everywhere(old.version, patience)?;
        }
        Ok(())
    }

    /// Lets go of a version at every service; whether one had it.
    pub(super) fn release_everywhere(&self, version: Version, patience: Patience<'_>) -> Result<bool> {
        let mut there = false;
        for client in self.stage.clients() {
            match client.ask(Request::Release { key: self.key(version) }, patience)? {
                Reply::Released(one) => there |= one,
                other => return Err(unexpected(&other)),
            }
        }
        Ok(there)
    }
}
