"""The figure of ``bench relayout``: a bar a permutation and contender, as a share of memcpy."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"thalweg": "#0b5fa5", "numpy": "#e07b00", "naive": "#8a8a8a"}
_MORE_THREADS = ("#4a9bd9", "#7cc0ec", "#b3dcf5")
_ENDINGS = (".png", ".html")


def check(path: Path) -> None:
    """Refuse a path that `draw` could not write to.

    Raises
    ------
    InvalidError
        For another ending than .png and .html, or a folder that is not there.
    """
    if path.suffix not in _ENDINGS:
        raise InvalidError(f"bench relayout: --out {path} ends in {path.suffix!r}; accepted are .png and .html")
    if not path.absolute().parent.is_dir():
        raise InvalidError(f"bench relayout: --out: no folder {path.absolute().parent}; make it first")


def draw(rows: list[dict[str, Any]], path: Path) -> Path:
    """Draw one panel a shape, bars grouped by permutation; an .html file has the table too, and needs no other file.

    Returns
    -------
    Path
        What was written.
    """
    figure = _figure(rows)
    if path.suffix == ".png":
        figure.savefig(path, dpi=110)
        return path
    svg = io.StringIO()
    figure.savefig(svg, format="svg")
    picture = svg.getvalue()
    fields = list(rows[0])
    head = "".join(f"<th>{html.escape(name)}</th>" for name in fields)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in fields) + "</tr>" for row in rows
    )
    path.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Relayout</title>"
        "<style>body{font:14px sans-serif;margin:2em}svg{max-width:100%;height:auto}"
        "td,th{padding:.2em .8em;text-align:right}tr:nth-child(even){background:#f4f4f4}</style>"
        f"<h1>Relayout</h1>{picture[picture.index('<svg') :]}<table><tr>{head}</tr>{body}</table></html>\n"
    )
    return path


def _figure(rows: list[dict[str, Any]]) -> Figure:
    from matplotlib.figure import Figure

    shapes = list(dict.fromkeys(tuple(row["shape"]) for row in rows))
    contenders = list(dict.fromkeys((row["implementation"], row["threads"]) for row in rows))
    shown = [one for one in contenders if one[0] != "memcpy"] or contenders
    figure = Figure(figsize=(max(6.0, 5.0 * len(shapes)), 4.6), layout="constrained")
    panels = figure.subplots(1, len(shapes), squeeze=False, sharey=True)[0]
    for axes, shape in zip(panels, shapes, strict=True):
        here = [row for row in rows if tuple(row["shape"]) == shape]
        names = list(dict.fromkeys("".join(map(str, row["permutation"])) for row in here))
        width = 0.84 / len(shown)
        for place, (implementation, threads) in enumerate(shown):
            heights = [
                row["of_memcpy"] for row in here if (row["implementation"], row["threads"]) == (implementation, threads)
            ]
            more = [one for one in shown if one[0] == implementation].index((implementation, threads))
            axes.bar(
                [at + (place - (len(shown) - 1) / 2) * width for at in range(len(names))],
                heights,
                width,
                color=_COLOURS.get(implementation) if more == 0 else _MORE_THREADS[(more - 1) % len(_MORE_THREADS)],
                label=implementation + (f", {threads} threads" if threads > 1 else ""),
            )
        axes.axhline(1.0, color="black", linestyle="--", linewidth=1, label="memcpy, same round and threads")
        axes.set_xticks(range(len(names)), names, rotation=90 if len(names) > 12 else 0)
        axes.set_title(f"{'×'.join(map(str, shape))} {here[0]['dtype']}", loc="left", fontweight="bold")
        axes.set_xlabel("permutation of the axes")
        axes.grid(True, axis="y", color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("speed as a share of memcpy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=min(len(labels), 2 * len(shapes)), frameon=False, fontsize=9
    )
    return figure


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
