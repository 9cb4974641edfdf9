"""Panels of lines over the size of an array: what is on their axes, for whatever draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.results.sweep_summaries import Spread

SIZE = "size of an array / MB"
#: Values this far apart are read on a logarithmic axis.
_LOGARITHMIC_FROM = 4.0
#: Sizes that are closer than this have one label between them.
_LABELS_APART = 1.5


@dataclass(frozen=True)
class Mark:
    """One point of a line: size of the array in MB, median and range in the unit of its panel, what it rests on."""

    size_mb: float
    spread: Spread
    rests_on: str


@dataclass(frozen=True)
class Series:
    """One line of a panel; marks in the order of their sizes."""

    name: str
    colour: str
    marks: Sequence[Mark]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes: the size of an array to the right, `y` (a quantity and its unit) upwards."""

    title: str
    y: str
    series: Sequence[Series]
    #: a horizontal line: where it is, and what it says
    reference: tuple[float, str] | None = None

    @property
    def unit(self) -> str:
        """The unit of `y`."""
        return self.y.rpartition(" / ")[2].strip("()")

    @property
    def values(self) -> list[float]:
        """Everything that must be on the axis."""
        marked = [value for line in self.series for mark in line.marks for value in mark.spread]
        return marked + ([self.reference[0]] if self.reference else [])


@dataclass(frozen=True)
class Drawing:
    """Panels that share their axes."""

    panels: Sequence[Panel]

    @property
    def _values(self) -> list[float]:
        return [value for panel in self.panels for value in panel.values if value > 0]

    @property
    def logarithmic(self) -> bool:
        """Is the y axis read better with decades?"""
        return max(self._values) / min(self._values) >= _LOGARITHMIC_FROM

    @property
    def y_range(self) -> tuple[float, float]:
        """Ends of the y axis, their logarithms to the base 10 where it is logarithmic."""
        low, high = min(self._values), max(self._values)
        if self.logarithmic:
            return math.log10(low) - 0.1, math.log10(high) + 0.1
        room = 0.1 * (high - low) or 0.05 * high
        return low - 2 * room, high + room

    @property
    def x_range(self) -> tuple[float, float]:
        """Logarithms of the ends of the x axis to the base 10."""
        return math.log10(self.sizes_mb[0]) - 0.12, math.log10(self.sizes_mb[-1]) + 0.12

    @property
    def ticks_mb(self) -> list[float]:
        """Those sizes whose labels do not run into each other."""
        shown: list[float] = []
        for size_mb in self.sizes_mb:
            if not shown or size_mb >= _LABELS_APART * shown[-1]:
                shown.append(size_mb)
        return shown

    @property
    def sizes_mb(self) -> list[float]:
        """Sizes that were measured, smallest first."""
        return sorted({mark.size_mb for panel in self.panels for line in panel.series for mark in line.marks})
