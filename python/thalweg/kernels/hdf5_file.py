"""The HDF5 file of an IO kernel: of one process, or of all ranks through MPI-IO."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np

from thalweg.errors import ConfigError, MissingLibraryError
from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice
from thalweg.kernels.owned_folder import OwnedFolder
from thalweg.ranks import OneRank, Ranks

Host = np.ndarray[Any, np.dtype[Any]]
DATASET = "data"


class FileOptions(KernelOptions):
    """Options of IO kernels.

    Attributes
    ----------
    folder : str or None
        Where the kernel makes a folder of its own for its files; with several nodes and one shared file it must be on a
        file system that they share. Default: the system's temporary folder.
    keep : bool
        Leave the files when the kernel is closed.
    fsync : bool
        A write is over when the data is on the storage, not in the system's cache.
    """

    folder: str | None = None
    keep: bool = False
    fsync: bool = False


class SharedFileOptions(FileOptions):
    """Options of kernels whose ranks share one file: how MPI-IO moves the ranks' parts."""

    transfer: Literal["collective", "independent"] = "collective"


class FileKernel(OnDevice):
    """What IO kernels share: an array of shape `data_size` a rank, and a folder for the file.

    An array on a GPU goes through the host's memory, and that copy is part of the call.
    """

    Options = FileOptions
    axes = tuple(range(1, 9))
    backend = "hdf5"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = isinstance(setup.options, SharedFileOptions)
        self._h5py = _h5py(type(self).__name__, parallel=self._shared)
        self._ranks = setup.ranks
        self._array = setup.random(setup.data_size)
        on_host = isinstance(self._array, np.ndarray)
        self._host: Host = self._array if on_host else np.empty(setup.data_size, setup.dtype)
        # of one file for all ranks there is one folder, which rank 0 makes and removes
        options = setup.options
        if self.communicates:
            self._folder = OwnedFolder(options.folder, options.keep) if self._ranks.rank == 0 else None
            path = Path(self._ranks.broadcast(str(self._folder.path) if self._folder is not None else ""))
            if not all(self._ranks.gather(path.is_dir())):
                raise ConfigError(
                    f"kernels: {type(self).__name__}: not every rank sees {path}; "
                    "give as options.folder one on a file system that all nodes share"
                )
        else:
            self._folder = OwnedFolder(options.folder, options.keep)
            path = self._folder.path
        self.path = path / ("data.h5" if self.communicates else f"data-{self._ranks.rank}.h5")

    def close(self) -> None:
        if self._folder is not None:
            self._folder.remove()

    def _taken_from_device(self) -> Host:
        if self._host is not self._array:
            self._setup.device.to_host(self._array, self._host)
        return self._host

    def _given_to_device(self) -> None:
        if self._host is not self._array:
            self._setup.device.copy_in(self._host, self._array)

    def _write(self, array: Host) -> None:
        """Make the file anew: of `array`, or, when it is shared, of the arrays of all ranks along a first axis."""
        with self._open("w") as file:
            if self._shared:
                data = file.create_dataset(DATASET, (self._ranks.size, *array.shape), array.dtype)
                with self._transfer(data):
                    data[self._ranks.rank] = array
            else:
                file.create_dataset(DATASET, data=array)
            if self._setup.options.fsync:
                file.flush()  # over MPI-IO this is MPI_File_sync
                if not self._shared:
                    os.fsync(file.id.get_vfd_handle())

    def _read(self, into: Host) -> None:
        """Read what this rank wrote."""
        with self._open("r") as file:
            data = file[DATASET]
            if self._shared:
                with self._transfer(data):
                    data.read_direct(into, np.s_[self._ranks.rank])
            else:
                data.read_direct(into)

    def _open(self, mode: str) -> Any:
        if self._shared:
            return self._h5py.File(self.path, mode, driver="mpio", comm=_communicator(self._ranks))
        return self._h5py.File(self.path, mode)

    def _transfer(self, data: Any) -> AbstractContextManager[Any]:
        collective: bool = self._setup.options.transfer == "collective"
        return data.collective if collective else nullcontext()


def _communicator(ranks: Ranks) -> Any:
    if isinstance(ranks, OneRank):
        from mpi4py import MPI

        return MPI.COMM_SELF
    return ranks.comm


def _h5py(kernel: str, parallel: bool) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingLibraryError(f"kernels: {kernel} needs h5py; pip install 'thalweg[io]'") from error
    if parallel and not h5py.get_config().mpi:
        raise MissingLibraryError(
            f"kernels: {kernel} needs an h5py with MPI, this one ({h5py.version.version}) is without; "
            "HDF5_MPI=ON CC=mpicc HDF5_DIR=<folder of a parallel HDF5> pip install --force-reinstall --no-deps "
            "--no-binary=h5py h5py (Debian: libhdf5-openmpi-dev or libhdf5-mpich-dev, and in place of HDF5_DIR "
            "HDF5_PKGCONFIG_NAME=hdf5-openmpi or hdf5-mpich)"
        )
    return h5py
