"""Scaled vector addition."""

from __future__ import annotations

from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice


class AXPYOptions(KernelOptions):
    """Options of AXPY."""

    alpha: float = 1e-3


class AXPY(OnDevice):
    """y = alpha x + y over arrays of shape `data_size`; 2 operations an element."""

    Options = AXPYOptions

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._x, self._y = setup.random(setup.data_size, 0), setup.random(setup.data_size, 1)
        self._cost = (3 * setup.count * setup.dtype.itemsize, 2 * setup.count)

    def work(self) -> tuple[int, int]:
        self._setup.device.scale_add(self._setup.options.alpha, self._x, 1.0, self._y)
        return self._cost
