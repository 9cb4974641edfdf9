"""A simulation's stand-in: kernels whose times follow a given distribution."""

from __future__ import annotations

from thalweg.simulation.simulation import Simulation

__all__ = ["Simulation"]
