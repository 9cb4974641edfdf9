//! The variable of the adversarial world: a field whose every cell says which cell of which version it is.

use super::chance::Chance;
use thalweg_foundation::array::{DType, Extents, Layout, Region, Shape};
use thalweg_foundation::base::{Key, Name};
use thalweg_foundation::Version;
use thalweg_services::staging::message::Part;
use thalweg_services::staging::{Definition, Strategy};

const EXTENTS: [u64; 2] = [6, 5];
/// Versions that clients put.
pub const VERSIONS: u64 = 4;

fn dtype() -> DType {
    DType::new(b'u', 2).expect("a good type")
}

/// The variable of a namespace: each one has another strategy, retention, or number of writers.
pub fn definition(namespace: &str) -> (Name, Definition) {
    let plain = Definition::new(dtype(), Extents::new(&EXTENTS).expect("good extents"));
    let definition = match namespace {
        "run" => Definition { keep_last: Some(3), ..plain },
        "other" => {
            Definition { strategy: Strategy::InAdvance, layouts: vec![Layout::left(2)], writers: 2, ..plain }
        }
        _ => Definition { strategy: Strategy::AsRequested, ..plain },
    };
    (Name::new("world", "field").expect("a good name"), definition)
}

/// Some cells; now and then some that there are not.
pub fn region(chance: &mut Chance) -> Region {
    let whole = chance.percent(30);
    let (mut lower, mut extent) = ([0; 2], EXTENTS);
    for i in 0..2 {
        if !whole {
            lower[i] = chance.below(EXTENTS[i]);
            let beyond = u64::from(chance.percent(3));
            extent[i] = 1 + chance.below(EXTENTS[i] - lower[i] + beyond);
        }
    }
    Region::new(&lower, &extent).expect("a good region")
}

/// One of two layouts.
pub fn layout(chance: &mut Chance) -> Layout {
    if chance.percent(50) {
        Layout::left(2)
    } else {
        Layout::right(2)
    }
}

/// What a packed array of `region` is.
pub fn shape(region: &Region) -> Shape {
    Shape::new(dtype(), region.extents()).expect("a small region")
}

/// Bytes of a packed array of `region`.
pub fn bytes(region: &Region) -> usize {
    shape(region).size().0 as usize
}

fn value(key: &Key, i: u64, j: u64) -> u16 {
    (key.version.0 * 1000 + i * 10 + j + 1) as u16
}

fn each(region: &Region, mut take: impl FnMut(u64, u64)) {
    for i in region.lower()[0]..region.upper(0) {
        for j in region.lower()[1]..region.upper(1) {
            take(i, j);
        }
    }
}

fn place(region: &Region, layout: &Layout, i: u64, j: u64) -> usize {
    let strides = layout.strides(&shape(region));
    let inside = [i - region.lower()[0], j - region.lower()[1]];
    inside.iter().zip(&strides).map(|(n, s)| *n as usize * *s as usize).sum()
}

/// The packed array of `region` in `layout`.
pub fn packed(key: &Key, region: &Region, layout: &Layout) -> Vec<u8> {
    let mut all = vec![0; bytes(region)];
    each(region, |i, j| {
        let at = place(region, layout, i, j);
        all[at..at + 2].copy_from_slice(&value(key, i, j).to_le_bytes());
    });
    all
}

/// Whether `cells` of the packed array of `part` are those of `key`.
pub fn agrees(key: &Key, part: &Part, cells: &Region, bytes: &[u8]) -> bool {
    holds(key, (&part.region, &part.layout), cells, bytes)
}

/// Whether `cells` of a packed array are those of one version, whichever.
pub fn is_of_one_version(array: (&Region, &Layout), cells: &Region, bytes: &[u8]) -> bool {
    let key = |version| Key { name: Name::first(), version: Version(version) };
    (0..VERSIONS).any(|version| holds(&key(version), array, cells, bytes))
}

fn holds(key: &Key, (region, layout): (&Region, &Layout), cells: &Region, bytes: &[u8]) -> bool {
    let mut good = region.contains(cells);
    each(cells, |i, j| {
        let at = place(region, layout, i, j);
        good &= bytes.get(at..at + 2) == Some(&value(key, i, j).to_le_bytes());
    });
    good
}

/// The sum of the cells of `region`.
pub fn sum(key: &Key, region: &Region) -> f64 {
    let mut sum = 0.0;
    each(region, |i, j| sum += f64::from(value(key, i, j)));
    sum
}
