"""Which cells an ensemble has: sizes a process, by preset, and how many processes share each horizontal axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.errors import InvalidError

#: Cells that the analysis has beyond the domain, on each side of both horizontal axes; the history has none.
HALO = 2


@dataclass(frozen=True)
class Preset:
    """Sizes a process, in cells.

    Attributes
    ----------
    imax, jmax : int
        Cells along x and y.
    kmax, lkmax, ukmax : int
        Levels of the atmosphere, the land and the urban model; the ocean has one.
    """

    name: str
    imax: int
    jmax: int
    kmax: int
    lkmax: int
    ukmax: int


#: The two configurations of the paper: figure 3 and table I, figure 4 and table II.
PRESETS = {preset.name: preset for preset in (Preset("ofp", 8, 8, 60, 7, 5), Preset("olympics", 32, 64, 45, 7, 5))}


@dataclass(frozen=True)
class Domain:
    """What the processes of one ensemble, in one component, hold together.

    Attributes
    ----------
    px, py : int
        Processes along x and y; both components have the same.
    """

    preset: Preset
    px: int
    py: int

    @property
    def processes(self) -> int:
        """Processes of one component."""
        return self.px * self.py

    @property
    def x(self) -> int:
        """Cells along x, without halo."""
        return self.preset.imax * self.px

    @property
    def y(self) -> int:
        """Cells along y, without halo."""
        return self.preset.jmax * self.py


def shared_by(preset: Preset, processes: int) -> Domain:
    """Return the domain of so many processes in a grid as square as can be, the longer side along x.

    Examples
    --------
    >>> domain = shared_by(PRESETS["ofp"], 128)
    >>> domain.px, domain.py, domain.x, domain.y
    (16, 8, 128, 64)
    """
    if processes < 1:
        raise InvalidError(f"bench ensemble: {processes} processes; expected at least 1")
    py = next(count for count in range(math.isqrt(processes), 0, -1) if processes % count == 0)
    return Domain(preset, processes // py, py)
