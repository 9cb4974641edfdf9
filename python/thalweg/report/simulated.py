"""The report of simulated runs, one or many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.report import simulated_charts as charts
from thalweg.report.charts import fragment
from thalweg.report.page import write_page
from thalweg.report.topology_layout import positions

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from thalweg.simulator.outcome import Application
    from thalweg.simulator.recorded import Run

#: More pictures of the topology make a page slow.
_MAPS_MOST = 8
_KINDS = ("local", "global")


def write_simulated(runs: Sequence[Run], target: Path) -> Path:
    """Write a page that shows runs side by side: applications, latencies, links, and what interferes with what.

    Parameters
    ----------
    runs : sequence of Run
        At least one, of different names.
    target : Path
        The page: self-contained, no network needed.
    """
    from markupsafe import Markup

    shown = [{"title": title, "note": note, "html": Markup(fragment(figure))} for title, note, figure in _charts(runs)]
    tables = [_applications(runs), _network(runs)]
    beside = interference(runs)
    if beside:
        tables.insert(0, {"title": "Beside the same application alone", "columns": list(beside[0]),
                          "rows": [list(row.values()) for row in beside]})  # fmt: skip
    return write_page(
        "simulated.html.j2",
        target,
        {
            "names": [run.name for run in runs],
            "charts": shown,
            "tables": tables,
            "scenarios": [(run.name, json.dumps(run.scenario, indent=2)) for run in runs],
        },
    )


def interference(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Rows of each application that shares its machine, beside a run where it has the same nodes for itself.

    Ratios of elapsed, communication and I/O time and of the message latency's mean and maximum; 1 is no difference.
    """
    alone = {}
    for run in runs:
        if len(run.outcome.applications) == 1:
            alone[_place(run, 0)] = run
    rows = []
    for run in runs:
        if len(run.outcome.applications) < 2:
            continue
        for number, application in enumerate(run.outcome.applications):
            beside = alone.get(_place(run, number))
            if beside is None:
                continue
            own = beside.outcome.applications[0]
            rows.append(
                {
                    "run": run.name,
                    "application": application.name,
                    "alone": beside.name,
                    "elapsed": _ratio(application.elapsed_s, own.elapsed_s),
                    "communication": _ratio(_mean(application.communication_s), _mean(own.communication_s)),
                    "I/O": _ratio(_mean(application.io_s), _mean(own.io_s)),
                    "mean latency": _ratio(application.message_latency.mean_s, own.message_latency.mean_s),
                    "maximum latency": _ratio(application.message_latency.max_s, own.message_latency.max_s),
                }
            )
    return rows


def _place(run: Run, number: int) -> str:
    """What makes two runs of an application comparable: all of the scenario but the other applications."""
    rest = {name: value for name, value in run.scenario.items() if name != "application"}
    return json.dumps([rest, run.scenario["application"][number]], sort_keys=True, default=str)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ratio(value: float, other: float) -> float | None:
    return value / other if other > 0 else None


def _charts(runs: Sequence[Run]) -> Iterator[tuple[str, str, Figure]]:
    note = "From least to largest, with the quartiles; the triangle is the mean."
    for name in dict.fromkeys(application.name for run in runs for application in run.outcome.applications):
        found = [(run.name, each) for run in runs for each in run.outcome.applications if each.name == name]
        latency = [(label, charts.Box.of_distribution(each.message_latency).scaled(1e6)) for label, each in found]
        yield f"{name}: message latency", note, charts.boxes(latency, "latency / µs", decades=True)
        for title, times in _OF_RANKS:
            if any(value > 0 for _, each in found for value in times(each)):
                each_rank = [(label, charts.Box.of(times(each)).scaled(1e3)) for label, each in found]
                yield f"{name}: {title} of its ranks", note, charts.boxes(each_rank, "time / ms")
    if not any(run.outcome.applications for run in runs):
        packets = [(run.name, run.outcome.packet_latency) for run in runs]
        latency = [(name, charts.Box.of_distribution(each).scaled(1e6)) for name, each in packets if each is not None]
        if latency:
            yield "Packet latency", note, charts.boxes(latency, "latency / µs", decades=True)
    yield from _of_links(runs)


_OF_RANKS: tuple[tuple[str, Callable[[Application], Sequence[float]]], ...] = (
    ("communication time", lambda application: application.communication_s),
    ("I/O time", lambda application: application.io_s),
)


def _of_links(runs: Sequence[Run]) -> Iterator[tuple[str, str, Figure]]:
    for kind in _KINDS:
        traffic = [
            (run.name, np.array([link.bytes for link in run.outcome.links if link.kind == kind]) / 1e6) for run in runs
        ]
        yield f"Traffic of {kind} links", "", charts.cumulative(traffic, "traffic / MB")
    for kind in _KINDS:
        saturated = [
            (run.name, np.array([link.saturated_s for link in run.outcome.links if link.kind == kind]) * 1e3)
            for run in runs
        ]
        yield (
            f"Saturation of {kind} links",
            "How long packets waited for room behind a link.",
            charts.cumulative(saturated, "saturation / ms"),
        )
    for run in runs[:_MAPS_MOST]:
        timeline = run.outcome.timeline
        moved = [(kind, np.array(getattr(timeline, f"{kind}_bytes"), dtype=float)) for kind in ("terminal", *_KINDS)]
        yield (
            f"{run.name}: traffic over time",
            "What routers sent.",
            charts.traffic_over_time(moved, timeline.interval_s),
        )
    between = np.array([pair for run in runs for pair in charts.busiest(run.outcome.links).values()]).reshape(-1, 2)
    heats = charts.Heat.of(between[:, 0]), charts.Heat.of(between[:, 1])
    for run in runs[:_MAPS_MOST]:
        routers = 1 + max(
            (max(link.source, link.target) for link in run.outcome.links if link.kind != "terminal"), default=0
        )
        figure = charts.link_map(run.outcome.links, positions(run.scenario.get("network", {}), routers), *heats)
        left_out = f" The first {_MAPS_MOST} of {len(runs)} runs are drawn." if len(runs) > _MAPS_MOST else ""
        yield (
            f"{run.name}: links on the topology",
            f"Hover over a router; colours are the same for all runs.{left_out}",
            figure,
        )


def _applications(runs: Sequence[Run]) -> dict[str, Any]:
    columns = [
        "run",
        "application",
        "elapsed / ms",
        "communication / ms",
        "I/O / ms",
        "compute / ms",
        "messages",
        "bytes",
    ]
    columns += [f"latency {name} / µs" for name in ("mean", "median", "p99", "max")]
    rows = []
    for run in runs:
        for each in run.outcome.applications:
            found = each.message_latency
            times = (each.elapsed_s, _mean(each.communication_s), _mean(each.io_s), _mean(each.compute_s))
            latency = (found.mean_s, found.median_s, found.p99_s, found.max_s)
            counts = (each.messages_sent, each.bytes_sent)
            rows.append([run.name, each.name, *(1e3 * t for t in times), *counts, *(1e6 * t for t in latency)])
    return {
        "title": "Applications (communication, I/O and compute are means over ranks)",
        "columns": columns,
        "rows": rows,
    }


def _network(runs: Sequence[Run]) -> dict[str, Any]:
    found = [
        (run.name, {row["quantity"]: row["value"] for row in run.outcome.rows() if row["application"] == "network"})
        for run in runs
    ]
    columns = list(dict.fromkeys(quantity for _, row in found for quantity in row))
    return {
        "title": "Network",
        "columns": ["run", *columns],
        "rows": [[name, *(row.get(c) for c in columns)] for name, row in found],
    }
