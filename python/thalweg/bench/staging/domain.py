"""Who holds which cells of the domain, and which value every cell has at every time step."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.errors import CorruptDataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHECKED_CELLS = 4096


@dataclass(frozen=True)
class Block:
    """Cells of one rank: lower corner and extent along each axis, slowest axis of the domain first."""

    lower: tuple[int, ...]
    extent: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return math.prod(self.extent)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The block as ``numpy.s_`` writes it."""
        return tuple(slice(at, at + n) for at, n in zip(self.lower, self.extent, strict=True))


def core(domain: tuple[int, ...], edge: int) -> Block:
    """The cube of `edge` cells in the middle of the domain; axes that are shorter are taken whole."""
    extent = tuple(min(edge, n) for n in domain)
    return Block(tuple((n - m) // 2 for n, m in zip(domain, extent, strict=True)), extent)


def blocks(whole: Block, ranks: int) -> list[Block]:
    """Split a block over ranks: prime factors of their number, largest first, each along the axis that is longest then.

    Of equally long axes the slowest is split. Blocks of one split differ by one cell at most.
    """
    parts = [1] * len(whole.extent)
    for factor in _factors(ranks):
        axis = max(range(len(parts)), key=lambda a: (whole.extent[a] / parts[a], -a))
        parts[axis] *= factor
    found = [((), ())]  # type: list[tuple[tuple[int, ...], tuple[int, ...]]]
    for at, n, count in zip(whole.lower, whole.extent, parts, strict=True):
        edges = [at + n * i // count for i in range(count + 1)]
        found = [
            ((*lower, begin), (*extent, end - begin))
            for lower, extent in found
            for begin, end in itertools.pairwise(edges)
        ]
    return [Block(lower, extent) for lower, extent in found]


def values(domain: tuple[int, ...], block: Block) -> npt.NDArray[np.float64]:
    """What the cells of a block hold at step 0, row-major: a cell's place in the domain; each step adds one half."""
    import numpy as np

    places = np.zeros((1,) * len(domain))
    for axis, (at, n) in enumerate(zip(block.lower, block.extent, strict=True)):
        along = np.arange(at, at + n, dtype=np.float64) * math.prod(domain[axis + 1 :])
        places = places + along.reshape([-1 if a == axis else 1 for a in range(len(domain))])
    return places


def check(domain: tuple[int, ...], block: Block, step: int, got: npt.NDArray[Any], layout: str, what: str) -> None:
    """Compare some thousands of cells, other ones at each step, with what the writers put there, and how they lie.

    Raises
    ------
    CorruptDataError
        For another shape or order of axes, or naming the first cell that is wrong.
    """
    import numpy as np

    if got.shape != block.extent:
        raise CorruptDataError(f"bench staging: {what} got {got.shape} at step {step}; expected {block.extent}")
    strides = [stride for stride, n in zip(got.strides, got.shape, strict=True) if n > 1]
    if strides != sorted(strides, reverse=layout == "right"):
        raise CorruptDataError(f"bench staging: {what} got strides {got.strides} at step {step}; expected {layout}")
    draw = np.random.default_rng(step)
    at = [draw.integers(0, n, _CHECKED_CELLS) for n in block.extent]
    for axis, n in enumerate(block.extent):
        at[axis][0], at[axis][1] = 0, n - 1
    cells = [places + lower for places, lower in zip(at, block.lower, strict=True)]
    expected = np.ravel_multi_index(cells, domain) + step / 2
    wrong = np.flatnonzero(got[tuple(at)] != expected)
    if len(wrong):
        first = tuple(int(places[wrong[0]]) for places in cells)
        raise CorruptDataError(
            f"bench staging: {what} got {got[tuple(a[wrong[0]] for a in at)]} in cell {first} of step {step}; "
            f"expected {expected[wrong[0]]}"
        )


def _factors(number: int) -> list[int]:
    """Prime factors, largest first."""
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found[::-1]
