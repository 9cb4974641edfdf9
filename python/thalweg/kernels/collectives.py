"""Kernels in which all ranks exchange arrays."""

from __future__ import annotations

from typing import ClassVar, Literal

from thalweg.kernels.exchange import make_exchange
from thalweg.kernels.exchange.exchange import Reduction
from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice


class CollectiveOptions(KernelOptions):
    """Options of collectives.

    Attributes
    ----------
    through : str
        ``mpi``: mpi4py, which takes arrays of a GPU through the host's memory; ``nccl``: NCCL, for arrays of an NVIDIA
        GPU. ``device``: nccl on `cuda`, else mpi.
    """

    through: Literal["device", "mpi", "nccl"] = "device"


class AllReduceOptions(CollectiveOptions):
    """Options of AllReduce."""

    operation: Reduction = "sum"


class _Collective(OnDevice):
    """What collectives share: an array of shape `data_size` a rank, and one that takes the result.

    The input stays as it is, so that values do not grow from call to call.
    """

    Options = CollectiveOptions
    axes = tuple(range(1, 9))
    kind = "collective"
    communicates: ClassVar[bool] = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._exchange = make_exchange(setup.options.through, setup.device, setup.ranks)
        self._mine = setup.random(setup.data_size)
        self._size = setup.ranks.size

    def close(self) -> None:
        self._exchange.close()


class AllReduce(_Collective):
    """Each rank gets the sum (or max, min) over the ranks of their arrays of shape `data_size`.

    Counts the bytes of one array, as NCCL's tests do (algorithm bandwidth,
    https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md), and this rank's share of the additions.
    """

    Options = AllReduceOptions

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._result = setup.random(setup.data_size, 1)
        self._cost = (setup.count * setup.dtype.itemsize, setup.count * (self._size - 1) // self._size)

    def work(self) -> tuple[int, int]:
        self._exchange.all_reduce(self._mine, self._result, self._setup.options.operation)
        return self._cost


class AllGather(_Collective):
    """Each rank gets the arrays of all ranks, of shape `data_size` each, as one of shape (ranks, *data_size).

    Counts the bytes of the result, as NCCL's tests do.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._result = setup.random((self._size, *setup.data_size), 1)
        self._cost = (self._size * setup.count * setup.dtype.itemsize, 0)

    def work(self) -> tuple[int, int]:
        self._exchange.all_gather(self._mine, self._result)
        return self._cost
