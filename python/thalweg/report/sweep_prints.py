"""Figures of a sweep as files for a paper: PNG, and SVG that can be scaled."""

from __future__ import annotations

from pathlib import Path

from thalweg.report.sweep_panels import SIZE, Drawing

_PANEL_INCHES = (4.2, 3.4)
_MOST_ACROSS = 4


def print_figure(drawing: Drawing, target: Path) -> list[Path]:
    """Write ``target.png`` and ``target.svg``; each replaces an earlier one at once.

    Returns
    -------
    list of Path
        The files.
    """
    from matplotlib.figure import Figure

    count = len(drawing.panels)
    across = min(count, _MOST_ACROSS)
    down = -(-count // across)
    width, height = _PANEL_INCHES
    drawn = Figure(figsize=(width * across, height * down + 0.4), layout="constrained", dpi=150)
    grid = drawn.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    handles = {}
    for axes, panel in zip(grid[:count], drawing.panels, strict=True):
        for line in panel.series:
            medians = [mark.spread.median for mark in line.marks]
            below = [mark.spread.median - mark.spread.least for mark in line.marks]
            above = [mark.spread.most - mark.spread.median for mark in line.marks]
            handles[line.name] = axes.errorbar(
                [mark.size_mb for mark in line.marks],
                medians,
                yerr=(below, above) if any(below) or any(above) else None,
                color=line.colour,
                linestyle="--" if line.dashed else "-",
                linewidth=1.8,
                marker="o",
                markersize=4.5,
                capsize=3,
            )
        if panel.reference is not None:
            position, words = panel.reference
            axes.axhline(position, color="#555555", linewidth=1, linestyle=":")
            axes.text(0.99, position, words, transform=axes.get_yaxis_transform(), ha="right", va="top", fontsize=8)
        axes.set_title(panel.title, fontsize=10, loc="left")
        axes.tick_params(labelbottom=True)  # also where no panel is below
        axes.grid(True, color="#dddddd", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[count:]:
        axes.set_visible(False)
    _scale(grid[0], drawing)
    drawn.supxlabel(SIZE, fontsize=10)
    drawn.supylabel(drawing.panels[0].y, fontsize=10)
    drawn.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=6, frameon=False, fontsize=9)
    files = []
    for kind in ("png", "svg"):
        file = target.with_name(f"{target.name}.{kind}")
        partial = file.with_name(f"{file.name}.partial")
        # without a date, so that the same results give the same file
        drawn.savefig(partial, format=kind, metadata={"Date": None} if kind == "svg" else None)
        partial.replace(file)
        files.append(file)
    return files


def _scale(axes: object, drawing: Drawing) -> None:
    """Set the axes that all panels share."""
    from matplotlib.axes import Axes
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    assert isinstance(axes, Axes)
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    low, high = drawing.x_range
    axes.set_xscale("log")
    axes.set_xlim(10**low, 10**high)
    axes.xaxis.set_major_locator(FixedLocator(drawing.ticks_mb))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(plain)
    low, high = drawing.y_range
    if drawing.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(10**low, 10**high)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high - low > 2 else (1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(plain)
