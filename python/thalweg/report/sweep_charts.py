"""The figures 3 to 6 of the SimAI-Bench paper, from the measures of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.report.charts import line_chart
from thalweg.results.summaries import Row

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = "size of an array / MB"
_SPEED = "throughput of one process / (GB/s)"


def charts(pattern: str, rows: list[Row]) -> list[tuple[str, str, Figure]]:
    """Return title, note and figure of each chart that the measures of a pattern's sweep have something for."""
    made = {"one-to-one": _one_to_one, "many-to-one": _many_to_one}.get(pattern)
    return made(rows) if made and rows else []


def _one_to_one(rows: list[Row]) -> list[tuple[str, str, Figure]]:
    backends = list(dict.fromkeys(row["backend"] for row in rows))
    times = [
        (f"{backend}: one {kind}", _series(rows, backend, f"{kind}_s", 1e3))
        for backend in backends
        for kind in ("write", "read")
    ]
    times += [
        (f"{backend}: one solver iteration", _series(rows, backend, "compute_s", 1e3)) for backend in backends[:1]
    ]
    return [
        (
            f"Figure 3: {kind} throughput",
            "One-to-one; the median array.",
            line_chart(
                [(backend, _series(rows, backend, f"{kind}_bytes_per_s", 1e-9)) for backend in backends], _SIZE, _SPEED
            ),
        )
        for kind in ("write", "read")
    ] + [("Figure 4: transport against compute time", "", line_chart(times, _SIZE, "time / ms"))]


def _many_to_one(rows: list[Row]) -> list[tuple[str, str, Figure]]:
    backends = list(dict.fromkeys(row["backend"] for row in rows))
    counts = sorted(dict.fromkeys(row["simulations"] for row in rows))
    first = [row for row in rows if row["simulations"] == counts[0]]
    found = [
        (
            f"Figure 5: {kind} throughput",
            f"Many-to-one with {counts[0]} simulation(s).",
            line_chart(
                [(backend, _series(first, backend, f"{kind}_bytes_per_s", 1e-9)) for backend in backends], _SIZE, _SPEED
            ),
        )
        for kind in ("write", "read")
    ]
    for count in counts:
        some = [row for row in rows if row["simulations"] == count]
        series = [(backend, _series(some, backend, "time_per_iteration_s", 1e3)) for backend in backends]
        found.append(
            (
                f"Figure 6: training time per iteration, {count} simulation(s)",
                "",
                line_chart(series, _SIZE, "time per iteration / ms"),
            )
        )
    return found


def _series(rows: list[Row], backend: str, measure: str, factor: float) -> list[tuple[float, float]]:
    points = [
        (row["size_bytes"] / 1e6, row[measure] * factor)
        for row in rows
        if row["backend"] == backend and row[measure] is not None
    ]
    return sorted(points)
