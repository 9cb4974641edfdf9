"""The figure of ``bench ensemble``, as figures 3 and 4 of the paper: data-transfer time against processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]

#: (transport, replay) → (name, colour, marker)
_LINES: dict[tuple[str, bool | None], tuple[str, str, str]] = {
    ("redirect", True): ("redirect, replay", "#0b5fa5", "o"),
    ("redirect", False): ("redirect, no replay", "#7cc0ec", "o"),
    ("staging", None): ("staging service", "#2a9d5c", "D"),
    ("pnetcdf-tmpfs", None): ("PnetCDF files on tmpfs", "#e07b00", "s"),
    ("pnetcdf-disk", None): ("PnetCDF files on disk", "#c8342f", "^"),
}


def check(path: Path) -> None:
    """Refuse a path that `draw` could not write to.

    Raises
    ------
    InvalidError
        For another ending than .png, or a folder that is not there.
    """
    if path.suffix != ".png":
        raise InvalidError(f"bench ensemble: --figure {path} ends in {path.suffix!r}; accepted is .png")
    if not path.absolute().parent.is_dir():
        raise InvalidError(f"bench ensemble: --figure: no folder {path.absolute().parent}; make it first")


def draw(rows: list[Row], limits: dict[str, float], path: Path) -> Path:
    """Draw a panel for each number of processes an ensemble, a line for each transport; both axes are logarithmic.

    Returns
    -------
    Path
        The PNG that was written.
    """
    from matplotlib.figure import Figure

    panels = sorted({tuple(row["grid"]) for row in rows}, key=lambda grid: (-grid[0] * grid[1], grid))
    figure = Figure(figsize=(max(6.4, 4.6 * len(panels)), 4.8), layout="constrained", dpi=110)
    all_axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (px, py) in zip(all_axes, panels, strict=True):
        _panel(axes, [row for row in rows if row["grid"] == [px, py]], limits)
        title = f"2 × {px * py} processes an ensemble ({px} × {py})"
        axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    all_axes[0].set_ylabel("data-transfer time of a cycle / s")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False, fontsize=9)
    figure.suptitle(
        f"Data exchange of SCALE and LETKF, preset {rows[0]['preset']} (median; bars: least to most)",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    figure.savefig(path)
    return path


def _panel(axes: Axes, rows: list[Row], limits: dict[str, float]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    totals = sorted({row["total_processes"] for row in rows})
    for key, (name, colour, marker) in _LINES.items():
        own = sorted(
            (row for row in rows if (row["transport"], row["replay"]) == key), key=lambda row: row["total_processes"]
        )
        if own:
            low, high = (
                [abs(row[f"transfer_{end}_s"] - row["transfer_s"]) for row in own] for end in ("least", "most")
            )
            axes.errorbar(
                [row["total_processes"] for row in own],
                [row["transfer_s"] for row in own],
                yerr=(low, high),
                label=name,
                color=colour,
                marker=marker,
                markersize=4.5,
                linewidth=2.0 if key[0] == "redirect" else 1.5,
                elinewidth=0.7,
            )
    moved = {row["total_processes"]: row["moved_bytes"] / limits["memcpy_bytes_per_s"] for row in rows}
    axes.plot(
        totals, [moved[total] for total in totals], "--", color="black", linewidth=1, label="memcpy of what is asked"
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(totals)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("processes of both components")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
