"""Fast Fourier transform in one to three dimensions."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice


class FFTOptions(KernelOptions):
    """Options of FFT."""

    kind: Literal["complex", "real"] = "complex"


class FFT(OnDevice):
    """Transform over all axes of an array of shape `data_size` (1 to 3 extents), complex or real input.

    5 N log2 N operations for N complex points, half for real ones (the convention of FFTW's benchmarks,
    http://www.fftw.org/speed/method.html).
    """

    Options = FFTOptions
    axes = (1, 2, 3)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._real = setup.options.kind == "real"
        if self._real:
            self._input = setup.random(setup.data_size)
        else:
            generator = np.random.default_rng(setup.seed)
            parts = generator.random((2, *setup.data_size), setup.dtype)
            self._input = setup.device.from_host(parts[0] + 1j * parts[1])
        points, item = setup.count, setup.dtype.itemsize
        flops = 5 * points * math.log2(max(points, 2))
        last = setup.data_size[-1]
        output = points // last * (last // 2 + 1) if self._real else points
        self._cost = (
            item * (points * (1 if self._real else 2) + output * 2),
            round(flops / 2 if self._real else flops),
        )

    def work(self) -> tuple[int, int]:
        self._setup.device.fft(self._input, real=self._real)
        return self._cost
