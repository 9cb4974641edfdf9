"""The staging service: a server beside the components, and no file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from thalweg.bench.c_library import options as library_options
from thalweg.bench.ensemble.mpi import MPI
from thalweg.bench.ensemble.transports.pnetcdf_tmpfs import MEMORY
from thalweg.bench.ensemble.transports.transport import Case, Transport

#: A cycle's version is dropped when the next one is complete; this leaves room for what is rounded up.
_VERSIONS = 4
_SPARE_BYTES = 64 << 20


class Staging(Transport):
    """The same program with its sessions as puts and gets of Thalweg's C library."""

    name = "staging"
    backend = "staging.c"

    def check(self, mpi: MPI) -> None:
        mpi.require("thalweg.h", library_options(), "run make languages, or make install")

    def options(self) -> Sequence[str]:
        return ("-lthalweg", *library_options())

    def base(self, disk: Path) -> Path:
        return MEMORY if MEMORY.is_dir() else disk

    @contextlib.contextmanager
    def served(self, case: Case) -> Iterator[str]:
        from thalweg.staging import Server

        with Server(memory_limit_bytes=_VERSIONS * case.stored_bytes + _SPARE_BYTES) as server:
            yield server.address
