"""How Python says which cells of a variable it means, and how they are to lie in memory."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

from thalweg.errors import InvalidError, ShapeError

#: ``"right"`` or ``"C"`` (row-major), ``"left"`` or ``"F"`` (column-major), or all axes as they lie, slowest first.
LayoutLike = str | Sequence[int]
#: Which version: its number, or the newest one in which the region is complete.
VersionLike = int | Literal["latest"]


def corner(operation: str, lower: Sequence[int] | None, dims: int) -> list[int]:
    """The lower corner of a region; zeros by default."""
    if lower is None:
        return [0] * dims
    try:
        cells = [operator.index(n) for n in lower]
    except TypeError:
        raise ShapeError(f"{operation}: lower = {lower!r}; give a whole number for each of {dims} axes") from None
    if len(cells) != dims or any(n < 0 for n in cells):
        raise ShapeError(f"{operation}: lower = {lower!r}; accepted are {dims} whole numbers of at least 0")
    return cells


def box(operation: str, region: Any, domain: Sequence[int]) -> tuple[list[int], list[int]]:
    """Lower corner and extent of ``numpy.s_[...]`` within `domain`; all of it by default.

    Slices go from the first cell to the one behind the last and may leave either out; they have no step and count from
    the domain's first cell only.
    """
    if region is None:
        return [0] * len(domain), list(domain)
    parts = region if isinstance(region, tuple) else (region,)
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts = (*parts[:at], *[slice(None)] * (len(domain) - len(parts) + 1), *parts[at + 1 :])
    if len(parts) != len(domain):
        raise ShapeError(f"{operation}: region {region!r}; give a slice for each of the {len(domain)} axes")
    lower, extent = [], []
    for part, cells in zip(parts, domain, strict=True):
        try:
            if not isinstance(part, slice) or part.step not in (None, 1):
                raise TypeError
            start = 0 if part.start is None else operator.index(part.start)
            stop = cells if part.stop is None else operator.index(part.stop)
        except TypeError:
            detail = f"{part!r} in region {region!r}; accepted are slices without a step, as in 0:4"
            raise ShapeError(f"{operation}: {detail}") from None
        if not 0 <= start < stop <= cells:
            raise ShapeError(f"{operation}: cells {start}:{stop} of an axis of {cells}; accepted are cells inside it")
        lower.append(start)
        extent.append(stop - start)
    return lower, extent


def axes(operation: str, layout: LayoutLike, dims: int) -> list[int]:
    """The axes of a layout, slowest first."""
    named = {"right": range(dims), "C": range(dims), "left": range(dims)[::-1], "F": range(dims)[::-1]}
    if isinstance(layout, str):
        if layout in named:
            return list(named[layout])
    else:
        try:
            order = [operator.index(axis) for axis in layout]
        except TypeError:
            order = [-1]
        if sorted(order) == list(range(dims)):
            return order
    raise InvalidError(
        f'{operation}: layout = {layout!r}; accepted are "right" (row-major), "left" (column-major) and each of '
        f"the axes 0 to {dims - 1} once, slowest first"
    )


def number(operation: str, version: int) -> int:
    """A version as the native client takes it."""
    try:
        index = operator.index(version)
    except TypeError:
        raise InvalidError(f"{operation}: version = {version!r}; accepted are whole numbers") from None
    if not 0 <= index < 1 << 63:
        raise InvalidError(f"{operation}: version {index}; accepted are 0 to 2^63 - 1")
    return index


def which(operation: str, version: VersionLike) -> tuple[str, int]:
    """The version of a get as the native client takes it."""
    if version == "latest":
        return "latest", 0
    if isinstance(version, str):
        raise InvalidError(f'{operation}: version = {version!r}; accepted are whole numbers and "latest"')
    return "exactly", number(operation, version)
