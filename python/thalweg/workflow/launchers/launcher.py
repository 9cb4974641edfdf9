"""What an MPI launcher must say: its command line."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar


@dataclasses.dataclass(frozen=True)
class Job:
    """The processes to be started.

    Attributes
    ----------
    nodes : tuple of str
        Names of the nodes; empty: this one alone.
    processes_per_node : int
        Ranks on each; neighbouring ranks share a node.
    environment : mapping
        What each rank gets beside what its node has; values stay off the command line where the launcher can
        pass names alone.
    """

    nodes: tuple[str, ...]
    processes_per_node: int
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def processes(self) -> int:
        """Ranks in all."""
        return max(1, len(self.nodes)) * self.processes_per_node


class Launcher(ABC):
    """One launcher: how it is found and how it is called.

    Binding is left to Thalweg (`settle`), which pins each rank alike under every launcher; so each is told not to bind.

    Attributes
    ----------
    name : str
        What `launcher=` takes.
    programs : tuple of str
        Names of the program, the most specific first.
    told_by : tuple of str
        What its ``--version`` says, in lower case, when it is this launcher: one of these.
    mpi : str
        The MPI behind it, as mpi4py's MPI4PY_MPIABI names it; empty when any may be.
    """

    name: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    told_by: ClassVar[tuple[str, ...]]
    mpi: ClassVar[str] = ""

    @abstractmethod
    def options(self, job: Job) -> list[str]:
        """Return the arguments between the launcher and the program it starts."""

    def environment(self, job: Job) -> dict[str, str]:
        """Return what the launcher itself needs in its environment, the job's own included."""
        return dict(job.environment)

    def preferred(self, environment: Mapping[str, str]) -> bool:
        """Tell whether this process is inside a job of the batch system that the launcher belongs to."""
        return False

    def command(self, program: str, job: Job) -> list[str]:
        """Return the command line up to the program that each rank runs.

        Parameters
        ----------
        program : str
            Path of the launcher.
        """
        return [program, *self.options(job)]
