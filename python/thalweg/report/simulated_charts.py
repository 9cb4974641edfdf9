"""Charts of simulated runs: distributions side by side, cumulative curves over links, and links on the topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thalweg.report.charts import PALETTE, axes, dress
from thalweg.report.topology_layout import Layout

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from thalweg.simulator.outcome import Distribution, Link

Values = npt.NDArray[np.float64]

#: Values that lie closer together stand on a linear axis.
_DECADES_LEAST = 0.7

#: From nothing to much.
_HEAT = ("#dfe6ee", "#b9d3ea", "#86b6dc", "#f2d16b", "#eb9b3c", "#d1611f", "#a3201b")
#: The least and the most that a colour stands for, times what the one before does.
_STEP_LEAST, _STEP_MOST = 1.15, 3.0
#: Links and routers that are drawn at most: those with most, so that a page of any machine can be opened.
_DRAWN_MOST = 6000


@dataclass(frozen=True)
class Box:
    """Least, quartiles, largest and mean."""

    least: float
    first: float
    median: float
    third: float
    largest: float
    mean: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Box:
        """Return that of some values."""
        least, first, median, third, largest = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
        return cls(least, first, median, third, largest, float(np.mean(values)))

    @classmethod
    def of_distribution(cls, found: Distribution) -> Box:
        """Return that of a distribution in seconds; the least is that of its shortest bucket."""
        least = found.buckets[0][0] if found.buckets else 0.0
        return cls(least, found.p25_s, found.median_s, found.p75_s, found.max_s, found.mean_s)

    def scaled(self, factor: float) -> Box:
        """Return it in another unit."""
        return Box(*(factor * value for value in vars(self).values()))


def boxes(found: Sequence[tuple[str, Box]], x: str, y: str, *, decades: bool = False) -> Figure:
    """One box for each run, from least to largest, with a triangle at the mean."""
    figure = axes(x, y)
    found = [(name.replace(", ", ",<br>"), box) for name, box in found]
    for place, (name, box) in enumerate(found):
        figure.add_box(
            x=[name],
            q1=[box.first],
            median=[box.median],
            q3=[box.third],
            lowerfence=[box.least],
            upperfence=[box.largest],
            name=name,
            marker={"color": PALETTE[place % len(PALETTE)]},
            showlegend=False,
        )
    figure.add_scatter(
        x=[name for name, _ in found],
        y=[box.mean for _, box in found],
        mode="markers",
        showlegend=False,
        marker={"symbol": "triangle-up", "size": 10, "color": "#c8342f"},
        hovertemplate="mean %{y:.4g}<extra>%{x}</extra>",
    )
    values = [value for _, box in found for value in vars(box).values() if value > 0]
    across = np.log10(max(values) / min(values)) if values else 0.0
    if decades and across > _DECADES_LEAST:
        figure.update_yaxes(range=[np.log10(min(values)) - 0.1, np.log10(max(values)) + 0.1])
        figure.update_yaxes(type="log", dtick=1 if across > 2 else "D2", tickformat="~g")
    else:
        figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(type="category")
    return figure


def cumulative(found: Sequence[tuple[str, Values]], x: str) -> Figure:
    """For each run the share of links up to a value, in per cent."""
    figure = axes(x, "share of links / %")
    for place, (name, values) in enumerate(found):
        ordered = np.sort(values)
        shares = 100 * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
        keep = np.r_[np.diff(ordered) > 0, True] if len(ordered) else np.ones(0, dtype=bool)
        figure.add_scatter(
            x=np.r_[0.0, ordered[keep]],
            y=np.r_[0.0, shares[keep]],
            mode="lines",
            name=name,
            line={
                "color": PALETTE[place % len(PALETTE)],
                "width": 2,
                "shape": "hv",
                "dash": ("solid", "dash", "dot")[place // len(PALETTE) % 3],
            },
            hovertemplate=f"%{{y:.4g}} % of the links have at most %{{x:.4g}}<extra>{name}</extra>",
        )
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(range=[0, 101])
    return figure


def traffic_over_time(kinds: Sequence[tuple[str, Values]], step_s: float, end_s: float) -> Figure:
    """Bytes a second by kind of link, over the simulated time in milliseconds, to the end of the run."""
    figure = axes("simulated time / ms", "traffic / (GB/s)")
    for place, (kind, moved) in enumerate(kinds):
        middles = (np.arange(len(moved)) + 0.5) * step_s
        quiet = [middles[-1] + step_s, end_s] if end_s > middles[-1] + step_s else []  # nothing was sent any more
        figure.add_scatter(
            x=np.r_[middles, quiet] * 1e3,
            y=np.r_[moved / step_s / 1e9, np.zeros(len(quiet))],
            mode="lines",
            name=kind,
            line={"color": PALETTE[place % len(PALETTE)], "width": 1.5, "shape": "hvh"},
            hovertemplate=f"%{{y:.4g}} GB/s at %{{x:.4g}} ms<extra>{kind}</extra>",
        )
    figure.update_layout(showlegend=True)
    figure.update_xaxes(range=[0, 1e3 * max([end_s, *(len(moved) * step_s for _, moved in kinds)])])
    figure.update_yaxes(rangemode="tozero")
    return figure


@dataclass(frozen=True)
class Heat:
    """What colours stand for: each for up to `step` times as much as the one before, the last up to `largest`."""

    largest: float
    step: float

    @classmethod
    def of(cls, values: Values) -> Heat:
        """Return one in which most of these values, those that are not zero, have a colour of their own."""
        some = values[values > 0]
        if not len(some):
            return cls(0.0, _STEP_MOST)
        largest = float(some.max())
        spread = (largest / float(np.quantile(some, 0.1))) ** (1 / (len(_HEAT) - 2))
        return cls(largest, float(np.clip(spread, _STEP_LEAST, _STEP_MOST)))

    def upper(self, shade: int) -> float:
        """The most that a colour stands for."""
        return self.largest * self.step ** (shade + 1 - len(_HEAT)) if shade else 0.0

    def shades(self, values: Values) -> npt.NDArray[np.int_]:
        """Which colour each value has; the first is for zero alone."""
        last = len(_HEAT) - 1
        if self.largest <= 0:
            return np.zeros(len(values), dtype=int)
        below = np.log(np.maximum(values, 1e-300) / self.largest) / np.log(
            self.step
        )  # zero at the largest, and negative
        shade: npt.NDArray[np.int_] = (last + np.ceil(below - 1e-9)).astype(int).clip(1, last)
        return np.where(values > 0, shade, 0)


def busiest(links: Sequence[Link]) -> dict[tuple[int, int], tuple[float, float]]:
    """Traffic in MB and saturation in ms between each two routers: those of the direction that has more."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for link in links:
        if link.kind != "terminal":
            pair = (min(link.source, link.target), max(link.source, link.target))
            before = found.get(pair, (0.0, 0.0))
            found[pair] = (max(before[0], link.bytes / 1e6), max(before[1], link.saturated_s * 1e3))
    return found


