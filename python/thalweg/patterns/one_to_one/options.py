"""The options of the pattern `one-to-one`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thalweg.patterns.staging import BACKENDS, BackendName


class Options(BaseModel):
    """What can be chosen. The defaults are those of the paper's section 4.1, except for `scale`.

    `scale` shortens the run: both numbers of iterations, and so the whole time, are multiplied by it. The time of an
    iteration, the sizes and how often data moves stay as they are, so that means can be compared with the paper's and
    counts with the paper's times `scale`. 0.05 takes about 16 s.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: float = Field(0.05, gt=0, le=1, description="share of the paper's iterations, and so of its run time")
    backend: BackendName = Field("thalweg", description=f"DataStore backend that the data goes through: {BACKENDS}")
    size_bytes: int = Field(
        1277952, ge=64, multiple_of=4, description="bytes of one array (the paper: 319,488 float32)"
    )
    solver_iterations: int = Field(
        10_000, ge=1, description="iterations that the paper's solver made; the trainer ends it"
    )
    trainer_iterations: int = Field(5_000, ge=1, description="iterations of the trainer before scaling")
    solver_iteration_s: float = Field(0.0312, gt=0, description="mean time of a solver iteration in seconds")
    solver_std_s: float = Field(0.0, ge=0, description="standard deviation of the solver's iteration times in seconds")
    distribution: Literal["constant", "normal", "lognormal", "gamma"] = Field(
        "constant", description="distribution of the solver's iteration times (the paper's real code had std 0.0273 s)"
    )
    trainer_iteration_s: float = Field(0.061, gt=0, description="mean time of a trainer iteration in seconds")
    write_every: int = Field(100, ge=1, description="solver iterations between two writes")
    arrays_per_write: int = Field(
        2, ge=1, description="arrays in one write (the paper counts 203 transfers in 10,108 iterations: two every 100)"
    )
    read_every: int = Field(10, ge=1, description="trainer iterations between two looks for data")
    matrix: int = Field(256, ge=1, description="extent of the matrices that the solver multiplies")
    sizes: list[int] = Field(
        default_factory=lambda: [400_000, 1_277_952, 4_000_000, 8_000_000, 32_000_000],
        description="bytes of the messages of the size sweep (the paper's figure 4); empty: no sweep",
    )
    sweep_repeats: int = Field(5, ge=1, description="messages of each size in the sweep")
    seed: int = Field(0, ge=0, description="seed of payloads, times and model")

    @model_validator(mode="after")
    def _spread_needs_a_distribution(self) -> Options:
        if self.solver_std_s > 0 and self.distribution == "constant":
            raise ValueError(
                f"solver_std_s {self.solver_std_s:g} has no effect with distribution 'constant'; "
                "set distribution to normal, lognormal or gamma, or leave solver_std_s out"
            )
        return self
