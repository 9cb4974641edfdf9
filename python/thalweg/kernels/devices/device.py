"""What a device must do for the kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

Host = np.ndarray[Any, np.dtype[Any]]
Handle = Any  # an array on the device
ELEMENTWISE = ("sin", "exp", "sqrt", "tanh")
Elementwise = Literal["sin", "exp", "sqrt", "tanh"]


class Device(ABC):
    """Array operations on one device. Operations may return before they are done; `synchronize` waits for them."""

    name: ClassVar[str]

    @abstractmethod
    def from_host(self, array: Host) -> Handle:
        """Copy an array of the host to the device."""

    @abstractmethod
    def to_host(self, array: Handle, out: Host) -> None:
        """Copy an array of the device into `out`; returns when it is there."""

    @abstractmethod
    def copy_in(self, array: Host, out: Handle) -> None:
        """Copy an array of the host into an existing one of the device."""

    @abstractmethod
    def matmul(self, a: Handle, b: Handle, out: Handle) -> None:
        """out = a b, row-major matrices."""

    @abstractmethod
    def transposed(self, a: Handle) -> Handle:
        """Return a view of a matrix with its axes exchanged."""

    @abstractmethod
    def scale_add(self, alpha: float, x: Handle, beta: float, y: Handle) -> None:
        """y = alpha x + beta y, in place of y."""

    @abstractmethod
    def fft(self, a: Handle, *, real: bool) -> Handle:
        """Return the discrete Fourier transform over all axes."""

    @abstractmethod
    def apply(self, operation: Elementwise, x: Handle) -> None:
        """x = operation(x), in place."""

    @abstractmethod
    def scatter_add(self, target: Handle, index: Handle, values: Handle) -> None:
        """target[index] += values, counting repeated indices."""

    @abstractmethod
    def random_generator(self, seed: int) -> Any:
        """Return a generator for `fill_random`."""

    @abstractmethod
    def fill_random(self, generator: Any, out: Handle) -> None:
        """Fill `out` with uniform random numbers in [0, 1)."""

    def synchronize(self) -> None:
        """Block until all operations so far are done."""
        return
