"""The options of the pattern `many-to-one`."""

from __future__ import annotations

from pydantic import Field

from thalweg.patterns.coupling import CouplingOptions
from thalweg.patterns.staging import Staged


class Options(CouplingOptions):
    """The paper's section 4.2: each simulation writes every 10 iterations, the trainer reads all of them every 10."""

    simulations: int = Field(
        4,
        ge=1,
        le=1024,
        description="simulations that train one model; several numbers make a sweep",
    )
    trainer_iterations: int = Field(2_500, ge=1, description="iterations of the trainer before scaling")
    write_every: int = Field(10, ge=1, description="solver iterations between two writes")
    ahead: int = Field(
        4, ge=1, description="arrays that a simulation may be ahead of the trainer, before it waits for it"
    )

    @property
    def staged(self) -> Staged:
        """What is staged at once."""
        return Staged(self.size_bytes, {"simulations": self.simulations, "arrays": self.ahead + 1})
