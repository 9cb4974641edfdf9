"""The figures of ``bench staging``: bars as in the paper, a panel for the writer and one for each reader."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]

_COLOURS = {
    "rad": "#8a8a8a",
    "rasar": "#e07b00",
    "rasia": "#7cc0ec",
    "sahr": "#0b5fa5",
    "homogeneous": "#2a9d5c",
    "binary-files": "#c8342f",
    "parallel-hdf5": "#7a3fa0",
}
_NAMES = {
    "rad": "RAD",
    "rasar": "RASAR",
    "rasia": "RASIA",
    "sahr": "SAHR",
    "homogeneous": "staging, same layout",
    "binary-files": "C++ binary files",
    "parallel-hdf5": "parallel HDF5",
}
#: What a figure varies: the field of a row, and the axis's label.
_VARIED = {
    7: ("delay_s", "pause in every cycle / s"),
    8: ("servers", "servers"),
    9: ("subset", "edge d of the cube that is read / cells"),
    10: ("writers", "writers (and readers)"),
}
_TITLES = {
    7: "I/O time of a time step by the pause in every cycle",
    8: "I/O time of a time step by the number of servers",
    9: "I/O time of a time step and memory of the servers by the size of what is read",
    10: "I/O time of a time step, strong scaling",
}
_ENDINGS = (".png", ".html")


def check(path: Path) -> None:
    """Refuse a path that `draw` could not write to.

    Raises
    ------
    InvalidError
        For another ending than .png and .html, or a folder that is not there.
    """
    if path.suffix not in _ENDINGS:
        raise InvalidError(f"bench staging: --out {path} ends in {path.suffix!r}; accepted are .png and .html")
    if not path.absolute().parent.is_dir():
        raise InvalidError(f"bench staging: --out: no folder {path.absolute().parent}; make it first")


def draw(rows: list[Row], path: Path) -> Path:
    """Draw the figure that the rows are of; an .html file has the table too, and needs no other file.

    Returns
    -------
    Path
        What was written.
    """
    figure = _figure(rows)
    if path.suffix == ".png":
        figure.savefig(path, dpi=100)
        return path
    svg = io.StringIO()
    figure.savefig(svg, format="svg")
    picture = svg.getvalue()
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    path.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Staging</title>"
        "<style>body{font:14px sans-serif;margin:2em}svg{max-width:100%;height:auto}"
        "td,th{padding:.2em .8em;text-align:right}tr:nth-child(even){background:#f4f4f4}</style>"
        f"<h1>Staging</h1>{picture[picture.index('<svg') :]}<table><tr>{head}</tr>{body}</table></html>\n"
    )
    return path


def _figure(rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    number = rows[0]["figure"]
    first, second = ([row for row in rows if row["reader"] == which] for which in ("first", "second"))
    panels = [("Writer", first, "write"), ("First reader", first, "read"), ("Second reader", second, "read")]
    count = len(panels) + (number == 9)
    figure = Figure(figsize=(4.1 * count, 4.3), layout="constrained")
    all_axes = figure.subplots(1, count)
    for axes, (title, shown, what) in zip(all_axes[: len(panels)], panels, strict=True):
        _bars(axes, shown, lambda row, what=what: row[f"{what}_s"] * 1e3, what)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_title(title, loc="left", fontweight="bold")
    all_axes[0].set_ylabel("time of a step / ms")
    if number == 9:
        _bars(all_axes[-1], second, lambda row: row["server_memory_bytes"] / row["data_bytes"], None)
        all_axes[-1].set_title("Memory of the servers", loc="left", fontweight="bold")
        all_axes[-1].set_ylabel("multiple of the data")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    domain = "×".join(map(str, rows[0]["domain"]))
    figure.suptitle(
        f"{_TITLES[number]}, {domain} doubles (median; lines: least to most)", fontsize=10, x=0.01, ha="left"
    )
    return figure


def _bars(axes: Axes, rows: list[Row], height: Any, what: str | None) -> None:
    """A group of bars a value of what the figure varies, a bar a strategy."""
    field, label = _VARIED[rows[0]["figure"]]
    values = sorted({row[field] for row in rows})
    strategies = list(dict.fromkeys(row["strategy"] for row in rows))
    width = 0.84 / len(strategies)
    for place, strategy in enumerate(strategies):
        mine = [row for row in rows if row["strategy"] == strategy]
        at = [values.index(row[field]) + (place - (len(strategies) - 1) / 2) * width for row in mine]
        axes.bar(at, [height(row) for row in mine], width, color=_COLOURS[strategy], label=_NAMES[strategy])
        if what is not None:
            least, most = ([row[f"{what}_{end}_s"] * 1e3 for row in mine] for end in ("least", "most"))
            axes.vlines(at, least, most, color="black", linewidth=0.8)
    axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axes.set_xlabel(label)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return "×".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else "–" if value is None else str(value)
