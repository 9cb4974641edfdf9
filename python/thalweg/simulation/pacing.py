"""Spending a given time on calls whose cost is not known beforehand, exact in the mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

_SMOOTHING = 0.2
_LARGEST_DEBT = 50.0  # times that may be owed after a stall of the machine
_REPAID_SHARE = 0.1  # of a time or of the debt, whichever is more, is repaid in one time


class Measured:
    """A call with a running estimate of its cost, which single stalls of the machine hardly move.

    Attributes
    ----------
    cost_s : float
        Seconds that a call takes, as seen lately.
    """

    def __init__(self, call: Callable[[], object], calibration_calls: int = 3) -> None:
        self._call = call
        call()
        self.cost_s = min(self._timed() for _ in range(calibration_calls))

    def __call__(self) -> float:
        """Call; return the seconds it took."""
        elapsed = self._timed()
        self.cost_s += _SMOOTHING * (min(elapsed, 2 * self.cost_s) - self.cost_s)
        return elapsed

    def _timed(self) -> float:
        start = time.perf_counter()
        self._call()
        return time.perf_counter() - start


class Pacer:
    """Makes calls until a time is used up, and carries over what is left or was too much.

    The last call that fits is the last call of its level; the next, cheaper level fills what is left; the cheapest is
    rounded to the nearest call, and the rest is carried over. So the mean of many times is exact, and each is off by
    half a cheapest call.

    What a stall of the machine has cost is repaid bit by bit: times of nothing at all after each stall would keep the
    mean, but not the distribution.

    Parameters
    ----------
    levels : sequence of Measured
        From the dearest to the cheapest; the cheapest does the filling.
    mean_s : float
        Mean of the times that will be asked for; bounds what can be owed after a stall.

    Attributes
    ----------
    carry_s : float
        What the next time will be longer by, below 0 when it is owed.
    """

    def __init__(self, levels: Sequence[Measured], mean_s: float) -> None:
        self._levels = list(levels)
        self._mean_s = mean_s
        self.carry_s = 0.0

    def spend(self, wanted_s: float, start: float | None = None) -> float:
        """Use up `wanted_s` from `start` on (``time.perf_counter()``; default: now); return what was really spent."""
        if start is None:
            start = time.perf_counter()
        budget = wanted_s + max(self.carry_s, -self._repaid_at_most(wanted_s))
        for level in self._levels:
            finest = level is self._levels[-1]
            while budget - (time.perf_counter() - start) >= (level.cost_s / 2 if finest else level.cost_s):
                level()
        elapsed = time.perf_counter() - start
        self.carry_s = max(self.carry_s + wanted_s - elapsed, -_LARGEST_DEBT * max(self._mean_s, wanted_s))
        return elapsed

    def _repaid_at_most(self, wanted_s: float) -> float:
        # a cheapest call too many is no stall: it is made up for at once, also when it is longer than the times
        return max(self._levels[-1].cost_s, _REPAID_SHARE * max(wanted_s, -self.carry_s))
