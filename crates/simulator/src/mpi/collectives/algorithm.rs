//! Which algorithm a collective uses: one that is named, or one by size as MPICH chooses.

use super::{allgather, allreduce, alltoall, barrier, bcast, reduce, Steps};
use crate::workload::operation::Collective;
use thalweg_foundation::{Error, Kind, Result};

/// How a collective is made of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // their files say what they do
pub enum Algorithm {
    BarrierDissemination,
    BcastBinomial,
    BcastScatterAllgather,
    BcastScatterRing,
    ReduceBinomial,
    AllreduceRecursiveDoubling,
    AllreduceRabenseifner,
    AllreduceRing,
    AllgatherRing,
    AllgatherRecursiveDoubling,
    AllgatherBruck,
    AlltoallPairwise,
    AlltoallBlocks,
}

use Algorithm as A;

/// All algorithms: of which collective, and by which name.
const NAMES: [(Collective, &str, Algorithm); 13] = [
    (Collective::Barrier, "dissemination", A::BarrierDissemination),
    (Collective::Bcast, "binomial", A::BcastBinomial),
    (Collective::Bcast, "scatter-allgather", A::BcastScatterAllgather),
    (Collective::Bcast, "scatter-ring", A::BcastScatterRing),
    (Collective::Reduce, "binomial", A::ReduceBinomial),
    (Collective::Allreduce, "recursive-doubling", A::AllreduceRecursiveDoubling),
    (Collective::Allreduce, "rabenseifner", A::AllreduceRabenseifner),
    (Collective::Allreduce, "ring", A::AllreduceRing),
    (Collective::Allgather, "ring", A::AllgatherRing),
    (Collective::Allgather, "recursive-doubling", A::AllgatherRecursiveDoubling),
    (Collective::Allgather, "bruck", A::AllgatherBruck),
    (Collective::Alltoall, "pairwise", A::AlltoallPairwise),
    (Collective::Alltoall, "blocks", A::AlltoallBlocks),
];

impl Algorithm {
    /// The algorithm of a collective by its name.
    ///
    /// # Errors
    /// `Invalid` for a name that none of the collective's algorithms has.
    pub fn named(kind: Collective, name: &str) -> Result<Algorithm> {
        let known = NAMES.iter().filter(|(of, _, _)| *of == kind);
        let found = known.clone().find(|(_, known, _)| *known == name).map(|(_, _, algorithm)| *algorithm);
        found.ok_or_else(|| {
            let known: Vec<_> = known.map(|(_, name, _)| *name).collect();
            refused(kind, format!("there is no algorithm {name:?}; accepted are {}", known.join(", ")))
        })
    }

    /// Whether it needs a number of ranks that is a power of two.
    fn wants_power_of_two(self) -> bool {
        matches!(self, A::BcastScatterAllgather | A::AllgatherRecursiveDoubling)
    }

    pub(super) fn write(self, steps: &mut Steps) {
        match self {
            A::BarrierDissemination => barrier::dissemination(steps),
            A::BcastBinomial => bcast::binomial(steps),
            A::BcastScatterAllgather => bcast::scatter_allgather(steps),
            A::BcastScatterRing => bcast::scatter_ring(steps),
            A::ReduceBinomial => reduce::binomial(steps),
            A::AllreduceRecursiveDoubling => allreduce::recursive_doubling(steps),
            A::AllreduceRabenseifner => allreduce::rabenseifner(steps),
            A::AllreduceRing => allreduce::ring(steps),
            A::AllgatherRing => allgather::ring(steps),
            A::AllgatherRecursiveDoubling => allgather::recursive_doubling(steps),
            A::AllgatherBruck => allgather::bruck(steps),
            A::AlltoallPairwise => alltoall::pairwise(steps),
            A::AlltoallBlocks => alltoall::blocks(steps),
        }
    }
}

/// The algorithms that are named for collectives; the others are chosen by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Algorithms {
    chosen: [Option<Algorithm>; 6],
}

impl Algorithms {
    /// The same with `algorithm` for a collective.
    ///
    /// # Errors
    /// `Invalid` for an algorithm of another collective.
    pub fn with(mut self, kind: Collective, algorithm: Algorithm) -> Result<Algorithms> {
        if !NAMES.iter().any(|(of, _, known)| *of == kind && *known == algorithm) {
            return Err(refused(kind, format!("{algorithm:?} is an algorithm of another collective")));
        }
        self.chosen[kind as usize] = Some(algorithm);
        Ok(self)
    }

