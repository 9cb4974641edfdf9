//! Table 1 of the MFNetSim paper: what the models of both devices come to.

use super::device::{Device, Model, Request};
use super::hdd::{Disk, Hdd};
use super::ssd::Ssd;
use crate::engine::random::{self, Purpose};
use crate::engine::Picos;

/// The file of the table, its records when it is read or written in order, and the requests at random places.
const FILE: u64 = 512 << 20;
const RECORD: u64 = 512 << 10;
const PAGE: u64 = 4 << 10;

/// A row: what is measured, what the device comes to, and what the paper prints. Rates are in 10⁶ bytes a second, others in
/// operations a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Such as `hdd_sequential_read_mb_per_s`.
    pub quantity: &'static str,
    /// What our device comes to.
    pub model: f64,
    /// What the paper's model comes to.
    pub reference: f64,
}

/// All rows of the table.
pub fn table1() -> Vec<Row> {
    let hdd = || Device::new(Model::Hdd(Disk::new(Hdd::table1())));
    let ssd = || Device::new(Model::Ssd(Ssd::table1()));
    let row = |quantity, model, reference| Row { quantity, model, reference };
    vec![
        row("hdd_sequential_read_mb_per_s", sequential(hdd(), false), 136.00),
        row("hdd_sequential_write_mb_per_s", sequential(hdd(), true), 136.00),
        row("hdd_random_read_iops", random(hdd(), false), 111.69),
        row("hdd_random_write_iops", random(hdd(), true), 592.22),
        row("ssd_sequential_read_mb_per_s", sequential(ssd(), false), 392.04),
        row("ssd_sequential_write_mb_per_s", sequential(ssd(), true), 388.26),
        row("ssd_random_read_iops", random(ssd(), false), 8474.58),
        row("ssd_random_write_iops", random(ssd(), true), 14084.51),
    ]
}

/// Megabytes a second of the file in order.
fn sequential(mut device: Device, writes: bool) -> f64 {
    let mut now = Picos::ZERO;
    for record in 0..FILE / RECORD {
        now = device.serve(now, Request { object: 0, offset: record * RECORD, bytes: RECORD, writes });
    }
    FILE as f64 / now.micros()
}

/// Operations a second of pages at random places of the file.
fn random(mut device: Device, writes: bool) -> f64 {
    let count = FILE / PAGE;
    let mut now = Picos::ZERO;
    for request in 0..count {
        let page = random::below(random::bits(1, Purpose::Destination, 0, request), count as u32);
        now = device.serve(now, Request { object: 0, offset: u64::from(page) * PAGE, bytes: PAGE, writes });
    }
    count as f64 / (now.micros() * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_devices_come_to_the_papers_table_within_a_percent() {
        for Row { quantity, model, reference } in table1() {
            assert!((model / reference - 1.0).abs() < 0.01, "{quantity}: {model}, the paper has {reference}");
        }
    }
}
