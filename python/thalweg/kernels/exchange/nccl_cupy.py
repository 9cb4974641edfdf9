"""Collectives through NCCL as CuPy brings it."""

from __future__ import annotations

from typing import Any

from thalweg.errors import MissingLibraryError
from thalweg.kernels.exchange.exchange import Exchange, Reduction
from thalweg.ranks import Ranks


class CupyNccl(Exchange):
    """A NCCL communicator over the ranks, each with a GPU of its own (NCCL refuses two ranks on one).

    Raises
    ------
    MissingLibraryError
        When this CuPy is without NCCL.
    """

    def __init__(self, ranks: Ranks) -> None:
        import cupy
        from cupy.cuda import nccl

        if not nccl.available:
            raise MissingLibraryError(
                "kernels: this CuPy is without NCCL; install it (pip install nvidia-nccl-cu12, or -cu13, as CuPy's "
                "CUDA is), or use options.through 'mpi'"
            )
        self._cupy: Any = cupy
        self._types = {"float32": nccl.NCCL_FLOAT32, "float64": nccl.NCCL_FLOAT64}
        self._operations = {"sum": nccl.NCCL_SUM, "max": nccl.NCCL_MAX, "min": nccl.NCCL_MIN}
        unique = ranks.broadcast(nccl.get_unique_id() if ranks.rank == 0 else None)
        self._comm = nccl.NcclCommunicator(ranks.size, unique, ranks.rank)

    def all_reduce(self, mine: Any, result: Any, operation: Reduction) -> None:
        self._comm.allReduce(
            mine.data.ptr,
            result.data.ptr,
            mine.size,
            self._types[mine.dtype.name],
            self._operations[operation],
            self._cupy.cuda.get_current_stream().ptr,
        )

    def all_gather(self, mine: Any, result: Any) -> None:
        self._comm.allGather(
            mine.data.ptr,
            result.data.ptr,
            mine.size,
            self._types[mine.dtype.name],
            self._cupy.cuda.get_current_stream().ptr,
        )

    def close(self) -> None:
        self._comm.destroy()
