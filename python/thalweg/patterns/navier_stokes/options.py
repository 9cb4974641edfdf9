"""The options of the pattern `navier-stokes`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from thalweg.patterns.staging import BACKENDS, BackendName


class Options(BaseModel):
    """What can be chosen; times of the flow are in its own units (domain 2 pi, root mean square velocity 1)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: BackendName = Field("thalweg", description=f"DataStore backend that the fields go through: {BACKENDS}")
    grid: int = Field(64, ge=16, le=1024, multiple_of=2, description="grid points a side")
    members: int = Field(8, ge=1, description="flows that the solver integrates at once")
    viscosity: float = Field(4e-3, gt=0, description="kinematic viscosity")
    peak: float = Field(3.0, gt=0, description="wave number of the largest energy in the initial fields")
    time_step: float = Field(0.02, gt=0, description="time step of the solver")
    steps: int = Field(18, ge=1, description="time steps between two fields; the surrogate predicts over that time")
    spin_up: int = Field(25, ge=0, description="time steps before the first field of a flow")
    fields_per_flow: int = Field(16, ge=2, description="fields of a flow before the solver starts a new one")
    ahead: int = Field(3, ge=1, description="fields that the solver may be ahead of the trainer")
    model: Literal["fno", "cnn"] = Field("fno", description="surrogate")
    width: int = Field(16, ge=1, description="channels of the surrogate")
    modes: int = Field(16, ge=1, description="Fourier modes of the surrogate in each direction")
    layers: int = Field(3, ge=2, description="layers of the surrogate")
    batch_size: int = Field(4, ge=1, description="pairs of fields in a gradient step")
    learning_rate: float = Field(
        1.6e-2, gt=0, description="highest learning rate; it rises to it and falls by a cosine"
    )
    train_s: float = Field(50.0, gt=0, description="seconds of training")
    iterations: int | None = Field(None, ge=1, description="gradient steps, in place of train_s (repeatable runs)")
    read_every: int = Field(10, ge=1, description="iterations between two looks for new fields")
    threads: int | None = Field(None, ge=1, description="threads of the trainer (default: all cores but one)")
    unseen_flows: int = Field(4, ge=1, description="flows that are never trained on, for the evaluation")
    seed: int = Field(0, ge=0, description="seed of the flows and of the surrogate")
