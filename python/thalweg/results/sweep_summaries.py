"""Figures of a sweep, computed from the recorded events of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thalweg.results.events import read_events
from thalweg.results.folder import RunFolder
from thalweg.results.summaries import LEAST_BYTES_FOR_THROUGHPUT, Row, component_rows
from thalweg.results.sweep_folder import SweepFolder, SweepRun

#: Options that a row tells also where the sweep does not go over them.
_COMMON = ("backend", "simulations", "size_bytes")
_CONFIGURED = ("solver_iteration_s", "trainer_iteration_s")
_MEASURES = ("write_s", "read_s", "write_bytes", "read_bytes", "compute_s", "train_s", "time_per_iteration_s")


class Spread(NamedTuple):
    """A quantity over the repeats of one combination."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class SweepPoint:
    """One combination of a sweep, and what each of its finished repeats measured.

    Attributes
    ----------
    options : dict
        An entry for each axis, and for backend, simulations and size_bytes where they are known.
    planned : int
        How many runs the combination has.
    measured : list of dict
        What `run_measures` gives, for each run that is done.
    configured : dict
        solver_iteration_s and trainer_iteration_s, where a run that is done was configured with them.
    """

    options: Row
    planned: int
    measured: Sequence[Row] = ()
    configured: Row = field(default_factory=dict)

    def spread(self, measure: str) -> Spread | None:
        """Median, least and most over the repeats; None when none of them measured it.

        ``write_bytes_per_s`` and ``read_bytes_per_s``, the throughput of one process, follow from the median array
        and the time that it takes.
        """
        if measure.endswith("_bytes_per_s"):
            kind = measure.removesuffix("_bytes_per_s")
            size, time = self.spread(f"{kind}_bytes"), self.spread(f"{kind}_s")
            if size is None or time is None or not time.least:
                return None
            return Spread(size.median / time.median, size.median / time.most, size.median / time.least)
        values = [row[measure] for row in self.measured if row[measure] is not None]
        return Spread(float(np.median(values)), min(values), max(values)) if values else None

    def events(self, kind: str) -> int:
        """Return how many arrays were moved by events of `kind` (``write``, ``read``), over all repeats."""
        return sum(row[f"{kind}_events"] for row in self.measured)


def sweep_rows(folder: Path) -> list[Row]:
    """Return the rows of `component_rows` for each run that is done, with its point in front of them.

    Returns
    -------
    list of dict
        An entry for each axis, repeat, then the fields of `component_rows`.
    """
    sweep = SweepFolder.open(folder)
    done = [run for run in sweep.runs if run.status == "done"]
    return [{**run.point, **row} for run in done for row in component_rows(sweep.path / run.folder)]


def run_measures(folder: Path) -> Row:
    """Return what a run says of its transport and its iterations.

    Returns
    -------
    dict
        write_s, read_s, write_bytes, read_bytes: medians over all arrays that moved; write_events, read_events: how
        many these are; compute_s, train_s: mean time of an iteration of solvers and trainers; time_per_iteration_s:
        the trainer's whole time by its iterations, where the pattern measures it. None for what the run has not.
    """
    events = read_events(folder / "events.parquet")
    kinds = np.asarray(events.column("kind").to_pylist(), dtype=object)
    sizes = events.column("size_bytes").to_numpy()
    spent = (events.column("end_ns").to_numpy() - events.column("start_ns").to_numpy()) * 1e-9
    measures: Row = {}
    for kind in ("write", "read"):
        chosen = (kinds == kind) & (sizes >= LEAST_BYTES_FOR_THROUGHPUT)
        measures[f"{kind}_s"] = float(np.median(spent[chosen])) if chosen.any() else None
        measures[f"{kind}_bytes"] = float(np.median(sizes[chosen])) if chosen.any() else None
        measures[f"{kind}_events"] = int(chosen.sum())
    for kind in ("compute", "train"):
        chosen = kinds == kind
        measures[f"{kind}_s"] = float(spent[chosen].mean()) if chosen.any() else None
    measures["time_per_iteration_s"] = RunFolder.open(folder).summary.get("time_per_iteration_s")
    return measures


def sweep_points(folder: Path) -> list[SweepPoint]:
    """Return each combination of a sweep, in the order in which they run, also those of which no run is done.

    Raises
    ------
    NotFoundError, CorruptDataError
        When there is no sweep in the folder, or its files are not of the documented format.
    """
    sweep = SweepFolder.open(folder)
    planned: dict[tuple[Any, ...], list[SweepRun]] = {}
    for run in sweep.runs:
        planned.setdefault(tuple((key, value) for key, value in run.point.items() if key != "repeat"), []).append(run)
    configurations = {
        run.folder: RunFolder.open(sweep.path / run.folder).facts["configuration"]
        for run in sweep.runs
        if run.status == "done"
    }
    #: what is not swept over is the same in all runs, so that one which is done tells it for one which is not
    shared: Row = next(iter(configurations.values()), sweep.options)
    points = []
    for point, runs in planned.items():
        done = [run for run in runs if run.status == "done"]
        configuration = configurations[done[0].folder] if done else shared
        points.append(
            SweepPoint(
                {**{key: configuration[key] for key in _COMMON if key in configuration}, **dict(point)},
                len(runs),
                [run_measures(sweep.path / run.folder) for run in done],
                {key: configuration[key] for key in _CONFIGURED if key in configuration},
            )
        )
    return points


def sweep_measures(folder: Path) -> list[Row]:
    """Return for each combination of which a run is done the medians over its repeats.

    Returns
    -------
    list of dict
        An entry for each axis (those that were not swept with the value that all runs share), repeats (how many runs
        are done), then the fields of `run_measures` (events summed over repeats), with write_bytes_per_s and
        read_bytes_per_s, the throughput of one process, in the place of bytes.
    """
    return [measures_of(point) for point in sweep_points(folder) if point.measured]


def measures_of(point: SweepPoint) -> Row:
    """Return one combination as a row of `sweep_measures`."""
    row: Row = {**point.options, "repeats": len(point.measured)}
    for measure in _MEASURES:
        shown = f"{measure}_per_s" if measure.endswith("_bytes") else measure
        spread = point.spread(shown)
        row[shown] = spread.median if spread is not None else None
    for kind in ("write", "read"):
        row[f"{kind}_events"] = point.events(kind)
    return row
