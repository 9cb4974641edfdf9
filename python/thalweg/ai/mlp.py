"""A fully connected network."""

from __future__ import annotations

import itertools
from typing import cast

import torch

from thalweg.ai.config import MLPConfig


class MLP(torch.nn.Module):
    """Maps (batch, inputs) to (batch, outputs), ReLU between the layers."""

    def __init__(self, config: MLPConfig) -> None:
        super().__init__()
        widths = [config.inputs, *config.hidden, config.outputs]
        layers: list[torch.nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
        self._layers = torch.nn.Sequential(*layers[:-1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the network's output."""
        return cast(torch.Tensor, self._layers(x))
