"""Kernels by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from thalweg.configuration import checked, suggestion
from thalweg.errors import ConfigError
from thalweg.kernels.devices import make_device
from thalweg.kernels.function_kernel import function_kernel
from thalweg.kernels.kernel import Kernel, Setup, check_data_size
from thalweg.ranks import OneRank, Ranks

Registered = TypeVar("Registered", bound=Callable[..., Any])

_HOME: dict[str, str | type[Kernel]] = {
    "MatMulSimple2D": "thalweg.kernels.matmul:MatMulSimple2D",
    "MatMulGeneral": "thalweg.kernels.matmul:MatMulGeneral",
    "FFT": "thalweg.kernels.fft:FFT",
    "AXPY": "thalweg.kernels.axpy:AXPY",
    "InplaceCompute": "thalweg.kernels.inplace_compute:InplaceCompute",
    "GenerateRandomNumber": "thalweg.kernels.random_numbers:GenerateRandomNumber",
    "ScatterAdd": "thalweg.kernels.scatter_add:ScatterAdd",
    "CopyHostToDevice": "thalweg.kernels.copy:CopyHostToDevice",
    "CopyDeviceToHost": "thalweg.kernels.copy:CopyDeviceToHost",
    "WriteSingleRank": "thalweg.kernels.hdf5_write:WriteSingleRank",
    "WriteNonMPI": "thalweg.kernels.hdf5_write:WriteNonMPI",
    "WriteWithMPI": "thalweg.kernels.hdf5_write:WriteWithMPI",
    "ReadNonMPI": "thalweg.kernels.hdf5_read:ReadNonMPI",
    "ReadWithMPI": "thalweg.kernels.hdf5_read:ReadWithMPI",
    "AllReduce": "thalweg.kernels.collectives:AllReduce",
    "AllGather": "thalweg.kernels.collectives:AllGather",
}


def kernel(name: str) -> Callable[[Registered], Registered]:
    """Register a kernel of one's own under `name`.

    Decorates a subclass of `Kernel`, or a function that takes a seeded random array of shape `data_size` (float64, on
    the
    device) and works on it; the function may return (bytes moved, floating-point operations).

    Raises
    ------
    ConfigError
        When the name is taken.

    Examples
    --------
    >>> from thalweg import kernel
    >>> from thalweg.kernels import make_kernel
    >>> @kernel("Smooth")
    ... def smooth(u):
    ...     u[1:-1] = (u[:-2] + u[2:]) / 2
    >>> make_kernel("Smooth", data_size=1000).__call__().size_bytes
    8000
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f'kernel: name is {name!r}; give text that is not empty, as in @kernel("Smooth")')
    if name in _HOME:
        raise ConfigError(f"kernel: the name {name!r} is taken; choose another than {', '.join(_HOME)}")

    def register(made: Registered) -> Registered:
        if isinstance(made, type) and issubclass(made, Kernel):
            _HOME[name] = made
        elif callable(made):
            _HOME[name] = function_kernel(made)
        else:
            raise ConfigError(f"kernel: {name!r} is {type(made).__name__}; decorate a function or a Kernel class")
        return made

    return register


def kernel_names() -> list[str]:
    """Return the names of all kernels."""
    return list(_HOME)


def kernel_class(name: object, what: str = "kernels") -> type[Kernel]:
    """Return the class of a kernel.

    Raises
    ------
    ConfigError
        When there is none of that name.
    """
    if not isinstance(name, str) or name not in _HOME:
        accepted = f"accepted are {', '.join(_HOME)}"
        advice = suggestion(name, kernel_names())
        if advice != accepted:
            advice = f"{advice} {accepted}"
        raise ConfigError(f"{what}: kernel {name!r} is unknown; {advice}")
    home = _HOME[name]
    if isinstance(home, str):
        module, _, attribute = home.partition(":")
        found: type[Kernel] = getattr(importlib.import_module(module), attribute)
        return found
    return home


def make_kernel(
    name: str,
    *,
    data_size: int | list[int] | tuple[int, ...],
    device: str = "cpu",
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    ranks: Ranks | None = None,
) -> Kernel:
    """Set a kernel up: allocate and fill its arrays on the device. Close it when it is not needed any more.

    Parameters
    ----------
    name : str
        One of `kernel_names()`.
    data_size : int or list of int
        Extents, with the meaning that the kernel's documentation gives them.
    device : str
        ``cpu``, ``cuda`` or ``xpu``.
    seed : int
        The same seed gives the same numbers.
    options : mapping
        Options of the kernel, for example ``{"dtype": "float32"}``.
    ranks : Ranks, optional
        The processes that run it together (`thalweg.ranks.current_ranks`), each calling this. Default: this one alone.

    Raises
    ------
    ConfigError
        For an unknown name, device or option, and for extents that the kernel does not take.
    MissingLibraryError
        When the device, or a library that the kernel needs, is not there.
    """
    chosen = kernel_class(name)
    extents = check_data_size(data_size, chosen.axes, f"{name}: data_size")
    checked_options = checked(chosen.Options, options or {}, f"{name}: options")
    ranks = OneRank() if ranks is None else ranks
    return chosen(Setup(extents, make_device(device, ranks.local_rank), seed, checked_options, ranks))
