"""A graph neural network that passes messages along the edges of a mesh."""

from __future__ import annotations

from itertools import product

import torch

from thalweg.ai.config import GNNConfig


class GNN(torch.nn.Module):
    """Maps (batch, nodes, in_channels) to (batch, nodes, out_channels); the mesh is that of the configuration.

    Encode, process, decode, after Pfaff et al., "Learning mesh-based simulation with graph networks" (ICLR 2021): each
    layer computes a message for every directed edge from the states of its two nodes and the edge's own features (where
    the neighbour lies, and how far), sums the messages that arrive at a node, and updates its state by them.
    Nodes of a structured mesh are numbered in C order (the last extent varies fastest).
    """

    def __init__(self, config: GNNConfig) -> None:
        super().__init__()
        self._sources: torch.Tensor
        self._targets: torch.Tensor
        self._features: torch.Tensor
        sources, targets, features = _edges(config)
        self.register_buffer("_sources", sources, persistent=False)
        self.register_buffer("_targets", targets, persistent=False)
        self.register_buffer("_features", features, persistent=False)
        self._nodes = config.node_count
        width = config.width
        self._encode = _mlp(config.in_channels, width, width)
        self._encode_edges = _mlp(features.shape[1], width, width)
        self._messages = torch.nn.ModuleList(_mlp(3 * width, width, width) for _ in range(config.layers))
        self._updates = torch.nn.ModuleList(_mlp(2 * width, width, width) for _ in range(config.layers))
        self._decode = _mlp(width, width, config.out_channels)
        self._residual = config.residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the network's output.

        Raises
        ------
        ValueError
            When the input has another number of nodes than the mesh.
        """
        if x.shape[-2] != self._nodes:
            raise ValueError(f"GNN: the input has {x.shape[-2]} nodes, the mesh has {self._nodes}")
        state = self._encode(x)
        edges = self._encode_edges(self._features).expand(*x.shape[:-2], -1, -1)
        for message, update in zip(self._messages, self._updates, strict=True):
            ends = torch.cat((state[..., self._sources, :], state[..., self._targets, :], edges), dim=-1)
            arrived = torch.zeros_like(state).index_add_(-2, self._targets, message(ends))
            state = state + update(torch.cat((state, arrived), dim=-1))
        out: torch.Tensor = self._decode(state)
        return x[..., : out.shape[-1]] + out if self._residual else out


def _mlp(before: int, width: int, after: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(before, width), torch.nn.SiLU(), torch.nn.Linear(width, after))


def _edges(config: GNNConfig) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return sources, targets and features of all directed edges; every mesh edge stands for two of them."""
    if config.mesh is not None:
        pairs, offsets = _structured(config.mesh, config.periodic)
    else:
        pairs = [*config.edges, *((b, a) for a, b in config.edges)]
        offsets = [(1.0,)] * len(pairs)
    index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    features = torch.tensor(offsets, dtype=torch.float32).reshape(len(pairs), -1)
    return index[:, 0], index[:, 1], features


def _structured(extents: list[int], periodic: bool) -> tuple[list[tuple[int, int]], list[tuple[float, ...]]]:
    strides = [1] * len(extents)
    for axis in range(len(extents) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * extents[axis + 1]
    pairs, offsets = [], []
    for place in product(*map(range, extents)):
        node = sum(index * stride for index, stride in zip(place, strides, strict=True))
        for axis, extent in enumerate(extents):
            for step in (-1, 1):
                neighbour = place[axis] + step
                if periodic:
                    neighbour %= extent
                if 0 <= neighbour < extent and extent > 1:
                    pairs.append((node + (neighbour - place[axis]) * strides[axis], node))
                    offsets.append(tuple(float(step) if other == axis else 0.0 for other in range(len(extents))))
    return pairs, offsets
