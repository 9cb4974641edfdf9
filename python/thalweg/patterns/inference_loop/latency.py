"""What a request cost, from the events of a run: table and figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thalweg.results import ResultTable

Times = dict[str, "np.ndarray[Any, np.dtype[np.float64]]"]
#: Parts of a round trip in the order of time.
PARTS = ("write request", "wait for the answer", "read answer", "round trip")


def round_trips(events: Any) -> Times:
    """Return for each part of a round trip its seconds, one entry a request, over all solvers."""
    seen: dict[str, dict[str, tuple[int, int]]] = {}
    columns = ("component", "kind", "key", "start_ns", "end_ns")
    for component, kind, key, start, end in zip(*(events.column(c).to_pylist() for c in columns), strict=True):
        if component.startswith("solver-"):
            request = key.removeprefix("answer/")
            if request.startswith("request/") and kind in ("write", "read"):
                seen.setdefault(request, {})[kind] = (start, end)
    spans = [(parts["write"], parts["read"]) for parts in seen.values() if {"write", "read"} <= set(parts)]
    write, read = (np.array([pair[place] for pair in spans], np.float64).reshape(-1, 2) * 1e-9 for place in (0, 1))
    return {
        PARTS[0]: write[:, 1] - write[:, 0],
        PARTS[1]: read[:, 0] - write[:, 1],
        PARTS[2]: read[:, 1] - read[:, 0],
        PARTS[3]: read[:, 1] - write[:, 0],
    }


def latency_table(times: Times) -> ResultTable:
    """Return percentiles of each part, in milliseconds."""
    rows = [
        [part, len(times[part]), *(float(np.percentile(times[part], percent)) * 1e3 for percent in (50, 90, 99, 100))]
        for part in PARTS
    ]
    columns = ["part", "requests", "median (ms)", "90 % (ms)", "99 % (ms)", "longest (ms)"]
    return ResultTable("What a request costs the solver", columns, rows)


def draw_latency(times: Times, target: Path, *, backend: str) -> None:
    """Draw how the times of the parts are distributed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for part in PARTS:
        ordered = np.sort(times[part]) * 1e3
        axis.semilogx(ordered, np.arange(1, len(ordered) + 1) / len(ordered) * 100, label=part)
    axis.set(title=f"Inference in the loop, backend {backend}", xlabel="time (ms)", ylabel="share of requests (%)")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.savefig(target, dpi=110)
