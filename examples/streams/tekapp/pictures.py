"""The pictures of TekApp: phantom, reconstruction, denoised slice; what an event costs each component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tekapp.phantom import Array

_COLOURS = {"stream": "#0b5fa5", "zeromq": "#e07b00"}


def draw_images(truth: Array, found: Array, smooth: Array, windows: list[dict[str, Any]], path: Path) -> None:
    """Draw the middle slice as it is, as SIRT and as DEN have it, and the error after each window of projections."""
    figure = Figure(figsize=(15, 4.1), layout="constrained", dpi=100)
    panels = figure.subplots(1, 4)
    last = windows[-1]
    titles = ("Phantom", f"SIRT: {last['sirt']['psnr_db']:.1f} dB", f"Denoised: {last['den']['psnr_db']:.1f} dB")
    for axes, title, volume in zip(panels[:3], titles, (truth, found, smooth), strict=True):
        axes.imshow(volume[len(volume) // 2], cmap="gray", vmin=0, vmax=0.5, origin="lower")
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_axis_off()
    seen = [window["projections"] for window in windows]
    for word, colour in (("sirt", "#444444"), ("den", "#0b5fa5")):
        panels[3].plot(seen, [window[word]["rmse"] for window in windows], "o-", color=colour, label=word.upper())
    panels[3].set_title("Error as projections arrive", loc="left", fontweight="bold")
    panels[3].set_xlabel("projections")
    panels[3].set_ylabel("RMSE of all slices")
    panels[3].set_ylim(bottom=0)
    panels[3].grid(True, color="#dddddd", linewidth=0.7)
    panels[3].spines[["top", "right"]].set_visible(False)
    panels[3].legend(frameon=False)
    figure.savefig(path)


def draw_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the mean cost of an event in µs, a group of bars a component; a line goes from the least to the median."""
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=100)
    axes = figure.subplots()
    components = list(dict.fromkeys(row["component"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    width = 0.8 / len(systems)
    for place, system in enumerate(systems):
        mine = [row for row in rows if row["system"] == system]
        at = np.arange(len(mine)) + (place - (len(systems) - 1) / 2) * width
        bars = axes.bar(at, [row["mean_us"] for row in mine], width, color=_COLOURS[system], label=system)
        axes.bar_label(bars, [f"{row['mean_us']:.3g}" for row in mine], fontsize=8, padding=1)
    axes.set_xticks(range(len(components)), components)
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_ylabel("mean of an event / µs")
    axes.set_title(
        "Producers [P]: push, and flush after the last. Consumers [C]: pull, the wait for work with it.",
        loc="left",
        fontsize=10,
    )
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)
