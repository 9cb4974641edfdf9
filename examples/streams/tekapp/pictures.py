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
    panels[3].set_ylim(0, 1.25 * max(window[word]["rmse"] for window in windows for word in ("sirt", "den")))
    panels[3].grid(True, color="#dddddd", linewidth=0.7)
    panels[3].spines[["top", "right"]].set_visible(False)
    panels[3].legend(frameon=False)
    figure.savefig(path)


def draw_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw median and mean of what an event costs, a group of bars a component."""
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=100)
    axes = figure.subplots()
    components = list(dict.fromkeys(row["component"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    width = 0.8 / len(systems)
    for place, system in enumerate(systems):
        mine = [row for row in rows if row["system"] == system]
        at = np.arange(len(mine)) + (place - (len(systems) - 1) / 2) * width
        medians, means = [row["median_us"] for row in mine], [row["mean_us"] for row in mine]
        bars = axes.bar(at, medians, width, color=_COLOURS[system], label=system)
        axes.bar_label(bars, [short(value) for value in medians], fontsize=8, color="white", padding=-11)
        label = "mean, of producers with the flush" if place == 0 else "_"  # once in the legend
        axes.hlines(means, at - 0.45 * width, at + 0.45 * width, color="black", linewidth=1.5, label=label)
    axes.set_xticks(range(len(components)), components)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, 4 * high)  # the legend's room
    axes.yaxis.set_major_formatter(lambda value_us, _: short(value_us))
    axes.set_ylabel("median of an event")
    axes.set_title(
        "Producers [P]: push. Consumers [C]: pull, with the wait for what is not there yet.",
        loc="left",
        fontsize=10,
    )
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", ncols=1 + len(systems))
    figure.savefig(path)


def short(value_us: float) -> str:
    """Return a time of three digits at most, in the unit that suits it."""
    for unit, microseconds in (("s", 1e6), ("ms", 1e3)):
        if value_us >= 0.9995 * microseconds:
            return f"{three(value_us / microseconds)} {unit}"
    return f"{three(value_us)} µs"


def three(value: float) -> str:
    """Return a number rounded to three digits, without a power of ten."""
    return f"{float(f'{value:.3g}'):.12g}"
