//! Numbers of devices by their names, as they stand in a scenario's file.

use super::arrangement::Storage;
use super::hdd::Hdd;
use super::ssd::Ssd;
use crate::engine::Picos;
use thalweg_foundation::{Error, Kind, Result};

/// A number of a device: its name, the least and the most that it can be, and how it is set. Its name
/// ends with its unit; what is no time is whole.
type Number<D> = (&'static str, f64, f64, fn(&mut D, f64));

const MILLI: f64 = 1e6;
const MICRO: f64 = 1e3;

const HDD: [Number<Hdd>; 9] = [
    ("rpm", 1.0, 1e6, |disk, value| disk.rpm = value as u64),
    ("track_bytes", 1.0, 1e12, |disk, value| disk.track = value as u64),
    ("settle_ms", 0.0, 1e4, |disk, value| disk.settle = Picos::from_nanos(value * MILLI)),
    ("seek_root_ms", 0.0, 1e4, |disk, value| disk.root = Picos::from_nanos(value * MILLI)),
    ("near_tracks", 1.0, 1e9, |disk, value| disk.near = value as u64),
    ("far_track_ns", 0.0, 1e6, |disk, value| disk.far = value * 1e3),
    ("read_ahead_bytes", 0.0, 1e12, |disk, value| disk.read_ahead = value as u64),
    ("cache_bytes", 0.0, 1e12, |disk, value| disk.cache = value as u64),
    ("ordered_writes", 1.0, 1e6, |disk, value| disk.ordered_writes = value as u64),
];

const SSD: [Number<Ssd>; 6] = [
    ("page_bytes", 1.0, 1e9, |flash, value| flash.page = value as u64),
    ("write_page_us", 0.0, 1e4, |flash, value| flash.single.0 = Picos::from_nanos(value * MICRO)),
    ("read_page_us", 0.0, 1e4, |flash, value| flash.single.1 = Picos::from_nanos(value * MICRO)),
    ("write_channel_us", 0.0, 1e4, |flash, value| flash.switch.0 = Picos::from_nanos(value * MICRO)),
    ("read_channel_us", 0.0, 1e4, |flash, value| flash.switch.1 = Picos::from_nanos(value * MICRO)),
    ("pages_per_cycle", 1.0, 1e6, |flash, value| flash.per_cycle = value as u64),
];

impl Storage {
    /// The same with other numbers of its devices, by names such as `hdd.rpm` and `ssd.page_bytes`.
    ///
    /// # Errors
    /// `Invalid` for a device that this storage does not have, for another name, and for a value that is out of range or not whole.
    pub fn with_numbers(mut self, numbers: &[(String, f64)]) -> Result<Storage> {
        for (name, value) in numbers {
            let refused =
                |detail: String| Error::new(Kind::Invalid, &format!("scenario: storage.{name}"), detail);
            let (device, number) = name.split_once('.').unwrap_or((name, ""));
            let known = self.devices();
            if !known.contains(&device) {
                return Err(refused(match known.as_slice() {
                    [] => "the device of the published artifact has numbers of its own".into(),
                    known => format!(
                        "this storage has no {device}; accepted are numbers of {}",
                        known.join(" and ")
                    ),
                }));
            }
            match device {
                "hdd" => set(&HDD, &mut self.hdd, number, *value),
                _ => set(&SSD, &mut self.ssd, number, *value),
            }
            .map_err(refused)?;
        }
        Ok(self)
    }
}

fn set<D>(numbers: &[Number<D>], device: &mut D, name: &str, value: f64) -> std::result::Result<(), String> {
    let Some((_, least, most, put)) = numbers.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<_> = numbers.iter().map(|(known, ..)| *known).collect();
        return Err(format!("there is no such number; accepted are {}", known.join(", ")));
    };
    let whole = !["_ms", "_us", "_ns"].iter().any(|unit| name.ends_with(unit));
    if !(*least..=*most).contains(&value) || (whole && value.fract() != 0.0) {
        let what = if whole { "whole numbers from" } else { "numbers from" };
        return Err(format!("is {value}; accepted are {what} {least} to {most}"));
    }
    put(device, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Arrangement, Device, Request};

    fn with(arrangement: Arrangement, numbers: &[(&str, f64)]) -> Result<Storage> {
        let numbers: Vec<_> = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Storage::paper(arrangement).with_numbers(&numbers)
    }

    #[test]
    fn devices_are_as_slow_as_their_numbers_say() {
        let took = |mut device: Device, bytes| {
            device.serve(Picos::ZERO, Request { object: 0, offset: 0, bytes, writes: false })
        };
        // 2 pages, 3 µs to the second and 20 µs for the last; half a track of a disk that turns in 10 ms.
        let flash = [("ssd.page_bytes", 1000.0), ("ssd.read_channel_us", 3.0), ("ssd.read_page_us", 20.0)];
        let disk = [("hdd.rpm", 6000.0), ("hdd.track_bytes", 2e6)];
        let flash = with(Arrangement::NodeLocal, &flash).unwrap();
        assert_eq!(took(flash.device(), 2000), Picos(23_000_000));
        let both = with(Arrangement::StorageSide, &[disk[0], disk[1], ("ssd.read_page_us", 7.0)]).unwrap();
        assert_eq!(took(both.server().device, 1_000_000), Picos(5_000_000_000));
        assert_eq!(took(both.server().small.unwrap().1, 4096), Picos(7_000_000), "flash for small requests");
    }

    #[test]
    fn the_numbers_that_a_storage_has_are_its_defaults() {
        let (disk, flash) = (Hdd::table1(), Ssd::table1());
        let milli = |time: Picos| time.nanos() / MILLI;
        let micro = |time: Picos| time.nanos() / MICRO;
        let numbers = [
            ("hdd.rpm", disk.rpm as f64),
            ("hdd.track_bytes", disk.track as f64),
            ("hdd.settle_ms", milli(disk.settle)),
            ("hdd.seek_root_ms", milli(disk.root)),
            ("hdd.near_tracks", disk.near as f64),
            ("hdd.far_track_ns", disk.far / 1e3),
            ("hdd.read_ahead_bytes", disk.read_ahead as f64),
            ("hdd.cache_bytes", disk.cache as f64),
            ("hdd.ordered_writes", disk.ordered_writes as f64),
            ("ssd.page_bytes", flash.page as f64),
            ("ssd.write_page_us", micro(flash.single.0)),
            ("ssd.read_page_us", micro(flash.single.1)),
            ("ssd.write_channel_us", micro(flash.switch.0)),
            ("ssd.read_channel_us", micro(flash.switch.1)),
            ("ssd.pages_per_cycle", flash.per_cycle as f64),
        ];
        assert_eq!(
            with(Arrangement::StorageSide, &numbers).unwrap(),
            Storage::paper(Arrangement::StorageSide)
        );
        assert_eq!(numbers.len(), HDD.len() + SSD.len());
    }

    #[test]
    fn what_no_device_has_is_refused() {
        let message = |name, value| with(Arrangement::ComputeSide, &[(name, value)]).unwrap_err().message;
        for (name, value, detail) in [
            ("hdd.rpm", 7200.0, "this storage has no hdd; accepted are numbers of ssd"),
            (
                "ssd.rpm",
                7200.0,
                "there is no such number; accepted are page_bytes, write_page_us, read_page_us, write_channel_us, \
                 read_channel_us, pages_per_cycle",
            ),
            ("ssd.page_bytes", 0.0, "is 0; accepted are whole numbers from 1 to 1000000000"),
            ("ssd.page_bytes", 0.5, "is 0.5; accepted are whole numbers from 1 to 1000000000"),
            ("ssd.read_page_us", f64::NAN, "is NaN; accepted are numbers from 0 to 10000"),
        ] {
            assert_eq!(message(name, value), format!("scenario: storage.{name}: {detail}"));
        }
        let none = Storage::artifact().with_numbers(&[("ssd.page_bytes".into(), 512.0)]).unwrap_err().message;
        assert!(none.ends_with("the device of the published artifact has numbers of its own"), "{none}");
    }
}
