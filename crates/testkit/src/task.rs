//! Tasks in the adversarial world: done on toy memory, late, and sometimes not at all.

use super::field;
use super::ground::Toy;
use thalweg_foundation::array::{transfers, Shape, Side, Summary};
use thalweg_foundation::{Error, Kind};
use thalweg_services::staging::core::{Extent, Outcome, Task};
use thalweg_services::staging::message::Reduction;

fn slice(toy: &Toy, extent: Extent) -> &[u8] {
    &toy.segments[extent.segment as usize][extent.offset as usize..(extent.offset + extent.bytes) as usize]
}

/// Does `task`.
///
/// # Errors
/// A sentence when what it reads has not stayed as it was put.
pub fn perform(task: &Task, toy: &mut Toy) -> Result<Outcome, String> {
    if let Task::Reorganise { parts, .. } | Task::Summarise { parts, .. } = task {
        for part in parts {
            let array = (&part.region, &part.layout);
            let whole = |cells| field::is_of_one_version(array, cells, slice(toy, part.extent));
            if !part.cells.iter().all(whole) {
                return Err(format!("a task reads cells that nobody put: {part:?}"));
            }
        }
    }
    Ok(done(task, toy))
}

fn done(task: &Task, toy: &mut Toy) -> Outcome {
    match task {
        Task::Reorganise { cell, parts, to, region, layout } => {
            let mut target = slice(toy, *to).to_vec();
            for part in parts {
                let source = slice(toy, part.extent);
                for cells in &part.cells {
                    let (from, to) = (Side::Packed(&part.region, &part.layout), Side::Packed(region, layout));
                    for transfer in transfers(cell, cells, from, to).expect("cells that both arrays hold") {
                        // SAFETY: both slices hold the packed arrays of their regions.
                        unsafe { transfer.run(source.as_ptr(), target.as_mut_ptr()) };
                    }
                }
            }
            // Cells of other tasks are theirs to write: this one brings only its own.
            let mine: Vec<usize> = (0..target.len()).filter(|i| target[*i] != slice(toy, *to)[*i]).collect();
            let memory = &mut toy.segments[to.segment as usize];
            mine.into_iter().for_each(|i| memory[to.offset as usize + i] = target[i]);
            Outcome::Written
        }
        Task::Move { from, to, bytes } => {
            let source = slice(toy, *from)[..bytes.0 as usize].to_vec();
            let at = to.offset as usize;
            toy.segments[to.segment as usize][at..at + source.len()].copy_from_slice(&source);
            Outcome::Written
        }
        Task::Summarise { cell, parts, .. } => {
            let mut found: Option<Summary> = None;
            for part in parts {
                let source = slice(toy, part.extent);
                let strides =
                    part.layout.strides(&Shape::new(cell.dtype(), part.region.extents()).expect("a region"));
                for cells in &part.cells {
                    let shape = Shape::new(cell.dtype(), cells.extents()).expect("a region");
                    let inside = cells.seen_from(part.region.lower());
                    let at: i64 = inside.lower().iter().zip(&strides).map(|(n, s)| *n as i64 * s).sum();
                    // SAFETY: the slice holds the packed array of its region, and the cells are in it.
                    let one = unsafe { Summary::of(&shape, source.as_ptr().offset(at as isize), &strides) };
                    let one = one.expect("numbers");
                    found = Some(found.map_or(one, |before| before.merge(&one)));
                }
            }
            match found {
                Some(summary) => Outcome::Found(Reduction { summary, histogram: None }),
                None => Outcome::Failed(Error::new(Kind::Shape, "world", "no cells")),
            }
        }
    }
}
