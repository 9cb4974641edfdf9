"""A convolutional network over periodic fields."""

from __future__ import annotations

from typing import cast

import torch

from thalweg.ai.config import CNNConfig


class CNN(torch.nn.Module):
    """Maps (batch, channels, ny, nx) to (batch, channels, ny, nx) by convolutions with circular padding."""

    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        self._residual = config.residual
        layers: list[torch.nn.Module] = []
        before = config.in_channels
        for _ in range(config.layers - 1):
            layers += [_convolution(before, config.width, config.kernel_size), torch.nn.GELU()]
            before = config.width
        layers.append(_convolution(before, config.out_channels, config.kernel_size))
        self._layers = torch.nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the network's output."""
        out = cast(torch.Tensor, self._layers(x))
        return x[:, : out.shape[1]] + out if self._residual else out


def _convolution(before: int, after: int, size: int) -> torch.nn.Module:
    return torch.nn.Conv2d(before, after, size, padding=size // 2, padding_mode="circular")
