"""Calling a kernel for a given time or a given number of times, exact in the mean."""

from __future__ import annotations

import time
from collections.abc import Callable

from thalweg.kernels import Cost, Kernel

_FINE_SHARE = 0.01  # the finest work that fills a remainder is aimed at this share of the mean run time
_FINEST_S = 2e-5
_LARGEST_DEBT = 10.0  # run times that may be owed after a stall of the machine
_SMOOTHING = 0.2


class _Measured:
    """A kernel with a running estimate of what a call costs, which single stalls hardly move."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        kernel()
        self.cost_s = min(kernel().elapsed_s for _ in range(3))

    def __call__(self) -> Cost:
        cost = self.kernel()
        seen = min(cost.elapsed_s, 2 * self.cost_s)
        self.cost_s += _SMOOTHING * (seen - self.cost_s)
        return cost


class TimedKernel:
    """Runs a kernel for times that are configured.

    The last call that fits is the last call; what is left is filled with calls of the same kernel on smaller arrays, and
    what is then still left, or was too much, is carried over to the next time. So the mean is exact, and the spread
    is that of the times asked for.

    Parameters
    ----------
    make : callable
        Makes the kernel on arrays of given extents.
    data_size : tuple of int
        Extents as configured.
    mean_s : float
        Mean of the times that will be asked for; 0 when it will be called by count.
    """

    def __init__(self, make: Callable[[tuple[int, ...]], Kernel], data_size: tuple[int, ...], mean_s: float) -> None:
        self._mean_s = mean_s
        self._levels = [_Measured(make(data_size))]
        self._carry_s = 0.0
        self._carry_count = 0.0
        wanted_s = max(_FINEST_S, _FINE_SHARE * mean_s)
        extents = data_size
        while mean_s > 0 and self._levels[-1].cost_s > wanted_s and max(extents) > 1:
            extents = tuple(max(1, extent // 4) for extent in extents)
            smaller = _Measured(make(extents))
            if smaller.cost_s < self._levels[-1].cost_s / 2:
                self._levels.append(smaller)

    @property
    def call_cost_s(self) -> float:
        """What one call on the configured extents costs, as measured lately."""
        return self._levels[0].cost_s

    def run_for(self, run_time_s: float) -> Cost:
        """Run for `run_time_s`, give or take what is carried over; returns what was really spent."""
        start = time.perf_counter()
        budget = run_time_s + self._carry_s
        size_bytes = flops = 0
        for level in self._levels:
            finest = level is self._levels[-1]
            while True:
                left = budget - (time.perf_counter() - start)
                if left < (level.cost_s / 2 if finest else level.cost_s):
                    break
                cost = level()
                size_bytes += cost.size_bytes
                flops += cost.flops
        elapsed = time.perf_counter() - start
        self._carry_s = max(budget - elapsed, -_LARGEST_DEBT * max(self._mean_s, run_time_s))
        return Cost(elapsed, size_bytes, flops)

    def run_count(self, count: float) -> Cost:
        """Call it `count` times; the fraction of a call is carried over."""
        wanted = count + self._carry_count
        calls = int(wanted + 1e-9)
        self._carry_count = wanted - calls
        start = time.perf_counter()
        size_bytes = flops = 0
        for _ in range(calls):
            cost = self._levels[0]()
            size_bytes += cost.size_bytes
            flops += cost.flops
        return Cost(time.perf_counter() - start, size_bytes, flops)
