"""The options of the pattern `inference-loop`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thalweg.patterns.staging import BACKENDS, BackendName, Staged


class Options(BaseModel):
    """Latency is what counts here: the solver stands still until the answer is there. The defaults take about 10 s."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: BackendName = Field("thalweg", description=f"DataStore backend that the data goes through: {BACKENDS}")
    clients: int = Field(1, ge=1, le=256, description="solvers that ask the one model")
    size_bytes: int = Field(65_536, ge=256, multiple_of=4, description="bytes of a request, and of its answer")
    features: int = Field(16, ge=1, le=4096, description="numbers that describe a cell; a request has many cells")
    hidden: int = Field(64, ge=1, description="width of the model's two hidden layers")
    requests: int = Field(200, ge=1, description="requests of each solver")
    ask_every: int = Field(2, ge=1, description="solver iterations between two requests")
    solver_iteration_s: float = Field(0.005, gt=0, description="mean time of a solver iteration in seconds")
    patience_s: float = Field(60.0, gt=0, description="seconds to wait for an answer or a request")
    seed: int = Field(0, ge=0, description="seed of the first states and of the model")

    @model_validator(mode="after")
    def _whole_cells(self) -> Options:
        if self.size_bytes % (4 * self.features):
            raise ValueError(
                f"size_bytes {self.size_bytes} is not a whole number of cells of {self.features} float32; "
                f"make it a multiple of {4 * self.features}"
            )
        return self

    @property
    def cells(self) -> int:
        """Cells of a request."""
        return self.size_bytes // (4 * self.features)

    @property
    def staged(self) -> Staged:
        """What is staged at once."""
        return Staged(self.size_bytes, {"clients": self.clients, "arrays": 2})
