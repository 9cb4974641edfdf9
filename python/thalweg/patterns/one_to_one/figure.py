"""The figures of the pattern `one-to-one`: the paper's figures 2 and 4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thalweg.results import ResultTable


def draw_sizes(table: ResultTable, target: Path, *, iteration_s: float, backend: str) -> None:
    """Draw transport time by message size beside the time of a solver iteration."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    sizes = [row[0] / 1e6 for row in table.rows]
    axis.loglog(sizes, [row[1] * 1e3 for row in table.rows], "o-", label="write")
    axis.loglog(sizes, [row[2] * 1e3 for row in table.rows], "s-", label="read")
    axis.axhline(iteration_s * 1e3, color="black", ls="--", lw=1, label="one solver iteration")
    axis.set(title=f"Transport against compute time, backend {backend}", xlabel="message size (MB)", ylabel="time (ms)")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.savefig(target, dpi=110)


def draw_timeline(events: Any, target: Path, *, backend: str) -> None:
    """Draw what solver and trainer did, with each transfer as a mark."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    bars: dict[tuple[str, str], list[tuple[float, float]]] = {}
    columns = ("component", "kind", "key", "start_ns", "end_ns")
    for component, kind, key, start, end in zip(*(events.column(c).to_pylist() for c in columns), strict=True):
        if component in ("solver", "trainer") and (kind in ("init", "compute", "train") or key.startswith("snapshot/")):
            bars.setdefault((component, kind), []).append((start * 1e-9, (end - start) * 1e-9))
    rows = {"trainer": 0, "solver": 1}
    colours = {"init": "tab:gray", "compute": "tab:blue", "train": "tab:green"}
    named: set[str] = set()
    for (component, kind), spans in bars.items():
        label = kind if kind not in named else "_"  # matplotlib leaves such labels out of the legend
        named.add(kind)
        if kind in colours:
            axis.broken_barh(spans, (rows[component] - 0.3, 0.6), color=colours[kind], alpha=0.6, label=label)
        elif kind in ("write", "read"):
            colour = "tab:red" if kind == "write" else "tab:orange"
            axis.vlines(
                [start for start, _ in spans], rows[component] - 0.4, rows[component] + 0.4, color=colour, label=label
            )
    axis.set(title=f"Timeline, backend {backend}", xlabel="time since the start of the run (s)", yticks=[0, 1])
    axis.set_yticklabels(["trainer", "solver"])
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=5, fontsize="small")
    figure.savefig(target, dpi=110)