def link_map(links: Sequence[Link], layout: Layout, traffic: Heat, saturation: Heat) -> Figure:
    """Links between routers on their topology, coloured by traffic and by saturation, one beside the other.

    Both directions of a link are one line, with what the busier one has. Of many links those with most are drawn.
    """
    from plotly.subplots import make_subplots

    pairs = busiest(links)
    ends = np.array(list(pairs), dtype=int).reshape(-1, 2)
    found = np.array(list(pairs.values())).reshape(-1, 2)
    most = f", those {_DRAWN_MOST:,} of {len(ends):,} links with most" if len(ends) > _DRAWN_MOST else ""
    figure = make_subplots(
        cols=2, subplot_titles=[f"traffic / MB{most}", f"saturation / ms{most}"], horizontal_spacing=0.04
    )
    dress(figure, "", "")
    for column, heat in enumerate((traffic, saturation)):
        drawn = np.argsort(-found[:, column], kind="stable")[:_DRAWN_MOST]
        shade = heat.shades(found[drawn, column])
        for level, colour in enumerate(_HEAT):
            some = ends[drawn[shade == level]]
            if not len(some):
                continue
            lines = layout.lines(some).round(4)
            figure.add_scatter(
                x=lines[:, 0],
                y=lines[:, 1],
                mode="lines",
                line={"color": colour, "width": 0.5 + 0.35 * level},
                name=f"≤ {heat.upper(level):.4g}" if level else "0",
                legend=f"legend{column + 1 if column else ''}",
                hoverinfo="skip",
                row=1,
                col=column + 1,
            )
        sent = _of_routers(links, len(layout.points), column)
        shown = np.argsort(-sent, kind="stable")[:_DRAWN_MOST]
        unit = "ms of saturation on links" if column else "MB sent on links"
        figure.add_scatter(
            x=layout.points[shown, 0].round(4),
            y=layout.points[shown, 1].round(4),
            mode="markers",
            marker={"size": 3.5, "color": "#1d2733"},
            text=[f"router {number}: {sent[number]:.4g} {unit} to routers" for number in shown],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
            row=1,
            col=column + 1,
        )
    for column in (1, 2):
        figure.update_yaxes(scaleanchor=f"x{column if column > 1 else ''}", row=1, col=column)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    # Beside the pictures, under the tool bar.
    aside = {"orientation": "v", "x": 1.0, "xanchor": "left", "yanchor": "top"}
    figure.update_layout(
        height=600,
        margin={"l": 10, "r": 10, "t": 64, "b": 10},
        modebar={"orientation": "h"},
        legend={**aside, "y": 1.0, "title": "traffic / MB"},
        legend2={**aside, "y": 0.5, "title": "saturation / ms"},
    )
    return figure


def _of_routers(links: Sequence[Link], count: int, column: int) -> Values:
    """What goes out of each router: MB, or ms of saturation."""
    found = np.zeros(count)
    for link in links:
        if link.kind != "terminal" and link.source < count:
            found[link.source] += link.saturated_s * 1e3 if column else link.bytes / 1e6
    return found
