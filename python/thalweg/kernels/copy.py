"""Copies between the host's and the device's memory; on `cpu`, from one array to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels.kernel import Setup
from thalweg.kernels.on_device import OnDevice


class _Copy(OnDevice):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._host = np.random.default_rng(setup.seed).random(setup.data_size, setup.dtype)
        self._there: Any = setup.device.from_host(self._host)
        self._cost = (self._host.nbytes, 0)


class CopyHostToDevice(_Copy):
    """Copies an array of shape `data_size` into the device's memory. Counts the array's bytes once."""

    def work(self) -> tuple[int, int]:
        self._setup.device.copy_in(self._host, self._there)
        return self._cost


class CopyDeviceToHost(_Copy):
    """Copies an array of shape `data_size` out of the device's memory. Counts the array's bytes once."""

    def work(self) -> tuple[int, int]:
        self._setup.device.to_host(self._there, self._host)
        return self._cost
