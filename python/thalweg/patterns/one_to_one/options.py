"""The options of the pattern `one-to-one`."""

from __future__ import annotations

from pydantic import Field

from thalweg.patterns.coupling import CouplingOptions
from thalweg.patterns.staging import Staged

#: Arrays of a rank that may be staged at once: the trainer reads more often than the solver writes.
_AHEAD = 8


class Options(CouplingOptions):
    """The paper's section 4.1; 0.05 of its iterations take about 16 s."""

    ranks: int = Field(
        1, ge=1, le=4096, description="MPI ranks of solver and trainer; the trainer's train one model together"
    )
    solver_iterations: int = Field(
        10_000, ge=1, description="iterations that the paper's solver made; the trainer ends it"
    )
    write_every: int = Field(100, ge=1, description="solver iterations between two writes")
    arrays_per_write: int = Field(
        2, ge=1, description="arrays in one write (the paper counts 203 transfers in 10,108 iterations: two every 100)"
    )

    @property
    def staged(self) -> Staged:
        """What is staged at once."""
        return Staged(self.size_bytes, {"ranks": self.ranks, "arrays": _AHEAD})
