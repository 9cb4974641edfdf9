"""A function applied to an array in place."""

from __future__ import annotations

from typing import Literal

from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice


class InplaceOptions(KernelOptions):
    """Options of InplaceCompute."""

    operation: Literal["sin", "sqrt", "tanh"] = "sin"


class InplaceCompute(OnDevice):
    """x = f(x) over an array of shape `data_size`, f one of sin, sqrt, tanh; counted as one operation an element.

    The functions keep numbers of [0, 1] inside [0, 1], however often they are applied.
    """

    Options = InplaceOptions

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._x = setup.random(setup.data_size)
        self._cost = (2 * setup.count * setup.dtype.itemsize, setup.count)

    def work(self) -> tuple[int, int]:
        self._setup.device.apply(self._setup.options.operation, self._x)
        return self._cost
