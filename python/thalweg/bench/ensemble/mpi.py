"""The MPI that compiles and starts the components: its compiler wrapper and its launcher."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import ComponentFailedError, MissingLibraryError
from thalweg.workflow.launchers.launcher import Job, Launcher
from thalweg.workflow.launchers.search import find_launcher

PROGRAMS = Path(__file__).with_name("programs")
_SOURCES = ("ensemble.c", "plan.c", "requests.c", "meeting.c")
_OPTIONS = ("-O3", "-march=native", "-std=gnu11")
_COMPILE_S = 120.0
#: What makes files fast under each MPI, where the user has not said otherwise: ranks yield where there are more of them
#: than cores; shared memory instead of a system call that containers refuse; and ROMIO, with which collective writes of
#: interleaved blocks take half the time or less of what Open MPI's own implementation of MPI-IO takes.
_ENVIRONMENT = {
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_io": "^ompio",
    },
    "mpich": {},
}


@dataclass(frozen=True)
class MPI:
    """One MPI of this machine."""

    compiler: str
    launcher: Launcher
    program: str

    def command(self, processes: int, component: Sequence[str], other: Sequence[str]) -> list[str]:
        """Return the command line that starts two components beside each other, each on so many processes."""
        first = self.launcher.command(self.program, Job((), processes))
        return [*first, *component, ":", "-n", str(processes), *other]

    def environment(self, processes: int) -> dict[str, str]:
        """Return what the launcher and the components have in their environment."""
        return {
            **_ENVIRONMENT[self.launcher.name],
            **os.environ,
            **self.launcher.environment(Job((), processes)),
            "OMP_NUM_THREADS": "1",
        }

    def require(self, header: str, options: Sequence[str], install: str) -> None:
        """Raise MissingLibraryError where the compiler does not find a header; `install` says how to get it."""
        command = [self.compiler, *options, "-fsyntax-only", "-include", header, "-x", "c", os.devnull]
        if subprocess.run(command, capture_output=True, timeout=_COMPILE_S).returncode:
            raise MissingLibraryError(f"bench ensemble: {self.compiler} does not find {header}; {install}")

    def compiled(self, backend: str, options: Sequence[str], folder: Path) -> Path:
        """Compile the components with one transport's sessions into a folder, once.

        Raises
        ------
        ComponentFailedError
            When it does not compile, with the compiler's words.
        """
        program = folder / f"ensemble-{Path(backend).stem}"
        if not program.exists():
            sources = [str(PROGRAMS / name) for name in (*_SOURCES, backend)]
            done = subprocess.run(
                [self.compiler, *_OPTIONS, *sources, "-o", str(program), *options],
                capture_output=True,
                text=True,
                timeout=_COMPILE_S,
            )
            if done.returncode:
                raise ComponentFailedError(f"bench ensemble: {backend} does not compile: {done.stderr.strip()}")
        return program


def find_mpi() -> MPI:
    """Return Open MPI where it is installed, else MPICH: ranks of Debian's MPICH do not yield.

    Raises
    ------
    MissingLibraryError
        Without a compiler wrapper or a launcher.
    """
    found_launcher = False
    for name in _ENVIRONMENT:
        try:
            launcher, program = find_launcher(name, "ensemble")
        except MissingLibraryError:
            continue
        found_launcher = True
        compiler = shutil.which(f"mpicc.{name}") or shutil.which("mpicc")
        if compiler is not None:
            return MPI(compiler, launcher, program)
    if found_launcher:
        raise MissingLibraryError(
            "bench ensemble: there is no mpicc; install one (Debian: apt-get install libopenmpi-dev)"
        )
    raise MissingLibraryError(
        "bench ensemble: there is no mpirun of Open MPI or MPICH; install one (Debian: apt-get install openmpi-bin)"
    )
