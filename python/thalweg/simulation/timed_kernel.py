"""A kernel that runs for a given time or a given number of calls."""

from __future__ import annotations

import time
from collections.abc import Callable

from thalweg.kernels import Cost, Kernel
from thalweg.ranks import OneRank, Ranks
from thalweg.simulation.pacing import Measured, Pacer
from thalweg.simulation.together import Together

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
    ranks : Ranks, optional
        Those that the kernel communicates with; then all of them make and run it, for the times or counts of rank 0.
    """

    def __init__(
        self,
        make: Callable[[tuple[int, ...]], Kernel],
        data_size: tuple[int, ...],
        mean_s: float,
        ranks: Ranks | None = None,
    ) -> None:
        self._size_bytes = self._flops = 0
        self._carry_count = 0.0
        self._together = Together(OneRank() if ranks is None else ranks)
        self._kernels: list[Kernel] = []
        try:
            levels = [self._level(make(data_size))]
            wanted_s = max(_FINEST_S, _FINE_SHARE * mean_s)
            extents = data_size
            while self._together.agree(mean_s > 0 and levels[-1].cost_s > wanted_s) and max(extents) > 1:
                extents = tuple(max(1, extent // 4) for extent in extents)
                smaller = self._level(make(extents))
                if self._together.agree(smaller.cost_s < levels[-1].cost_s / 2):
                    levels.append(smaller)
        except BaseException:
            self.close()
            raise
        self._levels = levels
        self._pacer = Pacer(levels, mean_s)

    @property
    def call_cost_s(self) -> float:
        """What one call on the configured extents costs, as measured lately."""
        return self._levels[0].cost_s

    def run_for(self, run_time_s: float) -> Cost:
        """Run for `run_time_s`, give or take what is carried over; returns what was really spent."""
        self._size_bytes = self._flops = 0
        start = time.perf_counter()
        spent = self._together.decide(lambda: self._pacer.spend(run_time_s, start))
        elapsed = time.perf_counter() - start
        if spent is not None:
            self._pacer.carry_s -= elapsed - spent  # telling the others that it is over takes time too
        return Cost(elapsed, self._size_bytes, self._flops)

    def run_count(self, count: float) -> Cost:
        """Call it `count` times; the fraction of a call is carried over."""
        wanted = count + self._carry_count
        calls = int(wanted + 1e-9)
        self._carry_count = wanted - calls
        start = time.perf_counter()
        size_bytes = flops = 0
        for _ in range(self._together.agree(calls)):
            cost = self._kernels[0]()
            size_bytes += cost.size_bytes
            flops += cost.flops
        return Cost(time.perf_counter() - start, size_bytes, flops)

    def close(self) -> None:
        """Close the kernel, and those on smaller arrays."""
        while self._kernels:
            self._kernels.pop().close()

    def _level(self, kernel: Kernel) -> Measured:
        self._kernels.append(kernel)

        def call() -> None:
            cost = kernel()
            self._size_bytes += cost.size_bytes
            self._flops += cost.flops

        return Measured(self._together.add(call))
