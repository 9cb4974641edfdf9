"""Which of how many processes this one is, when a component runs as several."""

from __future__ import annotations

import importlib
import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from thalweg.errors import ConfigError, InvalidError, MissingLibraryError

#: Environment variables that launchers set in each rank: rank, number of ranks; and the MPI behind.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("PMI_RANK", "PMI_SIZE", "mpich"),
    ("PALS_RANKID", "PALS_SIZE", "mpich"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", None),  # SLURM_NTASKS is also set in a batch script
)
#: The rank on this node, whoever told the rank: Slurm and PALS speak PMI too. `workflow.settle` has the same list.
LOCAL_RANKS = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",  # last: a batch script has it as well
)
#: What Open MPI tells the ranks of a job of their job, beside what the user may have set.
_OF_OPEN_MPI = (
    *("OMPI_MCA_ess", "OMPI_MCA_orte", "OMPI_MCA_pmix", "OMPI_MCA_prte", "OMPI_MCA_initial_wdir", "PRTE_"),
    *("OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_FILE_LOCATION"),
)


class Place(NamedTuple):
    """What a launcher told this process: its rank, of how many, its rank on this node, and whose MPI it is."""

    rank: int
    size: int
    local_rank: int
    mpi: str | None


def launched_place(environment: Mapping[str, str] | None = None) -> Place:
    """Return what an MPI launcher told in the environment; rank 0 of 1 when none did. Imports no MPI."""
    environment = os.environ if environment is None else environment
    for rank, size, mpi in _LAUNCHERS:
        if rank in environment and size in environment:
            if rank == "PMI_RANK" and "SLURM_PROCID" in environment:
                mpi = None  # Slurm's own PMI, which more than one MPI speaks
            try:
                mine, of = int(environment[rank]), int(environment[size])
                local = next((environment[name] for name in LOCAL_RANKS if name in environment), mine)
                return Place(mine, of, int(local), mpi)
            except ValueError:
                raise InvalidError(
                    f"ranks: {rank}={environment[rank]!r} and {size}={environment[size]!r} are set, but are no numbers"
                ) from None
    return Place(0, 1, 0, None)


def without_place(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a process that is no rank of the job that this one may be a rank of."""
    own = {*LOCAL_RANKS, *(variable for launcher in _LAUNCHERS for variable in launcher[:2])}
    prefixes: tuple[str, ...] = ("PMIX_", "PMI_", "OMPI_COMM_WORLD_", "MPI_LOCAL")
    if "OMPI_COMM_WORLD_RANK" in environment:
        prefixes += _OF_OPEN_MPI  # its mpirun would take itself for a rank, and refuse
    return {name: value for name, value in environment.items() if name not in own and not name.startswith(prefixes)}


class Ranks(ABC):
    """The processes of one component.

    Attributes
    ----------
    rank, size, local_rank : int
        This process's rank, of how many, and its rank among those on its node.
    comm : mpi4py.MPI.Comm or None
        The communicator behind, for kernels and users that speak MPI themselves.
    """

    rank: int
    size: int
    local_rank: int
    comm: Any

    @abstractmethod
    def barrier(self) -> None:
        """Wait until all ranks are here."""

    @abstractmethod
    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value that `root` gave, on every rank."""

    @abstractmethod
    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, by rank, on every rank."""


class OneRank(Ranks):
    """A component of one process; needs no MPI."""

    rank, size, local_rank = 0, 1, 0
    comm = None

    def barrier(self) -> None:
        return

    def broadcast(self, value: Any, root: int = 0) -> Any:
        return value

    def gather(self, value: Any) -> list[Any]:
        return [value]


class MPIRanks(Ranks):
    """The ranks of an mpi4py communicator."""

    def __init__(self, comm: Any, local_rank: int) -> None:
        self.comm, self.rank, self.size, self.local_rank = comm, comm.Get_rank(), comm.Get_size(), local_rank

    def barrier(self) -> None:
        self.comm.Barrier()

    def broadcast(self, value: Any, root: int = 0) -> Any:
        return self.comm.bcast(value, root)

    def gather(self, value: Any) -> list[Any]:
        gathered: list[Any] = self.comm.allgather(value)
        return gathered


def _imported_mpi(place: Place) -> Any:
    """Import mpi4py.MPI for the launcher's MPI.

    Its wheels hold an extension for each ABI, and left alone they take that of the first library they find, whose MPI
    may be another one. But they find libraries in more places then, such as those of MPIs from PyPI.
    """
    if place.mpi is not None and "MPI4PY_MPIABI" not in os.environ:
        os.environ["MPI4PY_MPIABI"] = place.mpi
        try:
            return importlib.import_module("mpi4py.MPI")
        except ImportError:
            del os.environ["MPI4PY_MPIABI"]
    return importlib.import_module("mpi4py.MPI")


def current_ranks(comm: Any = None) -> Ranks:
    """Return the ranks of `comm`, or, without one, those that the MPI launcher of this process started.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or Ranks, optional
        Ranks are returned as they are.

    Raises
    ------
    MissingLibraryError
        When a launcher started several ranks and mpi4py is not installed.
    ConfigError
        When mpi4py cannot load the launcher's MPI, or is of another, so that each rank would believe to be alone.
    """
    if isinstance(comm, Ranks):
        return comm
    place = launched_place()
    if comm is not None:
        return MPIRanks(comm, place.local_rank)
    if place.size == 1:
        return OneRank()
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingLibraryError(
            f"ranks: {place.size} ranks were started, which need mpi4py; pip install 'thalweg[mpi]'"
        )
    try:
        mpi = _imported_mpi(place)
    except ImportError as error:
        raise ConfigError(
            f"ranks: {place.size} ranks were started, and mpi4py cannot load their MPI "
            f"({place.mpi or 'unknown'}): {error}; put its library into LD_LIBRARY_PATH, or build mpi4py with its "
            "compiler: pip install --no-binary=mpi4py --force-reinstall mpi4py"
        ) from error
    world = mpi.COMM_WORLD
    if world.Get_size() != place.size:
        raise ConfigError(
            f"ranks: the launcher started {place.size} ranks, mpi4py sees {world.Get_size()}: it uses "
            f"{mpi.Get_library_version().splitlines()[0]!r}, another MPI than the launcher's; "
            "use that MPI's mpirun, or set MPI4PY_MPIABI"
        )
    return MPIRanks(world, place.local_rank)
