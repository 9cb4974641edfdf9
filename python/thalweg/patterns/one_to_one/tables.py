"""The paper's tables 2 and 3, from the events of a run."""

from __future__ import annotations

from typing import Any

from thalweg.patterns.one_to_one.options import Options
from thalweg.patterns.one_to_one.paper import EVENTS, TIMES
from thalweg.results import ResultTable
from thalweg.results.summaries import iteration_times

SOLVER, TRAINER = "solver", "trainer"


def event_table(events: Any, options: Options) -> ResultTable:
    """Return the paper's table 2 beside this run, whose counts are those of one rank and divided by the scale."""
    ours = (
        len(iteration_times(events, SOLVER)),
        _transfers(events, SOLVER, "write") // options.ranks,
        len(iteration_times(events, TRAINER)),
        _transfers(events, TRAINER, "read") // options.ranks,
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


def _transfers(events: Any, component: str, kind: str) -> int:
    """Count the moves of snapshots; signals between the components are not data."""
    columns = (events.column(name).to_pylist() for name in ("component", "kind", "key"))
    return sum(
        entry[:2] == (component, kind) and entry[2].startswith("snapshot/") for entry in zip(*columns, strict=True)
    )
