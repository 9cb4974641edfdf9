"""Where routers and links stand in a picture of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

#: Groups stand on a ring of this radius, the routers of a group on one whose radius is such a share of the room it has.
_RING, _SHARE = 1.0, 0.42
#: Pictures of grids and trees are as wide as rings; a grid is half to twice as high.
_WIDE, _LOW = 2.0, 1.0
#: How far routers of a further dimension of a grid move, as a share of a cell, and towards where.
_FURTHER = ((0.62, 0.38), (-0.11, 0.21))


@dataclass(frozen=True)
class Layout:
    """A picture of a network.

    Attributes
    ----------
    points : ndarray, shape (routers, 2), float64
        Where each router stands, upwards and to the right.
    closing : ndarray, shape (routers, routers' dimensions, 2), float64, or None
        In a grid: how far a link reaches that leaves it at a router in each dimension.
    places : ndarray, shape (routers, dimensions), int64, or None
        In a grid: the numbers of each router.
    """

    points: Points
    closing: Points | None = None
    places: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, network: Mapping[str, Any], routers: int) -> Layout:
        """Return that of `routers` routers: rings of groups, a grid, or levels, as the topology has them.

        Parameters
        ----------
        network : mapping
            The table ``network`` of a scenario.
        routers : int
            How many there are.
        """
        topology = network.get("topology", "dragonfly")
        if topology == "torus":
            extents = [extent for extent in network["extents"] if extent > 1]
            if len(extents) > 1:
                return _grid(extents)
        if topology == "fat-tree":
            return cls(_levels(network["down"], network["up"]))
        if topology == "k-ary-tree":
            arity, levels = network["arity"], network["levels"]
            return cls(_levels([arity] * levels, [arity] * (levels - 1)))
        groups = network.get("groups") or (33 if topology == "dragonfly" and routers == 264 else None)
        if groups and routers % groups == 0 and routers > groups > 1:
            return cls(_rings(groups, routers // groups))
        return cls(_ring(routers))

    def lines(self, ends: npt.NDArray[np.int64]) -> Points:
        """Return the links between pairs of routers as lines, each followed by a gap.

        What closes the ring of a grid's dimension is two short lines that lead out of the grid.

        Parameters
        ----------
        ends : ndarray, shape (n, 2), int64
            The routers of each link.

        Returns
        -------
        ndarray, shape (points, 2), float64
            Points in a row; NaN where a line ends.
        """
        a, b = self.points[ends[:, 0]], self.points[ends[:, 1]]
        gap = np.full_like(a, np.nan)
        if self.closing is None or self.places is None:
            return np.stack([a, b, gap], axis=1).reshape(-1, 2)
        apart = self.places[ends[:, 1]] - self.places[ends[:, 0]]
        dimension = np.abs(apart).argmax(axis=1)
        step = np.take_along_axis(apart, dimension[:, None], axis=1)
        out = self.closing[dimension] * np.sign(step)
        wide = np.abs(step) > 1
        # Straight lines are drawn in one; others in two, each in its own direction.
        first = np.where(wide, a - out, b)
        return np.stack([a, first, gap, np.where(wide, b, gap), np.where(wide, b + out, gap), gap], axis=1).reshape(
            -1, 2
        )


def _ring(count: int, radius: float = _RING) -> Points:
    angles = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _rings(groups: int, each: int) -> Points:
    radius = _SHARE * np.pi * _RING / groups * 2
    return (_ring(groups)[:, None, :] + _ring(each, radius)[None, :, :]).reshape(-1, 2)


def _levels(down: Sequence[int], up: Sequence[int]) -> Points:
    """A row for each level, the top above; below it subtrees beside each other, as routers are numbered."""
    top = len(down) - 1
    nodes = np.cumprod(down)
    replicas = np.cumprod([1, *up])
    height = _LOW / max(top, 1)
    subtree = []
    for level in range(top):
        count = int(nodes[top - 1] // nodes[level] * replicas[level])
        subtree.append(_row(count, _WIDE / down[top], level * height))
    width = _WIDE / down[top]
    subtrees = [np.concatenate(subtree) + np.array([place * width, 0.0]) for place in range(down[top])] if top else []
    return np.concatenate([*subtrees, _row(int(replicas[top]), _WIDE, top * height)])


def _row(count: int, width: float, height: float) -> Points:
    return np.stack([(np.arange(count) + 0.5) * width / count, np.full(count, height)], axis=-1)


def _grid(extents: Sequence[int]) -> Layout:
    """Two dimensions upright; each further one a little aside, towards where no other leads."""
    places = np.stack(np.unravel_index(np.arange(int(np.prod(extents))), tuple(extents), order="F"), axis=-1)
    across, up = extents[0] - 1, extents[1] - 1
    cell = np.array([_WIDE / across, np.clip(_WIDE * up / across, _LOW, 2 * _WIDE) / up])
    steps = [np.array([cell[0], 0.0]), np.array([0.0, cell[1]])]
    for further, extent in enumerate(extents[2:]):
        towards, shrink = _FURTHER[further % 2], 0.3 ** (further // 2)
        steps.append(cell * towards * shrink / extent)
    closing = np.array([0.3 * step if axis < 2 else 0.5 * step for axis, step in enumerate(steps)])
    return Layout(places @ np.array(steps), closing, places)
