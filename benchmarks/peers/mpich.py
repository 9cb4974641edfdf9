"""MPICH: Send and Recv between two ranks on one node; both sides spin."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.bench.contender import Array, Consumer, Contender, Producer


class _Sender(Producer):
    def __init__(self) -> None:
        from mpi4py import MPI

        self._world = MPI.COMM_WORLD

    def put(self, index: int, array: Array) -> None:
        self._world.Send(array, dest=1)

    def close(self) -> None:
        from mpi4py import MPI

        MPI.Finalize()


class _Receiver(Consumer):
    def __init__(self) -> None:
        from mpi4py import MPI

        self._world = MPI.COMM_WORLD

    def prepare(self, size_bytes: int) -> None:
        self._buffer = np.zeros(size_bytes // 8, dtype=np.uint64)

    def get(self, index: int) -> Array:
        self._world.Recv(self._buffer, source=0)
        return self._buffer

    def get_into(self, index: int, into: Array) -> None:
        self._world.Recv(into, source=0)

    def close(self) -> None:
        from mpi4py import MPI

        MPI.Finalize()


class Mpich(Contender):
    """A message between two ranks; there is nothing to look at without receiving it."""

    name = "mpich"
    coupled = True
    polls = True

    def available(self) -> str | None:
        if importlib.util.find_spec("mpi4py") is None or not self._mpiexec().exists():
            return "pip install mpi4py mpich"
        return None

    @staticmethod
    def _mpiexec() -> Path:
        return Path(sys.executable).parent / "mpiexec.hydra"

    def launcher(self) -> list[str]:
        return [str(self._mpiexec()), "-n", "2"]

    def join(self) -> None:
        from mpi4py import MPI

        MPI.COMM_WORLD.Barrier()

    def producer(self, place: Any) -> Producer:
        return _Sender()

    def consumer(self, place: Any) -> Consumer:
        return _Receiver()


CONTENDERS = (Mpich,)
