"""Collectives through mpi4py."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels.devices import Device
from thalweg.kernels.exchange.exchange import Exchange, Reduction
from thalweg.ranks import Ranks

Host = np.ndarray[Any, np.dtype[Any]]


class MPIExchange(Exchange):
    """Gives MPI the arrays' own memory where that is the host's; arrays of a GPU are copied to the host and back.

    Whether an MPI can be given memory of a GPU cannot be asked portably, and one that cannot crashes.
    """

    def __init__(self, device: Device, ranks: Ranks) -> None:
        self._device, self._comm = device, ranks.comm if ranks.size > 1 else None
        self._staging: dict[int, Host] = {}

    def all_reduce(self, mine: Any, result: Any, operation: Reduction) -> None:
        source, target = self._taken(mine), self._landing(result)
        if self._comm is None:
            np.copyto(target, source)
        else:
            from mpi4py import MPI

            self._comm.Allreduce(source, target, {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}[operation])
        self._delivered(target, result)

    def all_gather(self, mine: Any, result: Any) -> None:
        source, target = self._taken(mine), self._landing(result)
        if self._comm is None:
            np.copyto(target[0], source)
        else:
            self._comm.Allgather(source, target)
        self._delivered(target, result)

    def _landing(self, array: Any) -> Host:
        """Return the host's memory for an array: its own, or one made once to stand for it."""
        if isinstance(array, np.ndarray):
            return array
        key = id(array)
        if key not in self._staging:
            dtype = np.dtype(str(array.dtype).removeprefix("torch."))
            self._staging[key] = np.empty(tuple(array.shape), dtype)
        return self._staging[key]

    def _taken(self, array: Any) -> Host:
        host = self._landing(array)
        if host is not array:
            self._device.to_host(array, host)
        return host

    def _delivered(self, host: Host, array: Any) -> None:
        if host is not array:
            self._device.copy_in(host, array)
