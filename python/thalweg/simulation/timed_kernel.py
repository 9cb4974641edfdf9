"""A kernel that runs for a given time or a given number of calls."""

from __future__ import annotations

import time
from collections.abc import Callable

from thalweg.kernels import Cost, Kernel
from thalweg.simulation.pacing import Measured, Pacer

_FINE_SHARE = 0.01  # the finest work that fills a remainder is aimed at this share of the mean run time
_FINEST_S = 2e-5


class TimedKernel:
    """Runs a kernel for times or counts that are configured, exact in the mean.

    What is left of a time after the last call that fits is filled with calls of the same kernel on smaller arrays.

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
        self._size_bytes = self._flops = 0
        self._kernel = make(data_size)
        self._carry_count = 0.0
        levels = [Measured(self._counted(self._kernel))]
        wanted_s = max(_FINEST_S, _FINE_SHARE * mean_s)
        extents = data_size
        while mean_s > 0 and levels[-1].cost_s > wanted_s and max(extents) > 1:
            extents = tuple(max(1, extent // 4) for extent in extents)
            smaller = Measured(self._counted(make(extents)))
            if smaller.cost_s < levels[-1].cost_s / 2:
                levels.append(smaller)
        self._levels = levels
        self._pacer = Pacer(levels, mean_s)

    @property
    def call_cost_s(self) -> float:
        """What one call on the configured extents costs, as measured lately."""
        return self._levels[0].cost_s

    def run_for(self, run_time_s: float) -> Cost:
        """Run for `run_time_s`, give or take what is carried over; returns what was really spent."""
        self._size_bytes = self._flops = 0
        elapsed = self._pacer.spend(run_time_s)
        return Cost(elapsed, self._size_bytes, self._flops)

    def run_count(self, count: float) -> Cost:
        """Call it `count` times; the fraction of a call is carried over."""
        wanted = count + self._carry_count
        calls = int(wanted + 1e-9)
        self._carry_count = wanted - calls
        start = time.perf_counter()
        size_bytes = flops = 0
        for _ in range(calls):
            cost = self._kernel()
            size_bytes += cost.size_bytes
            flops += cost.flops
        return Cost(time.perf_counter() - start, size_bytes, flops)

    def _counted(self, kernel: Kernel) -> Callable[[], None]:
        def call() -> None:
            cost = kernel()
            self._size_bytes += cost.size_bytes
            self._flops += cost.flops

        return call
