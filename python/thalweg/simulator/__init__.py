"""Simulated machines: what a workload would do on an interconnect that is not there."""

from thalweg.simulator.outcome import Distribution, Outcome
from thalweg.simulator.running import simulate
from thalweg.simulator.scenario import Scenario

__all__ = ["Distribution", "Outcome", "Scenario", "simulate"]
