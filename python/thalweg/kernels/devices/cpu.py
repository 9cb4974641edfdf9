"""The host's processor, through NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels.devices.device import Device, Elementwise, Host


class CpuDevice(Device):
    """NumPy; its device memory is ordinary memory of the process."""

    name = "cpu"

    def from_host(self, array: Host) -> Host:
        return np.array(array)

    def to_host(self, array: Host, out: Host) -> None:
        np.copyto(out, array)

    def copy_in(self, array: Host, out: Host) -> None:
        np.copyto(out, array)

    def matmul(self, a: Host, b: Host, out: Host) -> None:
        np.matmul(a, b, out=out)

    def transposed(self, a: Host) -> Host:
        return a.T

    def scale_add(self, alpha: float, x: Host, beta: float, y: Host) -> None:
        if beta != 1.0:
            y *= y.dtype.type(beta)
        y += x if alpha == 1.0 else x.dtype.type(alpha) * x

    def fft(self, a: Host, *, real: bool) -> Host:
        return np.fft.rfftn(a) if real else np.fft.fftn(a)

    def apply(self, operation: Elementwise, x: Host) -> None:
        getattr(np, operation)(x, out=x)

    def scatter_add(self, target: Host, index: Host, values: Host) -> None:
        np.add.at(target, index, values)

    def random_generator(self, seed: int) -> np.random.Generator:
        return np.random.default_rng(seed)

    def fill_random(self, generator: Any, out: Host) -> None:
        generator.random(out=out, dtype=out.dtype)
