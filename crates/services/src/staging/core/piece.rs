//! What happens to the pieces of versions: they come, are sealed, released, and go with their writer.

use super::super::message::Reply;
use super::super::{Definition, Print};
use super::pool::Extent;
use super::state::{refused, Owner, Staging, VariablePlace, CROWDED};
use super::store::Stored;
use super::variable::{Instance, Piece, Rests};
use super::{Ground, Output, PeerId};
use std::sync::Arc;
use thalweg_foundation::array::{Layout, Region, Shape};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::{Error, Kind, Result, Version};

/// The longest address of a service in which a writer keeps its cells.
const ADDRESS_MAX: usize = 128;

/// What a piece would bring.
enum Judged {
    /// Cells that are not there, as far as is known.
    New,
    /// This very region was put before.
    Known { by: String },
    /// All its cells are there, in other regions.
    Covered,
}

/// Versions of one variable.
const VERSIONS_MAX: usize = 1 << 16;

impl Staging {
    /// Checks that a piece of `key` may come; with what it is, if that is known already.
    pub(super) fn may_put(
        &self,
        namespace: &Name,
        key: &Key,
        what: Option<(Print, &Region, &Layout)>,
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
        let Some((of, region, layout)) = what else { return Ok(()) };
        variable.is(of, "stage.put", key.name.as_str())?;
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
        (of, region, put, layout): (Print, Region, Box<Region>, Layout),
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        let Some(granted) = self.peers.get_mut(&from).and_then(|p| p.grants.remove(&grant)) else {
            let detail = format!("grant {grant} is not in this client's hands");
            return refused(Kind::Invalid, "stage.put", detail);
        };
        let extent = granted.extent;
        let stored = match self.judge(&namespace, &key, (of, &region, &put, &layout)) {
            Ok(Judged::New) => self.store_piece(&key, &region, extent, &namespace, ground),
            Ok(Judged::Known { by }) => {
                self.give_back(extent, ground, out);
                return Reply::Known { by };
            }
            Ok(Judged::Covered) => {
                self.give_back(extent, ground, out);
                return Reply::Covered;
            }
            Err(e) => Err(e),
        };
        let stored = match stored {
            Ok(stored) => stored,
            Err(e) => {
                self.give_back(extent, ground, out);
                return Reply::Failed(e);
            }
        };
        let bytes = stored.shape.size().0;
        self.stats.puts += 1;
        self.stats.put_bytes += bytes;
        self.stats.entry_bytes += bytes;
        self.add_piece(from, namespace, &key, (region, put, layout), Rests::Here(stored), ground, out);
        Reply::Stored { spare: self.spare(from, extent.bytes, ground) }
    }

    fn give_back(&mut self, extent: Extent, ground: &mut dyn Ground, out: &mut Vec<Output>) {
        self.store.release(extent);
        self.admit(ground, out);
    }

    fn store_piece(
        &mut self,
        key: &Key,
        region: &Region,
        extent: Extent,
        namespace: &Name,
        ground: &mut dyn Ground,
    ) -> Result<Stored> {
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

    /// What a piece would bring; what the writer of a piece that is not sealed left behind does not count.
    fn judge(
        &self,
        namespace: &Name,
        key: &Key,
        (of, region, put, layout): (Print, &Region, &Region, &Layout),
    ) -> Result<Judged> {
        self.may_put(namespace, key, Some((of, region, layout)))?;
        let variable = self.variable(&(namespace.clone(), key.name.clone()))?;
        let Some(instance) = variable.versions.get(&key.version) else { return Ok(Judged::New) };
        let stale = |p: &Piece| self.is_stale(&variable.definition, p);
        if let Some(same) =
            instance.pieces.iter().find(|p| (&p.region, &*p.put) == (region, put) && !stale(p))
        {
            return Ok(Judged::Known { by: same.writer.to_string() });
        }
        if instance.covers(region) {
            let mut met = instance.pieces_of(region).into_keys().map(|at| &instance.pieces[at]);
            if met.all(|p| matches!(p.rests, Rests::Here(_)) && !stale(p)) {
                return Ok(Judged::Covered);
            }
        }
        Ok(Judged::New)
    }

    /// Whether the piece's writer went away before the version was sealed: another one, perhaps itself after a restart,
    /// may bring its cells again.
    fn is_stale(&self, definition: &Definition, piece: &Piece) -> bool {
        definition.writers > 0 && !self.peers.contains_key(&piece.peer)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn refer(
        &mut self,
        from: PeerId,
        namespace: Name,
        key: Key,
        (of, region, put, layout): (Print, Region, Box<Region>, Layout),
        (address, source): (String, Key),
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) -> Reply {
        match self.judge(&namespace, &key, (of, &region, &put, &layout)) {
            Ok(Judged::New) => {}
            Ok(Judged::Known { by }) => return Reply::Known { by },
            Ok(Judged::Covered) => return Reply::Covered,
            Err(e) => return Reply::Failed(e),
        }
        if !address.starts_with("unix:") || address.len() > ADDRESS_MAX {
            let detail =
                format!("cells kept at {address:?}; accepted is unix:NAME, of at most {ADDRESS_MAX} bytes");
            return refused(Kind::Invalid, "stage.put", detail);
        }
        let pieces = self
            .variable(&(namespace.clone(), key.name.clone()))
            .ok()
            .and_then(|v| v.versions.get(&key.version));
        let most = self.config.entries_max();
        if pieces.is_some_and(|instance| instance.pieces.len() >= most) {
            return refused(
                Kind::Full,
                "stage.put",
                format!("{most} pieces of {key} are there, which is the limit"),
            );
        }
        self.stats.puts += 1;
        let rests = Rests::There { address, source };
        self.add_piece(from, namespace, &key, (region, put, layout), rests, ground, out);
        Reply::Done
    }

    #[allow(clippy::too_many_arguments)]
    fn add_piece(
        &mut self,
        from: PeerId,
        namespace: Name,
        key: &Key,
        (region, put, layout): (Region, Box<Region>, Layout),
        rests: Rests,
        ground: &mut dyn Ground,
        out: &mut Vec<Output>,
    ) {
        let (place, version) = ((namespace, key.name.clone()), key.version);
        self.ensure_instance(&place, version);
        let writer: Arc<str> = self.peers.get(&from).map_or("nobody".into(), |p| p.to_string().into());
        let Some(variable) = self.variables.get_mut(&place) else { return };
        let (peers, sealing) = (&self.peers, variable.definition.writers > 0);
        let Some(instance) = variable.versions.get_mut(&version) else { return };
        let overruled = sealing && instance.give_way(&region, |piece| !peers.contains_key(&piece.peer));
        let fresh = instance.add(Piece { rests, region, put, layout, peer: from, writer });
        if overruled {
            let replicas = std::mem::take(&mut instance.replicas);
            replicas.into_iter().for_each(|replica| self.drop_replica(&place, replica, ground));
        }
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
        if let Some(variable) = self.variables.get_mut(place) {
            let instance = variable.versions.get(&version);
            if let Some(instance) = instance.filter(|i| i.is_complete(&variable.definition, &variable.part)) {
                variable.usual = instance.covered;
            }
        }
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
        if !instance.is_complete(&variable.definition, &variable.part) {
            variable.usual = 0;
        }
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
