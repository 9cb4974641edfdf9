"""The solver and the trainer of the SimAI-Bench paper: their options, and how long their iterations take."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thalweg.patterns.staging import BACKENDS, BackendName

#: What keeps a process to one CPU; a solver and a trainer share a machine.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Seconds that a component waits for another before it gives up.
PATIENCE_S = 120.0
_FEATURES = 64


class CouplingOptions(BaseModel):
    """What patterns of an emulated solver and a trainer share; the defaults are the paper's.

    `scale` shortens the run: the numbers of iterations, and so the whole time, are multiplied by it. The time of an
    iteration, the sizes and how often data moves stay as they are, so that means can be compared with the paper's and
    counts with the paper's times `scale`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: float = Field(0.05, gt=0, le=1, description="share of the paper's iterations, and so of its run time")
    backend: BackendName = Field("thalweg", description=f"DataStore backend that the data goes through: {BACKENDS}")
    size_bytes: int = Field(
        1277952, ge=64, multiple_of=4, description="bytes of one array (the paper: 319,488 float32)"
    )
    trainer_iterations: int = Field(5_000, ge=1, description="iterations of the trainer before scaling")
    solver_iteration_s: float = Field(0.0312, gt=0, description="mean time of a solver iteration in seconds")
    solver_std_s: float = Field(0.0, ge=0, description="standard deviation of the solver's iteration times in seconds")
    distribution: Literal["constant", "normal", "lognormal", "gamma"] = Field(
        "constant", description="distribution of the solver's iteration times (the paper's real code had std 0.0273 s)"
    )
    trainer_iteration_s: float = Field(0.061, gt=0, description="mean time of a trainer iteration in seconds")
    read_every: int = Field(10, ge=1, description="trainer iterations between two looks for data")
    matrix: int = Field(256, ge=1, description="extent of the matrices that the solver multiplies")
    seed: int = Field(0, ge=0, description="seed of payloads, times and model")

    @model_validator(mode="after")
    def _spread_needs_a_distribution(self) -> CouplingOptions:
        if self.solver_std_s > 0 and self.distribution == "constant":
            raise ValueError(
                f"solver_std_s {self.solver_std_s:g} has no effect with distribution 'constant'; "
                "set distribution to normal, lognormal or gamma, or leave solver_std_s out"
            )
        return self

    @property
    def features(self) -> int:
        """Numbers in a row of the array that the trainer takes as a sample."""
        return min(_FEATURES, self.size_bytes // 4 - 1)

    def scaled(self, iterations: int) -> int:
        """Return the iterations of a run at `scale`, at least 1."""
        return max(1, round(iterations * self.scale))

    def solver_config(self) -> dict[str, Any]:
        """Return the configuration of the Simulation: one kernel whose time is that of an iteration."""
        run_time: Any = self.solver_iteration_s
        if self.distribution != "constant":
            run_time = {"distribution": self.distribution, "mean": run_time, "std": self.solver_std_s}
        kernel = {
            "name": "nekrs_iteration",
            "mini_app_kernel": "MatMulSimple2D",
            "data_size": self.matrix,
            "run_time": run_time,
        }
        return {"kernels": [kernel]}

    def trainer_config(self) -> dict[str, Any]:
        """Return the configuration of the AI component: a small network whose iteration takes the configured time."""
        return {
            "model": {"type": "mlp", "inputs": self.features, "outputs": self.features, "hidden": [64]},
            "iteration_time_s": self.trainer_iteration_s,
            "batch_size": 32,
            "replay_bytes": max(64 << 20, 4 * self.size_bytes),
        }

    def samples(self, value: Any) -> Any:
        """Return the rows of an array, shape (rows, features); its last word is the checksum, no number to learn."""
        numbers = value[:-1]
        return numbers[: numbers.size // self.features * self.features].reshape(-1, self.features)
