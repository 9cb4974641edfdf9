"""What a kernel is."""

from __future__ import annotations

import dataclasses
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from thalweg.errors import ConfigError
from thalweg.kernels.devices import Device
from thalweg.ranks import OneRank, Ranks


class Cost(NamedTuple):
    """What one call of a kernel took.

    Attributes
    ----------
    elapsed_s : float
        Seconds, until the device was done.
    size_bytes : int
        Bytes that must move between memory and the device's cores: every input read once, every output written once.
    flops : int
        Floating-point operations.
    """

    elapsed_s: float
    size_bytes: int
    flops: int


class KernelOptions(BaseModel):
    """Options of every kernel; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    dtype: Literal["float32", "float64"] = "float64"


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a kernel is made from: extents, device, seed, checked options, the ranks that it runs on."""

    data_size: tuple[int, ...]
    device: Device
    seed: int
    options: Any
    ranks: Ranks = dataclasses.field(default_factory=OneRank)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        dtype: np.dtype[Any] = np.dtype(self.options.dtype)
        return dtype

    def random(self, shape: Sequence[int], stream: int = 0) -> Any:
        """Return seeded random numbers in [0, 1) on the device; `stream` tells inputs of one kernel apart."""
        generator = np.random.default_rng((self.seed, stream))
        return self.device.from_host(generator.random(tuple(shape), self.dtype))

    @property
    def count(self) -> int:
        """Product of the extents."""
        return math.prod(self.data_size)


class Kernel(ABC):
    """A piece of work that is set up once and then called as often as wanted.

    Attributes
    ----------
    axes : tuple of int
        How many extents `data_size` may have.
    kind : str
        What a run of it is among the events of a trace.
    backend : str
        Technology that moves its data, for the trace; empty for none.
    communicates : bool
        Whether its ranks wait for each other: then each must make it, and call it as often as the others.
    """

    Options: ClassVar[type[KernelOptions]] = KernelOptions
    axes: ClassVar[tuple[int, ...]] = (1, 2, 3)
    kind: ClassVar[Literal["compute", "collective", "read", "write"]] = "compute"
    backend: ClassVar[str] = ""
    communicates: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, setup: Setup) -> None: ...

    @abstractmethod
    def work(self) -> tuple[int, int]:
        """Do it once; return (bytes moved, floating-point operations)."""

    @property
    @abstractmethod
    def device(self) -> Device:
        """Where it runs."""

    def close(self) -> None:
        """Give back what is not memory: files, communicators. It is not called again after that."""
        return

    def __call__(self) -> Cost:
        """Do it once and wait until the device is done."""
        start = time.perf_counter()
        size_bytes, flops = self.work()
        self.device.synchronize()
        return Cost(time.perf_counter() - start, size_bytes, flops)


def check_data_size(data_size: object, axes: tuple[int, ...], what: str) -> tuple[int, ...]:
    """Return extents as a tuple.

    Raises
    ------
    ConfigError
        When it is not one positive integer or a list of as many as the kernel takes.
    """
    entries = [data_size] if isinstance(data_size, int) else data_size
    if not isinstance(entries, (list, tuple)) or not entries:
        raise ConfigError(f"{what}: is {data_size!r}; give an integer or a list of them, each 1 or more")
    for entry in entries:
        if isinstance(entry, bool) or not isinstance(entry, int) or entry < 1:
            raise ConfigError(f"{what}: has the extent {entry!r}; give integers of 1 or more")
    if len(entries) not in axes:
        accepted = " or ".join(str(number) for number in axes)
        raise ConfigError(
            f"{what}: has {len(entries)} extent{'s' if len(entries) > 1 else ''}; this kernel takes {accepted}"
        )
    return tuple(entries)
