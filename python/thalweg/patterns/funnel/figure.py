"""The figure of the pattern `funnel`: what the surrogate found, beside what chance would have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def draw_search(rounds: Sequence[dict[str, float]], target: Path) -> None:
    """Draw how many of the best candidates were found, and the best score, by the number of simulations."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    found, score = figure.subplots(1, 2)
    simulated = [entry["simulated"] for entry in rounds]
    found.plot(simulated, [entry["found"] for entry in rounds], "o-", label="steered by the surrogate")
    found.plot(simulated, [entry["by_chance"] for entry in rounds], "--", color="gray", label="expected by chance")
    found.set(xlabel="candidates simulated", ylabel=f"found of the {rounds[0]['of']:g} best", title="Best 1 % found")
    found.legend()
    score.plot(simulated, [entry["best"] for entry in rounds], "s-", color="tab:green")
    score.set(xlabel="candidates simulated", ylabel="score (lower is better)", title="Best score so far")
    for axis in (found, score):
        axis.grid(alpha=0.3)
    figure.savefig(target, dpi=110)
