"""The report of simulated runs, one or many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.report import simulated_charts as charts
from thalweg.report.charts import fragment
from thalweg.report.page import write_page
from thalweg.report.run_labels import told_apart
from thalweg.report.simulated_facts import fidelity, shared
from thalweg.report.simulated_tables import tables
from thalweg.report.topology_layout import Layout

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from thalweg.simulator.outcome import Application, Link
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

    what, labels = told_apart([run.name for run in runs])
    short = [replace(run, name=label) for run, label in zip(runs, labels, strict=True)]
    drawn = _charts(short, what)
    shown = [{"title": title, "note": note, "html": Markup(fragment(figure))} for title, note, figure in drawn]
    results = tables(short, what)
    beside = interference(short)
    if beside:
        results.insert(0, {"title": "Beside the same application alone", "note": "", "columns": list(beside[0]),
                           "rows": [list(row.values()) for row in beside]})  # fmt: skip
    return write_page(
        "simulated.html.j2",
        target,
        {
            "name": runs[0].name if len(runs) == 1 else f"{len(runs)} runs{what and f' by {what}'}",
            "facts": {"fidelity": ", ".join(dict.fromkeys(map(fidelity, runs))), **shared(runs)[0]},
            "charts": shown,
            "tables": results,
            "scenarios": [(run.name, json.dumps(run.scenario, indent=2)) for run in runs],
        },
    )


def interference(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Rows of each application that shares its machine, beside a run where it is alone on the same nodes.

    Ratios of elapsed, communication and I/O time and of the message latency's mean and maximum; 1 is no difference.
    """
    alone = {_place(run, 0): run for run in runs if len(run.outcome.applications) == 1}
    rows = []
    for run in runs:
        if len(run.outcome.applications) < 2:
            continue
        for number, application in enumerate(run.outcome.applications):
            beside = alone.get(_place(run, number)) if _chooses_first(run, number) else None
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
    """What makes two runs of an application comparable: all of the scenario but other applications and threads."""
    rest = {name: value for name, value in run.scenario.items() if name not in ("application", "threads")}
    return json.dumps([rest, run.scenario["application"][number]], sort_keys=True, default=str)


def _chooses_first(run: Run, number: int) -> bool:
    """Whether an application has the nodes that it would have alone: those it lists, or else the first choice."""
    applications = run.scenario["application"]
    listed = [application.get("nodes") is not None for application in applications]
    return listed[number] or not (number or any(listed))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ratio(value: float, other: float) -> float | None:
    return value / other if other > 0 else None


def _charts(runs: Sequence[Run], what: str) -> Iterator[tuple[str, str, Figure]]:
    note = "From least to largest, with the quartiles; the triangle is the mean."
    of_buckets = f"{note} Quartiles are at most 3 % too long."
    for name in dict.fromkeys(application.name for run in runs for application in run.outcome.applications):
        found = [(run.name, each) for run in runs for each in run.outcome.applications if each.name == name]
        latency = [
            (label, charts.Box.of_distribution(each.message_latency).scaled(1e6))
            for label, each in found
            if each.message_latency.count
        ]
        if latency:
            yield (
                f"{name}: {_latency_of(runs, name)}",
                of_buckets,
                charts.boxes(latency, what, "latency / µs", decades=True),
            )
        for title, times in _OF_RANKS:
            if any(value > 0 for _, each in found for value in times(each)):
                each_rank = [(label, charts.Box.of(times(each)).scaled(1e3)) for label, each in found]
                yield f"{name}: {title} of its ranks", note, charts.boxes(each_rank, what, "time / ms")
    if not any(run.outcome.applications for run in runs):
        for title, start, latencies in (
            ("Message latency", _OF_MESSAGES, [(run.name, run.outcome.message_latency) for run in runs]),
            ("Packet latency", _OF_PACKETS, [(run.name, run.outcome.packet_latency) for run in runs]),
        ):
            latency = [(label, charts.Box.of_distribution(each).scaled(1e6)) for label, each in latencies if each]
            if latency:
                yield title, f"{start} {of_buckets}", charts.boxes(latency, what, "latency / µs", decades=True)
    yield from _of_links(runs)


def _latency_of(runs: Sequence[Run], name: str) -> str:
    """What it is whose latency an application has: all that crosses the network for it."""
    own = [(run, each) for run in runs for each in run.outcome.applications if each.name == name]
    if not any(_stores_afar(*one) for one in own):
        return "message latency"
    sends = any(each.messages_sent for _, each in own)
    return f"latency of {'messages and ' if sends else ''}transfers to and from storage"


def _stores_afar(run: Run, application: Application) -> bool:
    local = run.scenario.get("storage", {}).get("arrangement") == "node-local"
    return not local and any(time > 0 for time in application.io_s)


_OF_MESSAGES = "From the sending to the arrival: what waits at its interface waits in it."
_OF_PACKETS = "From the sending by the interface to the arrival."
_OF_RANKS: tuple[tuple[str, Callable[[Application], Sequence[float]]], ...] = (
    ("communication time", lambda application: application.communication_s),
    ("I/O time", lambda application: application.io_s),
)
#: What is told of the links between routers: its title, a note, the axis, and what it is of a link.
_OF_LINKS: tuple[tuple[str, str, str, Callable[[Link], float]], ...] = (
    ("Traffic", "", "traffic / MB", lambda link: link.bytes / 1e6),
    (
        "Saturation",
        "How long a link was full, so that packets waited for room behind it.",
        "saturation / ms",
        lambda link: link.saturated_s * 1e3,
    ),
)


def _of_links(runs: Sequence[Run]) -> Iterator[tuple[str, str, Figure]]:
    for title, note, axis, value in _OF_LINKS:
        for kind in _KINDS:
            found = [
                (run.name, np.array([value(link) for link in run.outcome.links if link.kind == kind])) for run in runs
            ]
            if any(values.any() for _, values in found):
                some = [(name, values) for name, values in found if len(values)]
                yield f"{title} of {kind} links", note, charts.cumulative(some, axis)
    for run in runs[:_MAPS_MOST]:
        timeline = run.outcome.timeline
        moved = [(kind, np.array(getattr(timeline, f"{kind}_bytes"), dtype=float)) for kind in ("terminal", *_KINDS)]
        yield (
            f"{run.name}: traffic over time",
            "What routers sent.",
            charts.traffic_over_time(
                [(kind, sent) for kind, sent in moved if sent.any()],
                timeline.interval_s,
                max(run.outcome.end_s, *(each.elapsed_s for each in run.outcome.applications), 0.0),
            ),
        )
    between = np.array([pair for run in runs for pair in charts.busiest(run.outcome.links).values()]).reshape(-1, 2)
    heats = charts.Heat.of(between[:, 0]), charts.Heat.of(between[:, 1])
    for run in runs[:_MAPS_MOST]:
        joined = [max(link.source, link.target) for link in run.outcome.links if link.kind != "terminal"]
        if not joined:
            continue
        layout = Layout.of(run.scenario.get("network", {}), 1 + max(joined))
        left_out = f" The first {_MAPS_MOST} of {len(runs)} runs are drawn." if len(runs) > _MAPS_MOST else ""
        yield (
            f"{run.name}: links on the topology",
            f"Hover over a router; colours are the same for all runs.{left_out}",
            charts.link_map(run.outcome.links, layout, *heats),
        )
