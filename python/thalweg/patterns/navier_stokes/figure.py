"""The figure of the pattern `navier-stokes`: true and predicted field, their difference, and the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def draw(arrays: Path, target: Path, *, interval: float, persistence_error: float) -> None:
    """Draw the file that the trainer wrote (`arrays`) as a PNG.

    Parameters
    ----------
    interval : float
        Time that the surrogate predicts over.
    persistence_error : float
        Relative error of predicting no change, drawn as a line into the loss curve.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with np.load(arrays) as file:
        true, predicted, loss = file["true"], file["predicted"], file["loss"]
        error = float(file["shown_error"])
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.15])
    largest = float(np.abs(true).max())
    difference = predicted - true
    widest = float(np.abs(difference).max())
    fields: list[tuple[str, Any, float]] = [
        ("true vorticity", true, largest),
        ("predicted vorticity", predicted, largest),
        (f"difference (relative L2 {error:.1%})", difference, widest),
    ]
    for axis, (title, field, limit) in zip(axes, fields, strict=False):
        image = axis.imshow(
            field, origin="lower", extent=(0, 2 * np.pi, 0, 2 * np.pi), cmap="RdBu_r", vmin=-limit, vmax=limit
        )
        axis.set(title=title, xlabel="x (domain length 2π)", xticks=[0, np.pi, 2 * np.pi], yticks=[0, np.pi, 2 * np.pi])
        axis.set_xticklabels(["0", "π", "2π"])
        axis.set_yticklabels(["0", "π", "2π"])
        figure.colorbar(image, ax=axis, shrink=0.8, label="ω (1 / time unit)")
    axes[0].set_ylabel("y")
    axes[3].semilogy(np.arange(1, len(loss) + 1), loss, lw=0.8, color="tab:blue", label="training loss")
    axes[3].axhline(persistence_error, color="tab:red", ls="--", lw=1, label="predicting no change")
    axes[3].set(title="training on line", xlabel="iteration", ylabel="relative L2 error of a batch")
    axes[3].grid(alpha=0.3, which="both")
    axes[3].legend()
    figure.suptitle(f"An unseen flow, predicted over {interval:.2f} time units")
    figure.savefig(target, dpi=110)
