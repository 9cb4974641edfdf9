"""Figures of a sweep as interactive charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg.report.charts import panels
from thalweg.report.sweep_panels import SIZE, Drawing, Mark, Panel, Series

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MOST_ACROSS = 4


def chart(drawing: Drawing) -> Figure:
    """Draw the panels side by side, with one legend; a click in it takes a line out of all panels."""
    across = min(len(drawing.panels), _MOST_ACROSS)
    drawn = panels([panel.title for panel in drawing.panels], across, SIZE, drawing.panels[0].y)
    named: set[str] = set()
    for place, panel in enumerate(drawing.panels):
        at = {"row": place // across + 1, "col": place % across + 1}
        for line in panel.series:
            drawn.add_scatter(**_trace(line, panel), showlegend=line.name not in named, **at)
            named.add(line.name)
        if panel.reference is not None:
            height, words = panel.reference
            drawn.add_hline(
                y=height,
                line={"color": "#555555", "width": 1, "dash": "dot"},
                annotation={"text": words, "font": {"size": 11, "color": "#555555"}},
                annotation_position="bottom right",
                **at,
            )
    sizes = drawing.ticks_mb
    kind = "log" if drawing.logarithmic else "linear"
    drawn.update_xaxes(type="log", range=drawing.x_range, tickvals=sizes, ticktext=[f"{size:g}" for size in sizes])
    drawn.update_yaxes(type=kind, range=drawing.y_range, tickformat="~g")
    if drawing.logarithmic:
        drawn.update_yaxes(dtick=1 if drawing.y_range[1] - drawing.y_range[0] > 2 else "D2")
    return drawn


def _trace(line: Series, panel: Panel) -> dict[str, Any]:
    medians = [mark.spread.median for mark in line.marks]
    return {
        "x": [mark.size_mb for mark in line.marks],
        "y": medians,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [mark.spread.most - mark.spread.median for mark in line.marks],
            "arrayminus": [mark.spread.median - mark.spread.least for mark in line.marks],
            "visible": any(mark.spread.most > mark.spread.least for mark in line.marks),
            "thickness": 1.2,
            "width": 4,
        },
        "mode": "lines+markers",
        "name": line.name,
        "legendgroup": line.name,
        "line": {"color": line.colour, "width": 2, "dash": "dash" if line.dashed else "solid"},
        "marker": {"size": 7},
        "text": [_told(line, panel, mark) for mark in line.marks],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _told(line: Series, panel: Panel, mark: Mark) -> str:
    """All that a reader who sees one point alone needs."""
    median, least, most = mark.spread
    words = [f"<b>{line.name}</b> · {panel.title}", f"{mark.size_mb:g} MB: {median:.4g} {panel.unit}"]
    if most > least:
        words.append(f"{least:.4g} to {most:.4g} {panel.unit} over the runs")
    return "<br>".join([*words, mark.rests_on])
