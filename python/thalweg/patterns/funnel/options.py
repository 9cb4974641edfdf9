"""The options of the pattern `funnel`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thalweg.patterns.staging import BACKENDS, BackendName


class Options(BaseModel):
    """A library of candidates, of which a few are simulated in each round; the defaults take about half a minute."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: BackendName = Field("thalweg", description=f"DataStore backend that the data goes through: {BACKENDS}")
    candidates: int = Field(20_000, ge=100, description="candidates in the library")
    features: int = Field(12, ge=2, le=1024, description="numbers that describe a candidate")
    rounds: int = Field(6, ge=2, description="rounds of simulate, train, infer, sort and resubmit")
    per_round: int = Field(64, ge=4, description="candidates that are simulated in a round")
    explore: float = Field(0.1, ge=0, le=1, description="share of a round that is drawn at random")
    batch: int = Field(8, ge=1, description="candidates that one simulation task scores")
    simulation_s: float = Field(0.02, gt=0, description="mean time of one candidate's simulation in seconds")
    simulation_std_s: float = Field(0.01, ge=0, description="standard deviation of that time, log-normal")
    train_iterations: int = Field(600, ge=1, description="gradient steps of the surrogate in each round")
    inference_tasks: int = Field(4, ge=1, description="tasks that the library is divided into for inference")
    processes: int = Field(2, ge=1, description="processes that run tasks")
    retries: int = Field(1, ge=0, description="how often a task is started again when it fails")
    seed: int = Field(0, ge=0, description="seed of library, times, model and choice")

    @model_validator(mode="after")
    def _fits(self) -> Options:
        wanted = self.rounds * self.per_round
        if wanted > self.candidates:
            raise ValueError(
                f"rounds times per_round is {wanted}, candidates are {self.candidates}; "
                "make rounds or per_round smaller, or candidates more"
            )
        return self
