//! What happens to the pieces of versions: they come, are sealed, released, and go with their writer.

use super::super::message::Reply;
use super::pool::Extent;
use super::state::{refused, Owner, Staging, VariablePlace, CROWDED};
use super::store::Stored;
use super::variable::{Instance, Piece, Rests};
use super::{Ground, Output, PeerId};
use std::sync::Arc;
use thalweg_foundation::array::{Layout, Region, Shape};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Result, Version};

/// Versions of one variable.
const VERSIONS_MAX: usize = 1 << 16;

impl Staging {
    /// Checks that a piece of `key` may come; with what it is, if that is known already.
    pub(super) fn may_put(
        &self,
        namespace: &Name,
        key: &Key,
        what: Option<(&Region, &Layout)>,
    ) -> Result<()> {
        let variable = self.variable(&(namespace.clone(), key.name.clone()))?;
        let refuse = |kind, detail: String| Err(Error::new(kind, "stage.put", detail));
        if key.version > Version::MAX {
            return refuse(Kind::Invalid, format!("version {}; accepted are 0 to 2^63 - 1", key.version.0));
        }
        if variable.past.has(key.version) {
            return refuse(Kind::NotFound, format!("{key} is past: it was released, dropped or is not kept"));
        }
        let instance = variable.versions.get(&key.version);
        if instance.is_some_and(|i| i.is_closed(&variable.definition)) {
            return refuse(Kind::Exists, format!("{key} is sealed already; put a new version"));
        }
        if instance.is_none() && variable.versions.len() >= VERSIONS_MAX {
            let detail =
                format!("{VERSIONS_MAX} versions of {:?} are there; release some", key.name.as_str());
            return refuse(Kind::Full, detail);
        }
        let Some((region, layout)) = what else { return Ok(()) };
        if region.is_empty() || !variable.part.contains(region) {
            let detail = format!(
                "region {region} of variable {:?}; accepted are regions with cells inside {}",
                key.name.as_str(),
                variable.part
            );
            return refuse(Kind::Shape, detail);
        }
        if layout.axes().len() != region.lower().len() || variable.definition.cell.layout(*layout) != *layout
        {
            return refuse(Kind::Invalid, format!("layout {layout} of region {region}"));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn put_piece(
        &mut self,
        from: PeerId,
        grant: u64,
        namespace: Name,
        key: Key,
        region: Region,
        layout: Layout,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        let Some(granted) = self.peers.get_mut(&from).and_then(|p| p.grants.remove(&grant)) else {
            let detail = format!("grant {grant} is not in this client's hands");
            return refused(Kind::Invalid, "stage.put", detail);
        };
        let extent = granted.extent;
        if let Some(by) = self.has_piece(&namespace, &key, &region) {
            self.store.release(extent);
            self.admit(ground, out);
            return Reply::Known { by };
        }
        let stored = self.store_piece(&namespace, &key, &region, &layout, extent, ground);
        let stored = match stored {
            Ok(stored) => stored,
            Err(e) => {
                self.store.release(extent);
                self.admit(ground, out);
                return Reply::Failed(e);
            }
        };
        let bytes = stored.shape.size().0;
        self.stats.puts += 1;
        self.stats.put_bytes += bytes;
        self.stats.entry_bytes += bytes;
        self.add_piece(from, namespace, &key, region, layout, Rests::Here(stored), ground, out);
        Reply::Stored { spare: self.spare(from, extent.bytes, ground) }
    }

    fn store_piece(
        &mut self,
        namespace: &Name,
        key: &Key,
        region: &Region,
        layout: &Layout,
        extent: Extent,
        ground: &mut dyn Ground,
    ) -> Result<Stored> {
        self.may_put(namespace, key, Some((region, layout)))?;
        let variable = self.variable(&(namespace.clone(), key.name.clone()))?;
        let shape = Shape::new(variable.definition.cell.dtype(), region.extents())?;
        if shape.size().0 > extent.bytes {
            let detail = format!("region {region} of {} does not fit the memory granted", shape.dtype());
            return Err(Error::new(Kind::Shape, "stage.put", detail));
        }
        if !self.make_place(None, ground) {
            let most = self.config.entries_max();
            let detail = format!("{most} arrays and pieces are held, which is the limit; release some");
            return Err(Error::new(Kind::Full, "stage.put", detail));
        }
        let stored = self.store.publish(None, extent, shape, ground);
        stored.ok_or_else(|| Error::new(Kind::Full, "stage.put", CROWDED))
    }

    /// Who has put this very region of a version, if somebody has and it may still be put.
    fn has_piece(&self, namespace: &Name, key: &Key, region: &Region) -> Option<String> {
        let variable = self.variables.get(&(namespace.clone(), key.name.clone()))?;
        let instance = variable.versions.get(&key.version).filter(|i| !i.is_closed(&variable.definition))?;
        instance.pieces.iter().find(|p| p.region == *region).map(|p| p.writer.to_string())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn refer(
        &mut self,
        from: PeerId,
        namespace: Name,
        key: Key,
        region: Region,
        layout: Layout,
        (address, source): (String, Key),
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        if let Err(e) = self.may_put(&namespace, &key, Some((&region, &layout))) {
            return Reply::Failed(e);
        }
        if let Some(by) = self.has_piece(&namespace, &key, &region) {
            return Reply::Known { by };
        }
        self.stats.puts += 1;
        let rests = Rests::There { address, source };
        self.add_piece(from, namespace, &key, region, layout, rests, ground, out);
        Reply::Done
    }

    #[allow(clippy::too_many_arguments)]
    fn add_piece(
        &mut self,
        from: PeerId,
        namespace: Name,
        key: &Key,
        region: Region,
        layout: Layout,
        rests: Rests,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let (place, version) = ((namespace, key.name.clone()), key.version);
        self.ensure_instance(&place, version);
        let writer: Arc<str> = self.peers.get(&from).map_or("nobody".into(), |p| p.to_string().into());
        let instance = self.variables.get_mut(&place).and_then(|v| v.versions.get_mut(&version));
        let Some(instance) = instance else { return };
        let fresh = instance.add(Piece { rests, region, layout, peer: from, writer });
        self.prepare_replicas(&place, version, &fresh, ground, out);
        self.changed(&place, version, ground, out);
    }

    fn ensure_instance(&mut self, place: &VariablePlace, version: Version) {
        if self.variables.get(place).is_some_and(|v| !v.versions.contains_key(&version)) {
            let age = self.aged(Owner::Instance(place.clone(), version));
            if let Some(variable) = self.variables.get_mut(place) {
                variable.versions.insert(version, Instance::new(age));
            }
        }
    }

    /// A version has more cells, or seals: answers those for whom that is enough, and lets go of old versions.
    fn changed(
        &mut self,
        place: &VariablePlace,
        version: Version,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        self.serve_gets(place, Some(version), ground, out);
        let overdue = self.variables.get(place).map(super::variable::Variable::overdue).unwrap_or_default();
        if let Some(newest) = overdue.last().copied() {
            overdue.into_iter().for_each(|old| {
                self.remove_instance(place, old, ground);
            });
            if let Some(variable) = self.variables.get_mut(place) {
                variable.past.raise(Version(newest.0 + 1));
            }
            self.serve_gets(place, None, ground, out);
        }
        self.admit(ground, out);
    }

    pub(super) fn seal(
        &mut self,
        namespace: Name,
        key: Key,
        writer: u32,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        let place = (namespace, key.name.clone());
        let variable = match self.variable(&place) {
            Ok(variable) => variable,
            Err(e) => return Reply::Failed(e),
        };
        let writers = variable.definition.writers.max(1);
        if writer >= writers {
            let detail = format!(
                "writer {writer} of variable {:?}; accepted are 0 to {}",
                key.name.as_str(),
                writers - 1
            );
            return refused(Kind::Invalid, "stage.seal", detail);
        }
        if key.version > Version::MAX {
            let detail = format!("version {}; accepted are 0 to 2^63 - 1", key.version.0);
            return refused(Kind::Invalid, "stage.seal", detail);
        }
        if variable.past.has(key.version) {
            let detail = format!("{key} is past: it was released, dropped or is not kept");
            return refused(Kind::NotFound, "stage.seal", detail);
        }
        self.ensure_instance(&place, key.version);
        let instance = self.variables.get_mut(&place).and_then(|v| v.versions.get_mut(&key.version));
        if instance.is_some_and(|i| i.seals.insert(writer)) {
            self.changed(&place, key.version, ground, out);
        }
        Reply::Done
    }

    pub(super) fn release_version(
        &mut self,
        namespace: Name,
        key: &Key,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        let place = (namespace, key.name.clone());
        if let Err(e) = self.variable(&place) {
            return Reply::Failed(e);
        }
        let there = self.remove_instance(&place, key.version, ground);
        if let Some(variable) = self.variables.get_mut(&place) {
            variable.past.add(key.version);
        }
        self.stats.deletes += u64::from(there);
        self.serve_gets(&place, None, ground, out);
        self.admit(ground, out);
        Reply::Released(there)
    }

    /// Removes a version with its replicas; whether it was there. It is past from now on.
    pub(super) fn remove_instance(
        &mut self,
        place: &VariablePlace,
        version: Version,
        ground: &mut dyn Ground,
    ) -> bool {
        let Some(variable) = self.variables.get_mut(place) else { return false };
        let Some(instance) = variable.versions.remove(&version) else { return false };
        variable.past.add(version);
        self.by_age.remove(&instance.age);
        for piece in instance.pieces {
            if let Rests::Here(stored) = piece.rests {
                self.stats.entry_bytes -= stored.shape.size().0;
                self.store.withdraw(stored, ground);
            }
        }
        instance.replicas.into_iter().for_each(|replica| self.drop_replica(place, replica, ground));
        true
    }

    /// A client has gone: what it kept itself is lost, and of what it left unfinished its name is remembered.
    pub(super) fn writer_left(&mut self, peer: PeerId, namespace: &Name, name: &Arc<str>) {
        for ((space, _), variable) in &mut self.variables {
            if space != namespace {
                continue;
            }
            let super::variable::Variable { definition, part, versions, .. } = variable;
            for instance in versions.values_mut() {
                let mine = |p: &Piece| p.peer == peer;
                let unfinished = !instance.is_complete(definition, part) && instance.pieces.iter().any(mine);
                let lost = instance.lose(|p| mine(p) && matches!(p.rests, Rests::There { .. }));
                if unfinished || lost {
                    instance.left.insert(name.clone());
                }
            }
        }
    }
}
