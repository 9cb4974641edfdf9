"""Interactive charts of events: throughput, latency percentiles, iteration times, timeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from thalweg.report.recorded import TRANSPORT, Events

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: A chart with more marks than this is slow in a browser; what is left out is said beside it.
MOST_MARKS = 20_000

PALETTE = ("#0b5fa5", "#d1611f", "#2a9d5c", "#7a3fa0", "#c8342f", "#0f8f8f", "#8a6d1f", "#555555")
KIND_COLOURS = {
    "init": "#b8bec7",
    "compute": "#8fb8de",
    "train": "#a8d5ba",
    "infer": "#c9b6e4",
    "write": "#c8342f",
    "read": "#1d6f42",
    "wait": "#e5c76b",
    "poll": "#e0a458",
    "delete": "#777777",
    "collective": "#7a3fa0",
}
#: Waiting below, the movement of data on top: a short read is not hidden by the delete that follows it.
_DRAWING_ORDER = (*(kind for kind in KIND_COLOURS if kind not in ("write", "read")), "write", "read")
_BAR_PX = 13
_LEAST_BAR_PX = 1.5
#: How far the two strips of a lane stand from its middle.
_STRIP = 0.2
_FRACTIONS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0])


def throughput(groups: Sequence[tuple[str, Events]]) -> Figure:
    """Throughput in GB/s of each event that moved data, over the time of the run in seconds."""
    figure = axes("time since the start of the run / s", "throughput / (GB/s)")
    for place, (name, events) in enumerate(groups):
        shown = events.where(_thinned(len(events), MOST_MARKS // max(1, len(groups))) & (events.duration_s > 0))
        figure.add_scatter(
            x=shown.start_s,
            y=shown.size_bytes / shown.duration_s / 1e9,
            mode="markers",
            name=name,
            marker={"size": 6, "color": PALETTE[place % len(PALETTE)], "opacity": 0.7},
            customdata=np.stack([shown.size_bytes / 1e6, shown.duration_s * 1e3], axis=-1),
            text=[f"<b>{lane} · {kind}</b>" for lane, kind in zip(shown.lane, shown.kind, strict=True)],
            hovertemplate="%{text}<br>%{y:.3g} GB/s<br>%{customdata[0]:.3g} MB in %{customdata[1]:.3g} ms"
            "<br>at %{x:.4f} s<extra></extra>",
        )
    logarithmic(figure)
    return figure


def latency(groups: Sequence[tuple[str, Events]]) -> Figure:
    """Percentiles of the time of transport operations, in milliseconds."""
    figure = axes("percentile / %", "time / ms")
    labels = [f"{fraction * 100:g}" for fraction in _FRACTIONS]
    for place, (name, events) in enumerate(groups):
        values = np.maximum(np.quantile(events.duration_s, _FRACTIONS) * 1e3, 1e-6)
        figure.add_scatter(
            x=labels,
            y=values,
            mode="lines+markers",
            name=name,
            line={"color": PALETTE[place % len(PALETTE)], "width": 2},
            hovertemplate=f"%{{x}} % of {len(events)} took at most %{{y:.4g}} ms",
        )
    logarithmic(figure)
    figure.update_xaxes(type="category")
    return figure


def panels(titles: Sequence[str], across: int, x: str, y: str) -> Figure:
    """Empty axes side by side, `across` in a row, which share what is to the right and upwards."""
    from plotly.subplots import make_subplots

    down = -(-len(titles) // across)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=titles,
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=0.18,
    )
    dress(figure, x, "")
    figure.update_yaxes(title=y, col=1)
    figure.update_annotations(font={"size": 13})
    # the legend stands above the titles of the panels
    figure.update_layout(
        height=90 + 290 * down,
        margin={"t": 72},
        legend={"yref": "container", "y": 0.995, "yanchor": "top"},
    )
    return figure


def iteration_times(events: Events) -> Figure:
    """How the times of compute, train and infer events are distributed, in milliseconds, one histogram a group."""
    figure = axes("time of one compute, train or infer event / ms", "share of events / %")
    work = events.where(np.isin(events.kind, ("compute", "train", "infer")))
    group = events.group[np.isin(events.kind, ("compute", "train", "infer"))]  # as in the other charts of the run
    for place, name in enumerate(dict.fromkeys(group)):
        times_ms = work.duration_s[group == name] * 1e3
        shares, edges = np.histogram(times_ms, bins=_bins(times_ms))
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=shares / len(times_ms) * 100,
            width=np.diff(edges),
            name=name,
            marker={"color": PALETTE[place % len(PALETTE)], "opacity": 0.65, "line": {"width": 0}},
            hovertemplate="%{y:.3g} % near %{x:.4g} ms",
        )
    figure.update_layout(barmode="overlay", bargap=0)
    return figure


def timeline(events: Events) -> tuple[Figure, int]:
    """What each component did when, one lane a component, two strips a lane; also returns how many events it shows.

    A bar that is narrower than a pixel at some zoom shows as a stroke of its colour in its middle.
    Transport is drawn first of all, so that what is left out, when there are too many events, is work.
    """
    moving = np.isin(events.kind, TRANSPORT)
    mask = moving & _thinned_where(moving, MOST_MARKS)
    mask |= ~moving & _thinned_where(~moving, max(1000, MOST_MARKS - int(mask.sum())))
    shown = events.where(mask)
    lanes = events.lanes
    figure = axes("time since the start of the run / s", "component")
    for kind in _DRAWING_ORDER:
        colour = KIND_COLOURS[kind]
        some = shown.where(shown.kind == kind)
        if not len(some):
            continue
        middle = some.start_s + some.duration_s / 2
        gap = np.full(len(some), np.nan)
        height = np.array([lanes.index(lane) for lane in some.lane], dtype=np.float64)
        height += _STRIP if kind in TRANSPORT else -_STRIP
        text = [_label(some, place) for place in range(len(some))]
        figure.add_scatter(
            x=np.stack([some.start_s, some.start_s + some.duration_s, gap], axis=-1).ravel(),
            y=np.stack([height, height, gap], axis=-1).ravel(),
            mode="lines",
            line={"color": colour, "width": _BAR_PX, "simplify": False},
            name=kind,
            legendgroup=kind,
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=middle,
            y=height,
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": _BAR_PX / 1.4,  # a stroke is 1.4 times as long as its size
                "line": {"color": colour, "width": _LEAST_BAR_PX},
                "opacity": 1,
            },
            text=text,
            hovertemplate="%{text}<extra></extra>",
            legendgroup=kind,
            showlegend=False,
        )
    figure.update_yaxes(
        tickvals=[place + strip for place in range(len(lanes)) for strip in (-_STRIP, _STRIP)],
        ticktext=[label for lane in lanes for label in (f"{lane} · compute", "transport")],
        range=[len(lanes) - 0.5, -0.5],
        fixedrange=True,
        zeroline=False,
    )
    inside = 64 * len(lanes)
    figure.update_xaxes(rangeslider={"visible": True, "thickness": min(0.16, 40 / inside)})
    figure.update_layout(height=190 + inside, dragmode="pan")
    return figure, len(shown)


def bars(
    names: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    x: str,
    y: str,
    axis: Literal["linear", "log"] = "linear",
) -> Figure:
    """Grouped bars: one group a name, one colour a series."""
    figure = axes(x, y)
    for place, (label, values) in enumerate(series):
        figure.add_bar(
            x=list(names),
            y=list(values),
            name=label,
            marker={"color": PALETTE[place % len(PALETTE)]},
            hovertemplate=f"<b>{label}</b> · %{{x}}<br>%{{y:.4g}} {y.rpartition(' / ')[2].strip('()')}<extra></extra>",
        )
    if axis == "log":
        logarithmic(figure)
        heights = [value for _, values in series for value in values if value]
        if heights:  # from a power of ten that leaves the shortest bar visible
            figure.update_yaxes(range=[math.floor(math.log10(min(heights)) - 0.1), math.log10(max(heights)) + 0.1])
    return figure


def fragment(figure: Figure) -> str:
    """The chart as HTML; the library itself stands once in the page."""
    config: dict[str, Any] = {"displaylogo": False, "responsive": True, "scrollZoom": True}
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=config))


def axes(x: str, y: str) -> Figure:
    """Return an empty chart with these titles, units included."""
    from plotly.graph_objects import Figure

    figure = Figure()
    dress(figure, x, y)
    return figure


def dress(figure: Figure, x: str, y: str) -> None:
    """Give a figure the look that all have."""
    figure.update_layout(
        height=340,
        margin={"l": 70, "r": 44, "t": 16, "b": 50},
        paper_bgcolor="white",
        plot_bgcolor="white",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#1d2733"},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hovermode="closest",
        modebar={"orientation": "v"},
    )
    line = {"gridcolor": "#e3e7ec", "linecolor": "#9aa4b0", "ticks": "outside", "zeroline": False, "automargin": True}
    figure.update_xaxes(title=x, **line)
    figure.update_yaxes(title=y, **line)


def logarithmic(figure: Figure) -> None:
    """Make the y axis logarithmic, with ticks at 1, 2, 5 when there are few decades to read them in."""
    values = np.concatenate([np.asarray(trace.y, dtype=np.float64) for trace in figure.data] or [np.ones(1)])
    values = values[values > 0]
    decades = np.log10(values.max() / values.min()) if len(values) else 0.0
    figure.update_yaxes(type="log", dtick=1 if decades > 2 else "D2", tickformat="~g")


def _thinned(count: int, most: int) -> npt.NDArray[np.bool_]:
    """Which of `count` marks to keep so that about `most`, evenly spread, are left."""
    every = max(1, -(-count // max(1, most)))
    kept: npt.NDArray[np.bool_] = np.arange(count) % every == 0
    return kept


def _thinned_where(mask: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.bool_]:
    kept = np.zeros(len(mask), dtype=np.bool_)
    kept[np.flatnonzero(mask)[_thinned(int(mask.sum()), most)]] = True
    return kept


def _bins(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Forty equal bins over all values but the outermost half per cent at the top, which falls into the last one."""
    low, high = float(values.min()), float(np.quantile(values, 0.995))
    if high <= low:
        high = low + max(abs(low) * 1e-3, 1e-6)
    edges = np.linspace(low, high, 41)
    edges[-1] = max(high, float(values.max())) if float(values.max()) < high * 1.2 else high
    return edges


def _label(events: Events, place: int) -> str:
    words = [f"<b>{events.lane[place]} · {events.kind[place]}</b> {events.name[place]}"]
    if events.iteration[place] >= 0:
        words.append(f"iteration {events.iteration[place]}")
    if events.key[place]:
        words.append(f"key {events.key[place]}")
    if events.size_bytes[place]:
        words.append(f"{events.size_bytes[place] / 1e6:.4g} MB")
    words.append(f"{events.duration_s[place] * 1e3:.4g} ms from {events.start_s[place]:.6f} s")
    return "<br>".join(words)
