"""The paper's tables 2 and 3, and the size sweep of its figure 4, from the events of a run."""

from __future__ import annotations

from typing import Any

from thalweg.patterns.one_to_one.options import Options
from thalweg.patterns.one_to_one.paper import EVENTS, TIMES
from thalweg.results import ResultTable
from thalweg.results.summaries import iteration_times

SOLVER, TRAINER, SWEEP = "solver", "trainer", "sweep"


def event_table(events: Any, options: Options) -> ResultTable:
    """Return the paper's table 2 beside this run, whose counts are its own and divided by the scale."""
    ours = (
        len(iteration_times(events, SOLVER)),
        _transfers(events, SOLVER, "write"),
        len(iteration_times(events, TRAINER)),
        _transfers(events, TRAINER, "read"),
    )
    rows: list[list[Any]] = [[name, *counts] for name, counts in EVENTS.items()]
    rows.append([f"this run (scale {options.scale:g})", *ours])
    rows.append(["this run / scale", *(round(count / options.scale) for count in ours)])
    columns = ["", "simulation time steps", "simulation transfers", "training time steps", "training transfers"]
    return ResultTable("Table 2: events", columns, rows)


def time_table(events: Any, options: Options) -> ResultTable:
    """Return the paper's table 3 beside this run and what was configured, in seconds."""
    solver, trainer = iteration_times(events, SOLVER), iteration_times(events, TRAINER)
    rows: list[list[Any]] = [[name, *times] for name, times in TIMES.items()]
    configured_std = options.solver_std_s if options.distribution != "constant" else 0.0
    rows.append(["configured", options.solver_iteration_s, configured_std, options.trainer_iteration_s, 0.0])
    rows.append(["this run", *(float(f()) for f in (solver.mean, solver.std, trainer.mean, trainer.std))])
    columns = ["", "simulation mean (s)", "simulation std (s)", "training mean (s)", "training std (s)"]
    return ResultTable("Table 3: iteration times", columns, rows)


def size_table(events: Any) -> ResultTable:
    """Return for each size of the sweep: medians of write and read time, throughput, and time in solver iterations."""
    import numpy as np

    iteration = float(np.mean(iteration_times(events, SOLVER)))
    moved: dict[tuple[int, str], list[float]] = {}
    columns = ("component", "kind", "key", "size_bytes", "start_ns", "end_ns")
    for component, kind, key, size, start, end in zip(*(events.column(c).to_pylist() for c in columns), strict=True):
        if component == SWEEP and kind in ("write", "read") and key.startswith("sweep/"):
            moved.setdefault((size, kind), []).append((end - start) * 1e-9)
    rows: list[list[Any]] = []
    for size in sorted({size for size, _ in moved}):
        write, read = (float(np.median(moved[size, kind])) for kind in ("write", "read"))
        rows.append([size, write, read, size / write / 1e9, size / read / 1e9, (write + read) / 2 / iteration])
    titles = ["size (bytes)", "write (s)", "read (s)", "write (GB/s)", "read (GB/s)", "transfer / solver iteration"]
    return ResultTable("Figure 4: transport time by message size", titles, rows)


def _transfers(events: Any, component: str, kind: str) -> int:
    """Count the moves of snapshots; signals between the components are not data."""
    columns = (events.column(name).to_pylist() for name in ("component", "kind", "key"))
    return sum(
        entry[:2] == (component, kind) and entry[2].startswith("snapshot/") for entry in zip(*columns, strict=True)
    )