    /// The algorithm for `size` ranks that give `bytes` each.
    ///
    /// Thresholds are those of MPICH as the published artifact has them: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of
    /// collective communication operations in MPICH, Int. J. High Perform. Comput. Appl. 19 (2005).
    ///
    /// # Errors
    /// `Invalid` when a named one needs a power of two ranks, and there are others.
    pub fn choose(&self, kind: Collective, size: u32, bytes: u64) -> Result<Algorithm> {
        let power = size.is_power_of_two();
        if let Some(chosen) = self.chosen[kind as usize] {
            if chosen.wants_power_of_two() && !power {
                let name =
                    NAMES.iter().find(|(_, _, known)| *known == chosen).map_or("", |(_, name, _)| name);
                let detail = format!("{name:?} needs a power of two of ranks; here are {size}");
                return Err(refused(kind, detail));
            }
            return Ok(chosen);
        }
        Ok(match kind {
            Collective::Barrier => A::BarrierDissemination,
            Collective::Bcast if bytes < 12_288 || size < 8 => A::BcastBinomial,
            Collective::Bcast if bytes < 524_288 && power => A::BcastScatterAllgather,
            Collective::Bcast => A::BcastScatterRing,
            Collective::Reduce => A::ReduceBinomial,
            Collective::Allreduce if bytes <= 81_920 || bytes < u64::from(size) => {
                A::AllreduceRecursiveDoubling
            }
            Collective::Allreduce => A::AllreduceRabenseifner,
            Collective::Allgather if bytes.saturating_mul(u64::from(size)) >= 81_920 => A::AllgatherRing,
            Collective::Allgather if power => A::AllgatherRecursiveDoubling,
            Collective::Allgather => A::AllgatherBruck,
            Collective::Alltoall if bytes <= 32_768 => A::AlltoallBlocks,
            Collective::Alltoall => A::AlltoallPairwise,
        })
    }
}

pub(super) fn refused(kind: Collective, detail: String) -> Error {
    Error::new(Kind::Invalid, &format!("collective {}", kind.name()), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_chosen_by_size_unless_they_are_named() {
        let by_size = Algorithms::default();
        for (kind, size, bytes, expected) in [
            (Collective::Allreduce, 300, 81_920, A::AllreduceRecursiveDoubling),
            (Collective::Allreduce, 300, 81_921, A::AllreduceRabenseifner),
            (Collective::Bcast, 7, 1 << 20, A::BcastBinomial),
            (Collective::Bcast, 16, 12_288, A::BcastScatterAllgather),
            (Collective::Bcast, 300, 12_288, A::BcastScatterRing),
            (Collective::Bcast, 16, 524_288, A::BcastScatterRing),
            (Collective::Allgather, 8, 8, A::AllgatherRecursiveDoubling),
            (Collective::Allgather, 9, 8, A::AllgatherBruck),
            (Collective::Allgather, 8, 10_240, A::AllgatherRing),
            (Collective::Alltoall, 8, 32_769, A::AlltoallPairwise),
        ] {
            assert_eq!(by_size.choose(kind, size, bytes).unwrap(), expected, "{kind:?} {size} {bytes}");
        }
        let named = by_size
            .with(Collective::Allreduce, Algorithm::named(Collective::Allreduce, "ring").unwrap())
            .unwrap();
        assert_eq!(named.choose(Collective::Allreduce, 300, 8).unwrap(), A::AllreduceRing);
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        assert_eq!(
            Algorithm::named(Collective::Bcast, "ring").unwrap_err().message,
            "collective bcast: there is no algorithm \"ring\"; accepted are binomial, scatter-allgather, scatter-ring"
        );
        assert!(Algorithms::default().with(Collective::Bcast, A::AllreduceRing).is_err());
        let odd = Algorithms::default().with(Collective::Allgather, A::AllgatherRecursiveDoubling).unwrap();
        assert_eq!(
            odd.choose(Collective::Allgather, 6, 1).unwrap_err().message,
            "collective allgather: \"recursive-doubling\" needs a power of two of ranks; here are 6"
        );
    }
}
