"""A user's function as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.kernels.devices import Device
from thalweg.kernels.kernel import Kernel, Setup


def function_kernel(function: Callable[..., Any]) -> type[Kernel]:
    """Return a kernel class that calls `function` with an array of shape `data_size`."""

    class FunctionKernel(Kernel):
        __doc__ = function.__doc__
        axes = tuple(range(1, 9))

        def __init__(self, setup: Setup) -> None:
            self._device = setup.device
            self._array = setup.random(setup.data_size)
            self._size_bytes = setup.count * setup.dtype.itemsize

        @property
        def device(self) -> Device:
            return self._device

        def work(self) -> tuple[int, int]:
            told = function(self._array)
            if isinstance(told, tuple) and len(told) == 2:
                return int(told[0]), int(told[1])
            return self._size_bytes, 0

    FunctionKernel.__name__ = getattr(function, "__name__", "FunctionKernel")
    return FunctionKernel
