"""Figures of a sweep, computed from the recorded events of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thalweg.results.events import read_events
from thalweg.results.folder import RunFolder
from thalweg.results.summaries import LEAST_BYTES_FOR_THROUGHPUT, Row, component_rows
from thalweg.results.sweep_folder import SweepFolder

_COMMON = ("backend", "simulations", "size_bytes")


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
        write_s, read_s, write_bytes, read_bytes: medians over all arrays that moved; compute_s, train_s: mean time of
        an iteration of solvers and trainers; time_per_iteration_s: the trainer's whole time by its iterations, where
        the pattern measures it. None for what the run has not.
    """
    events = read_events(folder / "events.parquet")
    kinds = np.asarray(events.column("kind").to_pylist(), dtype=object)
    sizes = events.column("size_bytes").to_numpy()
    spent = (events.column("end_ns").to_numpy() - events.column("start_ns").to_numpy()) * 1e-9
    measures: Row = {}
    for kind in ("write", "read"):
        chosen = (kinds == kind) & (sizes >= LEAST_BYTES_FOR_THROUGHPUT)
        seconds = float(np.median(spent[chosen])) if chosen.any() else None
        measures[f"{kind}_s"] = seconds
        measures[f"{kind}_bytes"] = float(np.median(sizes[chosen])) if chosen.any() else None
    for kind in ("compute", "train"):
        chosen = kinds == kind
        measures[f"{kind}_s"] = float(spent[chosen].mean()) if chosen.any() else None
    measures["time_per_iteration_s"] = RunFolder.open(folder).summary.get("time_per_iteration_s")
    return measures


def sweep_measures(folder: Path) -> list[Row]:
    """Return for each combination of a sweep the medians over its repeats of what `run_measures` gives.

    Returns
    -------
    list of dict
        An entry for each axis (those that were not swept with the value that all runs share), repeats (how many runs
        are done), then the fields of `run_measures`, with write_bytes_per_s and read_bytes_per_s, the throughput of
        one process, in the place of bytes.
    """
    sweep = SweepFolder.open(folder)
    found: dict[tuple[Any, ...], list[Row]] = {}
    shared: Row = {}
    for run in sweep.runs:
        if run.status == "done":
            path = sweep.path / run.folder
            point = {key: value for key, value in run.point.items() if key != "repeat"}
            configuration = RunFolder.open(path).facts["configuration"]
            shared = {key: configuration[key] for key in _COMMON if key in configuration}
            found.setdefault(tuple({**shared, **point}.items()), []).append(run_measures(path))
    return [{**dict(point), "repeats": len(measured), **_combined(measured)} for point, measured in found.items()]


def _combined(measured: list[Row]) -> Row:
    combined: Row = {}
    for name in measured[0]:
        if name.endswith("_bytes"):
            seconds, size = combined[f"{name.removesuffix('_bytes')}_s"], _median(measured, name)
            combined[f"{name}_per_s"] = size / seconds if size and seconds else None
        else:
            combined[name] = _median(measured, name)
    return combined


def _median(measured: list[Row], name: str) -> float | None:
    values = [row[name] for row in measured if row[name] is not None]
    return float(np.median(values)) if values else None
