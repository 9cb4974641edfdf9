"""What the configuration of an AI component may hold."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from thalweg.configuration import checked, suggestion
from thalweg.errors import ConfigError
from thalweg.simulation.config import Quantity


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class MLPConfig(_Strict):
    """Fully connected network from `inputs` to `outputs` numbers."""

    type: Literal["mlp"]
    inputs: int = Field(ge=1)
    outputs: int = Field(ge=1)
    hidden: list[Annotated[int, Field(ge=1)]] = Field(default_factory=lambda: [128, 128])


class CNNConfig(_Strict):
    """Convolutions over a periodic 2-D field, (channels, ny, nx) to (channels, ny, nx)."""

    type: Literal["cnn"]
    in_channels: int = Field(1, ge=1)
    out_channels: int = Field(1, ge=1)
    width: int = Field(32, ge=1)
    layers: int = Field(4, ge=2)
    kernel_size: Literal[3, 5, 7] = 5
    residual: bool = False


class FNOConfig(_Strict):
    """Fourier neural operator over a periodic 2-D field, (channels, ny, nx) to (channels, ny, nx)."""

    type: Literal["fno"]
    in_channels: int = Field(1, ge=1)
    out_channels: int = Field(1, ge=1)
    width: int = Field(20, ge=1)
    modes: int = Field(12, ge=1)
    layers: int = Field(4, ge=1)
    residual: bool = False


class GNNConfig(_Strict):
    """Message passing on a mesh, (nodes, in_channels) to (nodes, out_channels).

    The mesh is structured, of 1 to 3 extents, or a list of edges, each a pair of node numbers.
    """

    type: Literal["gnn"]
    in_channels: int = Field(1, ge=1)
    out_channels: int = Field(1, ge=1)
    mesh: list[Annotated[int, Field(ge=1)]] | None = Field(None, min_length=1, max_length=3)
    periodic: bool = False
    edges: list[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]] = Field(default_factory=list)
    nodes: int | None = Field(None, ge=1)
    width: int = Field(32, ge=1)
    layers: int = Field(4, ge=1)
    residual: bool = False

    @model_validator(mode="before")
    @classmethod
    def _pairs(cls, content: Any) -> Any:
        """A JSON file has lists in the place of pairs."""
        if isinstance(content, dict) and isinstance(content.get("edges"), list):
            pairs = [tuple(edge) if isinstance(edge, list) else edge for edge in content["edges"]]
            return {**content, "edges": pairs}
        return content

    @model_validator(mode="after")
    def _one_mesh(self) -> GNNConfig:
        if (self.mesh is None) == (not self.edges):
            given = "both mesh and edges" if self.edges else "neither mesh nor edges"
            raise ValueError(f"has {given}; give exactly one of them")
        if self.mesh is not None and self.nodes is not None:
            raise ValueError("has both mesh and nodes; the extents of the mesh say how many nodes it has: remove nodes")
        largest = max((max(edge) for edge in self.edges), default=-1)
        if self.nodes is not None and largest >= self.nodes:
            raise ValueError(f"edges: has node {largest}, nodes is {self.nodes}; number them from 0")
        return self

    @property
    def node_count(self) -> int:
        """Nodes of the mesh."""
        if self.mesh is not None:
            return math.prod(self.mesh)
        return self.nodes or 1 + max(max(edge) for edge in self.edges)


ModelConfig = MLPConfig | CNNConfig | FNOConfig | GNNConfig
MODELS: dict[str, tuple[type[BaseModel], str]] = {
    "mlp": (MLPConfig, "thalweg.ai.mlp:MLP"),
    "cnn": (CNNConfig, "thalweg.ai.cnn:CNN"),
    "fno": (FNOConfig, "thalweg.ai.fno:FNO2d"),
    "gnn": (GNNConfig, "thalweg.ai.gnn:GNN"),
}


def _model(value: object, info: ValidationInfo) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, dict):
        raise ValueError(f"is {value!r}; give a table with type, one of {', '.join(MODELS)}")
    kind = value.get("type")
    if kind is None:
        raise ValueError(f"has no type; add it, accepted are {', '.join(MODELS)}")
    if kind not in MODELS:
        raise ValueError(f"model type {kind!r} is unknown; {suggestion(kind, list(MODELS))}")
    try:
        return checked(MODELS[kind][0], value, kind)
    except ConfigError as error:
        raise ValueError(str(error)) from None


class AIConfig(_Strict):
    """An AI component.

    `iteration_time_s` makes each iteration last as long as configured (a number or a distribution): further
    gradient steps are made until it is over.
    """

    model: Annotated[Any, BeforeValidator(_model)] = None
    loss: Literal["mse", "relative_l2"] = "mse"
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    batch_size: int = Field(16, ge=1)
    iteration_time_s: Quantity = None
    replay_bytes: int = Field(256 << 20, ge=1)
    threads: int | None = Field(None, ge=1)
    device: Literal["cpu", "cuda"] = "cpu"
