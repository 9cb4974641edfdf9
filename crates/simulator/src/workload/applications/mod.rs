//! Ready-made applications: generators of operations for each rank, with the counts of the published artifact.

mod checkpoint;
mod cosmoflow;
mod milc;
mod nekbone;

use super::operation::Program;
use thalweg_foundation::{Error, Kind, Result};

/// A ready-made application of 300 ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Lattice quantum chromodynamics: large messages to eight neighbours on a 4-d torus, small allreduces.
    Milc {
        /// Iterations; the published runs have 100.
        iterations: u32,
    },
    /// A conjugate gradient on spectral elements: messages to 26 neighbours, very many small allreduces.
    Nekbone,
    /// Computes, and writes its state once.
    Checkpoint,
    /// Distributed training: every step reads a batch, computes, and combines the gradients of all.
    CosmoFlow {
        /// Whether the batch is read, as in the paper, or written, as in its artifact.
        reads: bool,
    },
}

/// Ranks of every application.
pub const RANKS: u32 = 300;

impl Application {
    /// The application of a name, as the published artifact has it.
    ///
    /// # Errors
    /// `Invalid` for another name.
    pub fn named(name: &str) -> Result<Application> {
        match name {
            "milc" => Ok(Application::Milc { iterations: 100 }),
            "nekbone" => Ok(Application::Nekbone),
            "checkpoint" => Ok(Application::Checkpoint),
            "cosmoflow" => Ok(Application::CosmoFlow { reads: false }),
            _ => {
                let detail = format!(
                    "there is no application {name:?}; accepted are milc, nekbone, checkpoint, cosmoflow"
                );
                Err(Error::new(Kind::Invalid, "scenario: application", detail))
            }
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Application::Milc { .. } => "milc",
            Application::Nekbone => "nekbone",
            Application::Checkpoint => "checkpoint",
            Application::CosmoFlow { .. } => "cosmoflow",
        }
    }

    /// The same with other options, where they are given: iterations for MILC, for CosmoFlow whether it reads.
    ///
    /// # Errors
    /// `Invalid` for an option that the application does not have, and for no or too many iterations.
    pub fn with(self, iterations: Option<u32>, reads: Option<bool>) -> Result<Application> {
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "scenario: application", detail));
        match (self, iterations, reads) {
            (Application::Milc { .. }, Some(count), None) if !(1..=1_000_000).contains(&count) => {
                refused(format!("{count} iterations; accepted are 1 to 1,000,000"))
            }
            (Application::Milc { .. }, Some(iterations), None) => Ok(Application::Milc { iterations }),
            (Application::CosmoFlow { .. }, None, Some(reads)) => Ok(Application::CosmoFlow { reads }),
            (_, None, None) => Ok(self),
            (_, Some(_), _) => refused("only milc has iterations".into()),
            (_, _, Some(_)) => refused("only cosmoflow can be told whether it reads".into()),
        }
    }

    /// What rank `rank` does.
    pub fn program(self, rank: u32) -> Program {
        match self {
            Application::Milc { iterations } => milc::program(rank, iterations),
            Application::Nekbone => nekbone::program(rank),
            Application::Checkpoint => checkpoint::program(),
            Application::CosmoFlow { reads } => cosmoflow::program(reads),
        }
    }
}

/// The number of a place in a grid whose first axis runs fastest.
fn number(place: &[u32], extents: &[u32]) -> u32 {
    place.iter().zip(extents).rev().fold(0, |number, (at, extent)| number * extent + at)
}

/// The place of a number, as [`number`] counts.
fn place<const N: usize>(mut number: u32, extents: &[u32; N]) -> [u32; N] {
    let mut place = [0; N];
    for axis in 0..N {
        place[axis] = number % extents[axis];
        number /= extents[axis];
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::operation::{Collective, Operation, Seen};

    /// Messages and bytes of point-to-point operations, and how often each collective is called by a rank.
    fn counts(application: Application) -> (u64, u64, u64, u64) {
        let (mut sends, mut bytes, mut allreduces, mut barriers) = (0, 0, 0, 0);
        for rank in 0..RANKS {
            let mut program = application.program(rank);
            while let Some(operation) = program.next(&Seen::default()).unwrap() {
                match operation {
                    Operation::Send { bytes: size, .. } | Operation::Isend { bytes: size, .. } => {
                        sends += 1;
                        bytes += size;
                    }
                    Operation::Collective { kind: Collective::Allreduce, .. } => {
                        allreduces += u64::from(rank == 0)
                    }
                    Operation::Collective { kind: Collective::Barrier, .. } => {
                        barriers += u64::from(rank == 0)
                    }
                    _ => {}
                }
            }
        }
        (sends, bytes, allreduces, barriers)
    }

    #[test]
    fn options_belong_to_their_application() {
        let named = |name| Application::named(name).unwrap();
        assert_eq!(named("milc").with(Some(4), None).unwrap(), Application::Milc { iterations: 4 });
        assert_eq!(
            named("cosmoflow").with(None, Some(true)).unwrap(),
            Application::CosmoFlow { reads: true }
        );
        for (name, iterations, reads) in [
            ("milc", Some(0), None),
            ("milc", None, Some(true)),
            ("nekbone", Some(3), None),
            ("milc", Some(1), Some(true)),
        ] {
            assert!(named(name).with(iterations, reads).is_err(), "{name} {iterations:?} {reads:?}");
        }
        assert!(Application::named("lulesh").is_err());
    }

    #[test]
    fn milc_sends_to_eight_neighbours_twice_an_iteration() {
        assert_eq!(
            counts(Application::Milc { iterations: 100 }),
            (100 * 2 * 8 * 300, 100 * 2 * 8 * 300 * 497_664, 200, 0)
        );
    }

    #[test]
    fn nekbone_has_as_many_neighbours_as_a_grid_without_wrapping() {
        // On each axis n places have 3n − 2 neighbours, themselves included.
        let neighbours = 13 * 16 * 28 - 300;
        let (sends, bytes, allreduces, barriers) = counts(Application::Nekbone);
        assert_eq!((sends, allreduces, barriers), (3 * 202 * neighbours, 3 * 602, 3));
        // The reference: 1.62103e11 bytes, those of the allreduces (2,136 messages of 8 bytes each) among them.
        let all = bytes + allreduces * 2136 * 8;
        assert!((all as f64 / 1.62103e11 - 1.0).abs() < 5e-6, "{all}");
    }
}
