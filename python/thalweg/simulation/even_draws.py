"""Random numbers in (0, 1) that cover the interval evenly after any number of draws."""

from __future__ import annotations

import random

_MASK = 0xFFFFFFFF
_GROUP = 32


class EvenDraws:
    """An Owen-scrambled van der Corput sequence, shuffled within groups of 32 draws.

    Each draw is uniform, but the first n draws (n a power of 2 from 32 on) fall one into each n-th of the interval.
    So the mean and spread of
    a distribution are reproduced after hundreds of draws as independent draws do only after many thousands.

    The scrambling is the hash of Laine and Karras, "Stratified sampling for stochastic transparency" (EGSR 2011).

    Parameters
    ----------
    seed : int
        The same seed gives the same numbers.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._scramble = self._random.getrandbits(32)
        self._count = 0
        self._group: list[float] = []

    def next(self) -> float:
        """Return the next number, strictly between 0 and 1."""
        if not self._group:
            start = self._count
            self._group = [self._point(index) for index in range(start, start + _GROUP)]
            self._random.shuffle(self._group)
            self._count = (start + _GROUP) & _MASK
        return self._group.pop()

    def _point(self, index: int) -> float:
        x = (index + self._scramble) & _MASK
        for factor in (0x6C50B47C, 0xB82F1E52, 0xC7AFE638, 0x8D22F6E6):
            x ^= (x * factor) & _MASK
        return (int(f"{x:032b}"[::-1], 2) + self._random.random()) / 2**32 or 2.0**-53
