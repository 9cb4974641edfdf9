"""Devices whose library has NumPy's functions under another name (CuPy, dpnp)."""

from __future__ import annotations

from typing import Any

from thalweg.kernels.devices.device import Device, Elementwise, Handle, Host


class NumpyLikeDevice(Device):
    """Calls the library `xp` as if it were NumPy."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def from_host(self, array: Host) -> Handle:
        return self._xp.asarray(array)

    def to_host(self, array: Handle, out: Host) -> None:
        out[...] = self._xp.asnumpy(array)

    def copy_in(self, array: Host, out: Handle) -> None:
        out[...] = self._xp.asarray(array)

    def matmul(self, a: Handle, b: Handle, out: Handle) -> None:
        self._xp.matmul(a, b, out=out)

    def transposed(self, a: Handle) -> Handle:
        return a.T

    def scale_add(self, alpha: float, x: Handle, beta: float, y: Handle) -> None:
        if beta != 1.0:
            y *= beta
        y += alpha * x

    def fft(self, a: Handle, *, real: bool) -> Handle:
        return self._xp.fft.rfftn(a) if real else self._xp.fft.fftn(a)

    def apply(self, operation: Elementwise, x: Handle) -> None:
        getattr(self._xp, operation)(x, out=x)

    def scatter_add(self, target: Handle, index: Handle, values: Handle) -> None:
        self._xp.add.at(target, index, values)

    def random_generator(self, seed: int) -> Any:
        return self._xp.random.RandomState(seed)

    def fill_random(self, generator: Any, out: Handle) -> None:
        out[...] = generator.random_sample(out.shape)
