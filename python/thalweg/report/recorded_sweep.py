"""One sweep as its folder tells it, and how its measures are named and scaled for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg.report.charts import PALETTE
from thalweg.results import SweepFolder, SweepPoint, sweep_points

_SCALES = (("_bytes_per_s", "(GB/s)", 1e-9), ("_s", "ms", 1e3), ("_bytes", "MB", 1e-6))


@dataclass(frozen=True)
class RecordedSweep:
    """One sweep, read."""

    folder: SweepFolder

    @cached_property
    def points(self) -> list[SweepPoint]:
        return sweep_points(self.folder.path)

    @property
    def name(self) -> str:
        return f"{self.folder.pattern} ({self.folder.path.absolute().name})"

    @property
    def status(self) -> str:
        """How it ended; a sweep that says that it is running, though nothing holds its folder, was killed."""
        if self.folder.status == "running" and not self.folder.held():
            return "interrupted"
        return self.folder.status

    def run_status(self, status: str) -> str:
        """How one of its runs ended, read in the same way."""
        return self.status if status == "running" else status


def backend_colours(sweeps: Sequence[RecordedSweep]) -> dict[str, str]:
    """One colour a backend, the same in all figures."""
    backends = dict.fromkeys(
        point.options["backend"] for sweep in sweeps for point in sweep.points if "backend" in point.options
    )
    return {backend: PALETTE[place % len(PALETTE)] for place, backend in enumerate(backends)}


def heading(name: str) -> str:
    """The name of a measure, with the unit that people read it in."""
    for ending, unit, _ in _SCALES:
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} / {unit}"
    return name.replace("_", " ")


def scaled(name: str, value: Any) -> Any:
    """A measure in the unit of its heading."""
    for ending, _, factor in _SCALES:
        if name.endswith(ending) and value is not None:
            return value * factor
    return value
