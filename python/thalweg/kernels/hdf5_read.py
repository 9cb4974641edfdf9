"""Kernels that read HDF5 files, which they write and check when they are set up.

What they measure is mostly the system's page cache, as it is for a code that reads what was written just before.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.errors import CorruptDataError
from thalweg.kernels.hdf5_file import FileKernel, SharedFileOptions
from thalweg.kernels.kernel import Setup


class ReadNonMPI(FileKernel):
    """Each rank reads an array of shape `data_size` from a file of its own. Counts the array's bytes."""

    kind = "read"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._cost = (self._host.nbytes, 0)
        written = self._taken_from_device().copy()
        self._write(written)
        self._host.fill(np.nan)
        self.work()
        if not np.array_equal(self._host, written):
            raise CorruptDataError(
                f"kernels: {type(self).__name__}: {self.path} does not hold what rank {self._ranks.rank} wrote into it"
            )

    def work(self) -> tuple[int, int]:
        self._read(self._host)
        self._given_to_device()
        return self._cost


class ReadWithMPI(ReadNonMPI):
    """All ranks read one file through parallel HDF5 over MPI-IO, each its array of shape `data_size`.

    Each rank counts the bytes of its array.
    """

    Options = SharedFileOptions
    communicates: ClassVar[bool] = True
