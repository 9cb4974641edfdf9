"""Kernels that write HDF5 files."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.hdf5_file import FileKernel, SharedFileOptions
from thalweg.kernels.kernel import Setup


class WriteNonMPI(FileKernel):
    """Each rank makes a file of its own with its array of shape `data_size`. Counts the array's bytes."""

    kind = "write"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._cost = (self._host.nbytes, 0)

    def work(self) -> tuple[int, int]:
        self._write(self._taken_from_device())
        return self._cost


class WriteSingleRank(FileKernel):
    """Rank 0 gathers the arrays, of shape `data_size` a rank, and makes one file of them.

    Rank 0 counts the bytes of all arrays, the others none.
    """

    kind = "write"
    communicates: ClassVar[bool] = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        writes = self._ranks.rank == 0
        self._all = np.empty((self._ranks.size, *setup.data_size), setup.dtype) if writes else None
        self._cost = (self._all.nbytes if self._all is not None else 0, 0)

    def work(self) -> tuple[int, int]:
        array = self._taken_from_device()
        if self._ranks.size > 1:
            self._ranks.comm.Gather(array, self._all, root=0)
        elif self._all is not None:
            self._all[0] = array
        if self._all is not None:
            self._write(self._all)
        return self._cost


class WriteWithMPI(FileKernel):
    """All ranks make one file through parallel HDF5 over MPI-IO, each writing its array of shape `data_size`.

    The file's dataset has shape (ranks, *data_size). Each rank counts the bytes of its array.
    """

    Options = SharedFileOptions
    kind = "write"
    communicates: ClassVar[bool] = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._cost = (self._host.nbytes, 0)

    def work(self) -> tuple[int, int]:
        self._write(self._taken_from_device())
        return self._cost
