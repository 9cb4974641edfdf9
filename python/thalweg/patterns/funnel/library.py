"""The library of candidates, and the true score that a simulation of one finds."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_POCKETS = 5


class Library:
    """Candidates as vectors, with scores like binding energies: the lower the better, and few are good.

    The score is a sum of wells around hidden vectors, narrow beside the space that the candidates fill.

    Parameters
    ----------
    candidates, features : int
        How many, and how many numbers describe each.
    seed : int
        The same seed gives the same library.

    Attributes
    ----------
    vectors : ndarray, shape (candidates, features), float32
        Standard normal numbers.
    """

    def __init__(self, candidates: int, features: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.vectors: Array = generator.standard_normal((candidates, features), np.float32)
        self._pockets = generator.standard_normal((_POCKETS, features)).astype(np.float32)
        self._depths = generator.uniform(4.0, 12.0, _POCKETS)
        self._width = np.float32(features)

    def scores(self, chosen: Array) -> Array:
        """Return the true scores of candidates, shape (chosen,), float32."""
        distances = ((self.vectors[chosen][:, None, :] - self._pockets[None]) ** 2).sum(axis=2)
        wells = self._depths * np.exp(-distances / self._width)
        return np.asarray(-wells.sum(axis=1), dtype=np.float32)

    def best(self, share: float) -> Array:
        """Return the truly best `share` of all candidates: what the search hopes to find."""
        scores = self.scores(np.arange(len(self.vectors)))
        return np.argsort(scores)[: max(1, round(share * len(scores)))]
