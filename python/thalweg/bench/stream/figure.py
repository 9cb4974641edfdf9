"""The figure of ``bench stream``: a row of panels a language; production, consumption, latency; a bar a system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.sizes import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]

_COLOURS = {
    "thalweg": "#0b5fa5",
    "thalweg-memory": "#3f9bd8",
    "thalweg-files": "#7cc0ec",
    "kafka": "#444444",
    "redis": "#c8342f",
    "zeromq": "#e07b00",
}
_OTHERS = ("#2a9d5c", "#7a3fa0", "#8a6d1f", "#0f8f8f")
_LANGUAGES = {"native": "Native clients", "python": "Clients in Python"}
_CASE = ("event_bytes", "data_bytes", "partitions", "durability")


def draw(rows: list[Row], limits: dict[str, Any], path: Path) -> Path:
    """Draw events a second beside what an append and a read of the same bytes reach, and latency with its 99th part.

    Returns
    -------
    Path
        The PNG that was written.
    """
    from matplotlib.figure import Figure

    languages = list(dict.fromkeys(row["language"] for row in rows))
    figure = Figure(figsize=(15, 0.9 + 3.9 * len(languages)), layout="constrained", dpi=100)
    grid = figure.subplots(len(languages), 3, squeeze=False)
    for line, language in zip(grid, languages, strict=True):
        mine = [row for row in rows if row["language"] == language]
        name = _LANGUAGES.get(language, language)
        _throughput(line[0], mine, "produce", f"{name}: produce", limits, "append")
        _throughput(line[1], mine, "consume", f"{name}: consume", limits, "read")
        _latency(line[2], mine, f"{name}: push to pull")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.suptitle(_title(rows), fontsize=10, x=0.01, ha="left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def _throughput(axes: Axes, rows: list[Row], operation: str, title: str, limits: dict[str, Any], limit: str) -> None:
    shown = [row for row in rows if row["operation"] == operation]
    cases = _bars(axes, shown, lambda row: row["events_per_s"])
    for place, case in enumerate(cases):
        found = next(one for one in limits["cases"] if tuple(one[field] for field in _CASE) == case)
        most = found[f"{limit}_bytes_per_s"] / (found["event_bytes"] + found["data_bytes"])
        label = "file append, sequential read" if place == 0 else "_"  # once in the legend
        axes.hlines(most, place - 0.45, place + 0.45, color="black", linestyle="--", linewidth=1, label=label)
    _finish(axes, title, "events / s")


def _latency(axes: Axes, rows: list[Row], title: str) -> None:
    shown = [row for row in rows if row["operation"] == "latency"]
    if not shown:
        axes.set_axis_off()
        return
    _bars(axes, shown, lambda row: row["median_s"] * 1e6, lambda row: row["p99_s"] * 1e6)
    _finish(axes, title, "latency / µs (median; line: to p99)")


def _bars(
    axes: Axes, rows: list[Row], height: Callable[[Row], float], top: Callable[[Row], float] | None = None
) -> list[tuple[Any, ...]]:
    """A group of bars a case, a bar a system; returns the cases in their order."""
    cases = list(dict.fromkeys(tuple(row[field] for field in _CASE) for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    others = iter(_OTHERS * len(systems))
    width = 0.84 / len(systems)
    for place, system in enumerate(systems):
        mine = [row for row in rows if row["system"] == system]
        at = [
            cases.index(tuple(row[field] for field in _CASE)) + (place - (len(systems) - 1) / 2) * width for row in mine
        ]
        bars = axes.bar(at, list(map(height, mine)), width, color=_COLOURS.get(system) or next(others), label=system)
        inside = {"color": "white", "padding": -9} if top else {"padding": 1}
        labels = axes.bar_label(bars, [_short(height(row)) for row in mine], fontsize=7, **inside)
        if top is None:  # a limit's line may go through them
            for label in labels:
                label.set(bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3}, zorder=5)
        if top is not None:
            axes.vlines(at, list(map(height, mine)), list(map(top, mine)), color="black", linewidth=0.8)
    axes.set_xticks(range(len(cases)), [_label(case, rows) for case in cases])
    return cases


def _finish(axes: Axes, title: str, label: str) -> None:
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_ylabel(label)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(case: tuple[Any, ...], rows: list[Row]) -> str:
    """What tells a case from the others."""
    event_bytes, data_bytes, partitions, durability = case
    parts = [format_size(event_bytes)]
    if data_bytes:
        parts.append(f"+ {format_size(data_bytes)}")
    if len({row["partitions"] for row in rows}) > 1:
        parts.append(f"\n{partitions} partition{'s' if partitions > 1 else ''}")
    if len({row["durability"] for row in rows}) > 1:
        parts.append(f"\n{durability}")
    return " ".join(parts)


def _title(rows: list[Row]) -> str:
    said = ["Streams: one producer, one consumer, a server"]
    for field, word in (("partitions", "partitions"), ("durability", "durability")):
        values = {row[field] for row in rows}
        if len(values) == 1:
            said.append(f"{word} {values.pop()}")
    return ", ".join([*said, f"median of {max(row['rounds'] for row in rows)} rounds"])


def _short(value: float) -> str:
    """Three digits, with k or M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"
