"""Where routers stand in a picture of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

#: Groups stand on a ring of this radius, the routers of a group on one whose radius is such a share of the room it has.
_RING, _SHARE = 1.0, 0.42


def positions(network: Mapping[str, Any], routers: int) -> Points:
    """Return a point for each router, in rows: on rings of groups, in a grid, or on levels, as the topology has them.

    Parameters
    ----------
    network : mapping
        The table ``network`` of a scenario.
    routers : int
        How many there are.
    """
    topology = network.get("topology", "dragonfly")
    if topology == "torus" and network.get("extents"):
        return _grid(network["extents"])
    groups = network.get("groups") or (33 if topology == "dragonfly" and routers == 264 else None)
    if groups and routers % groups == 0 and routers > groups:
        return _rings(groups, routers // groups)
    return _ring(routers)


def _ring(count: int, radius: float = _RING) -> Points:
    angles = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _rings(groups: int, each: int) -> Points:
    radius = _SHARE * np.pi * _RING / groups * 2
    return (_ring(groups)[:, None, :] + _ring(each, radius)[None, :, :]).reshape(-1, 2)


def _grid(dimensions: Sequence[int]) -> Points:
    """Two dimensions as they are; planes of the others side by side."""
    places = np.stack(np.unravel_index(np.arange(int(np.prod(dimensions))), tuple(dimensions)), axis=-1).astype(float)
    x, y = places[:, -1], places[:, -2] if len(dimensions) > 1 else np.zeros(len(places))
    for axis in range(len(dimensions) - 2):
        step = (dimensions[-1] + 1, dimensions[-2] + 1)[axis % 2]
        x, y = (x + places[:, axis] * step, y) if axis % 2 == 0 else (x, y + places[:, axis] * step)
    return np.stack([x, y], axis=-1)
