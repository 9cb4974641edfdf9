"""The figure of the pattern `one-to-one`: the paper's figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw_timeline(events: Any, target: Path, *, backend: str) -> None:
    """Draw what rank 0 of solver and trainer did, with each transfer as a mark."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    bars: dict[tuple[str, str], list[tuple[float, float]]] = {}
    columns = ("component", "rank", "kind", "key", "start_ns", "end_ns")
    for component, rank, kind, key, start, end in zip(*(events.column(c).to_pylist() for c in columns), strict=True):
        if (
            rank == 0
            and component in ("solver", "trainer")
            and (kind in ("init", "compute", "train") or key.startswith("snapshot/"))
        ):
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
