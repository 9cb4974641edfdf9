"""Adding values at random places of an array."""

from __future__ import annotations

import numpy as np

from thalweg.kernels.kernel import Setup
from thalweg.kernels.on_device import OnDevice


class ScatterAdd(OnDevice):
    """y[index[i]] += x[i]; `data_size` is the number of values, or [values, length of y]. One operation a value."""

    axes = (1, 2)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        values, length = setup.data_size if len(setup.data_size) == 2 else setup.data_size * 2
        generator = np.random.default_rng(setup.seed)
        self._index = setup.device.from_host(generator.integers(0, length, values))
        self._x, self._y = setup.random((values,), 1), setup.random((length,), 2)
        item = setup.dtype.itemsize
        self._cost = (values * (3 * item + 8), values)

    def work(self) -> tuple[int, int]:
        self._setup.device.scatter_add(self._y, self._index, self._x)
        return self._cost
