"""Generation of random numbers."""

from __future__ import annotations

from typing import Any

from thalweg.kernels.kernel import Setup
from thalweg.kernels.on_device import OnDevice


class GenerateRandomNumber(OnDevice):
    """Fills an array of shape `data_size` with uniform numbers in [0, 1); no floating-point operations are counted."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._generator = setup.device.random_generator(setup.seed)
        self._out = setup.random(setup.data_size)
        self._cost = (setup.count * setup.dtype.itemsize, 0)

    def work(self) -> tuple[int, int]:
        self._setup.device.fill_random(self._generator, self._out)
        return self._cost

    @property
    def output(self) -> Any:
        """The numbers of the last call, on the device."""
        return self._out
