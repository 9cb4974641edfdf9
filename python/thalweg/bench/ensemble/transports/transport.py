"""What a transport must say: which program, which launch, and where its files are."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from thalweg.bench.ensemble.domain import Domain
from thalweg.bench.ensemble.mpi import MPI
from thalweg.bench.ensemble.traffic import traffic


@dataclass(frozen=True)
class Case:
    """One point of a figure: so many ensembles, each with a domain of its own."""

    domain: Domain
    ensembles: int

    @property
    def processes(self) -> int:
        """Of one component, in all ensembles."""
        return self.ensembles * self.domain.processes

    @property
    def stored_bytes(self) -> int:
        """Cells of all files of a cycle."""
        bytes_of = traffic(self.domain)
        return self.ensembles * (bytes_of.history + bytes_of.analysis)


class Transport(ABC):
    """One way to exchange data.

    Attributes
    ----------
    name : str
        As in ``--transports``.
    backend : str
        The C file that has its sessions.
    joint : bool
        Whether both components are in one MPI world.
    meet : bool
        Whether components of two worlds wait for each other, by a counter in memory, where those of one world do.
    replays : tuple
        A contender each: with and without replay; None where there is no such thing.
    """

    name: ClassVar[str]
    backend: ClassVar[str] = "pnetcdf.c"
    joint: ClassVar[bool] = True
    meet: ClassVar[bool] = False
    replays: ClassVar[tuple[bool | None, ...]] = (None,)

    def check(self, mpi: MPI) -> None:
        """Raise MissingLibraryError, saying what to install, where this transport cannot run."""
        mpi.require("pnetcdf.h", (), "install PnetCDF (Debian: apt-get install libpnetcdf-dev)")

    def options(self) -> Sequence[str]:
        """Return what the compiler needs for the backend."""
        return ("-lpnetcdf",)

    @abstractmethod
    def base(self, disk: Path) -> Path:
        """Return where the folder of a job is to be; `disk` is the user's on disk."""

    @contextlib.contextmanager
    def served(self, case: Case) -> Iterator[str]:
        """Run what the components need beside them; yields the address that they are told."""
        yield "-"

    def launch(self, mpi_command: list[str], scratch: Path, replay: bool | None) -> list[str]:
        """Return the command line of a job, from that of its MPI; `scratch` is for what it needs in files."""
        return mpi_command
