//! Where the devices are: the three arrangements of the MFNetSim paper's figures 3 to 5.

use super::device::{Device, Model};
use super::flat::Flat;
use super::hdd::{Disk, Hdd};
use super::server::Server;
use super::ssd::Ssd;
use thalweg_foundation::{Error, Kind, Result};

/// Where clients find their storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// A device in every compute node: nothing crosses the network (figure 3).
    NodeLocal,
    /// Burst buffers among the nodes of each group, which serve the nodes near them (figure 4).
    #[default]
    ComputeSide,
    /// Servers of an external storage, which serve all nodes: flash for small requests, disks for large ones (figure 5).
    StorageSide,
}

/// What the devices are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// The published artifact's.
    #[default]
    Flat,
    /// Flash.
    Ssd,
    /// Disks.
    Hdd,
}

/// How a machine stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Storage {
    /// Where.
    pub arrangement: Arrangement,
    /// On what; storage-side, what holds large requests.
    pub device: Kept,
    /// What its flash and its disks are like.
    pub ssd: Ssd,
    /// See `ssd`.
    pub hdd: Hdd,
    /// Requests below so many bytes go to flash, where storage is storage-side.
    pub small_bytes: u64,
    /// Whether opening, closing and synchronising ask the server; otherwise they cost nothing.
    pub asks: bool,
}

impl Storage {
    /// That of the published artifact.
    pub fn artifact() -> Storage {
        Storage {
            arrangement: Arrangement::ComputeSide,
            device: Kept::Flat,
            small_bytes: 0,
            asks: false,
            ..Storage::paper(Arrangement::ComputeSide)
        }
    }

    /// That of the paper: flash in burst buffers, disks behind servers, 64 KB between small and large.
    pub fn paper(arrangement: Arrangement) -> Storage {
        let device = if arrangement == Arrangement::StorageSide { Kept::Hdd } else { Kept::Ssd };
        Storage {
            arrangement,
            device,
            ssd: Ssd::table1(),
            hdd: Hdd::table1(),
            small_bytes: 64 << 10,
            asks: true,
        }
    }

    /// The same with another arrangement or device, by their names.
    ///
    /// # Errors
    /// `Invalid` for other names.
    pub fn with(self, arrangement: Option<&str>, device: Option<&str>) -> Result<Storage> {
        let unknown = |what: &str, name: &str, known: &str| {
            Error::new(
                Kind::Invalid,
                "scenario: storage",
                format!("there is no {what} {name:?}; accepted are {known}"),
            )
        };
        let arrangement = match arrangement {
            None => self.arrangement,
            Some("node-local") => Arrangement::NodeLocal,
            Some("compute-side") => Arrangement::ComputeSide,
            Some("storage-side") => Arrangement::StorageSide,
            Some(name) => {
                return Err(unknown("arrangement", name, "node-local, compute-side, storage-side"));
            }
        };
        let base = if arrangement == self.arrangement { self } else { Storage::paper(arrangement) };
        let device = match device {
            None => base.device,
            Some("artifact") => Kept::Flat,
            Some("ssd") => Kept::Ssd,
            Some("hdd") => Kept::Hdd,
            Some(name) => return Err(unknown("device", name, "artifact, ssd, hdd")),
        };
        Ok(Storage { device, ..base })
    }

    /// The names of the devices of it that have numbers.
    pub(super) fn devices(&self) -> Vec<&'static str> {
        let flash = self.device == Kept::Ssd || self.arrangement == Arrangement::StorageSide;
        let disks = self.device == Kept::Hdd;
        [("ssd", flash), ("hdd", disks)].into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
    }

    /// A device of this storage.
    pub fn device(&self) -> Device {
        Device::new(match self.device {
            Kept::Flat => Model::Flat(Flat::artifact()),
            Kept::Ssd => Model::Ssd(self.ssd),
            Kept::Hdd => Model::Hdd(Disk::new(self.hdd)),
        })
    }

    /// A server of this storage.
    pub fn server(&self) -> Server {
        let flash = || Device::new(Model::Ssd(self.ssd));
        let small = (self.arrangement == Arrangement::StorageSide).then(|| (self.small_bytes, flash()));
        Server::new(self.device(), small)
    }
}
