"""Losses by name."""

from __future__ import annotations

import torch


def mse(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean squared difference."""
    return (predicted - target).square().mean()


def relative_l2(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean over samples of |predicted - target|_2 / |target|_2."""
    difference = (predicted - target).flatten(1).norm(dim=1)
    relative: torch.Tensor = difference / target.flatten(1).norm(dim=1).clamp_min(1e-12)
    return relative.mean()


LOSSES = {"mse": mse, "relative_l2": relative_l2}
