"""The figure of ``bench transport``: write and read throughput by size as in the paper's figure 3, and latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: (operation, title) of each panel.
_PANELS = (("put", "Write"), ("get_into", "Read into an array"), ("latency", "Put to consumer"))
_COLOURS = {
    "thalweg": "#0b5fa5",
    "thalweg-serve": "#4a9bd9",
    "thalweg-datastore": "#7cc0ec",
    "node-local": "#2a9d5c",
    "filesystem": "#8a6d1f",
    "redis": "#c8342f",
    "iceoryx2": "#7a3fa0",
    "iceoryx2-event": "#b58ad0",
    "mpich": "#444444",
    "zeromq": "#e07b00",
    "lmdb": "#0f8f8f",
}


def draw(rows: list[dict[str, Any]], limits: dict[str, Any], path: Path) -> Path:
    """Draw throughput in GB/s and latency in µs against the size in bytes, one line a contender, both axes logarithmic.

    Returns
    -------
    Path
        The PNG that was written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from thalweg.sizes import format_size

    figure = Figure(figsize=(15, 5.4), layout="constrained", dpi=110)
    sizes = sorted({row["size_bytes"] for row in rows})
    for axes, (operation, title) in zip(figure.subplots(1, 3), _PANELS, strict=True):
        latency = operation == "latency"
        for name in dict.fromkeys(row["backend"] for row in rows):
            points = [
                (row["size_bytes"], row["median_s"] * 1e6 if latency else row["bytes_per_s"] / 1e9)
                for row in rows
                if row["backend"] == name and row["operation"] == operation
            ]
            own = name.startswith("thalweg")
            axes.plot(
                *zip(*sorted(points), strict=True) if points else ([], []),
                marker="o" if own else "s",
                markersize=4.5 if own else 3.5,
                linewidth=2.4 if own else 1.3,
                color=_COLOURS.get(name),
                label=name,
                zorder=3 if own else 2,
            )
        if not latency:
            line = [(limit["size_bytes"], limit["bytes_per_s"] / 1e9) for limit in limits["memcpy"]]
            axes.plot(*zip(*line, strict=True), color="black", linestyle="--", linewidth=1, label="memcpy, same run")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(FixedLocator(_apart(sizes)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(round(value)).replace(" ", "")))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.tick_params(axis="x", labelrotation=45, labelsize=8)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_xlabel("size of the array")
        axes.set_ylabel("latency / µs" if latency else "throughput / (GB/s)")
        axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def _apart(sizes: list[int]) -> list[int]:
    """Those sizes whose names do not run into each other on a logarithmic axis."""
    shown: list[int] = []
    for size_bytes in sizes:
        if not shown or size_bytes > 1.5 * shown[-1]:
            shown.append(size_bytes)
    return shown
