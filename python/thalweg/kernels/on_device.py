"""The part that all shipped kernels share: they keep the device they run on."""

from __future__ import annotations

from thalweg.kernels.devices import Device
from thalweg.kernels.kernel import Kernel, Setup


class OnDevice(Kernel):
    """A kernel that remembers its set-up."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    @property
    def device(self) -> Device:
        return self._setup.device
