"""One case through parallel HDF5: a program under mpirun, one shared file a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.roles import TIMEOUT_S, Ready
from thalweg.bench.staging.settings import Case, Settings
from thalweg.bench.staging.staged import Seen
from thalweg.errors import ComponentFailedError, MissingLibraryError

#: What each MPI needs to run more ranks than there are cores, as any user; the better one first: where ranks
#: of Open MPI can yield, those of Debian's MPICH spin and are several times slower.
_VARIABLES: dict[str, dict[str, str]] = {
    "openmpi": {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    },
    "mpich": {},
}
# SIGTERM lets mpirun end its ranks; the signal is the kernel's when whoever started it is gone.
_DIES_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execvp(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True)
class Launching:
    """mpirun with its ranks."""

    command: tuple[str, ...]
    env: dict[str, str]
    within_s: float

    def run(self, ready: Ready) -> list[float]:
        """Seconds of each step, the slowest rank's."""
        ready()
        with subprocess.Popen(
            [sys.executable, "-c", _DIES_WITH_PARENT, *self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            text=True,
        ) as launcher:
            try:
                told, complaints = launcher.communicate(timeout=self.within_s)
            except BaseException:
                launcher.terminate()
                raise
        if launcher.returncode:
            last = complaints.strip().splitlines()[-3:] or [f"exit status {launcher.returncode}"]
            raise ComponentFailedError(f"bench staging: parallel HDF5: {' / '.join(last)}")
        seconds: list[float] = json.loads(told.strip().splitlines()[-1])
        return seconds


@dataclass(frozen=True)
class Overlay:
    """h5py for one MPI, and the environment in which its mpirun works."""

    launcher: str
    env: dict[str, str]


def found() -> Overlay:
    """What ``scripts/mpi_overlays`` has built beside this interpreter.

    Raises
    ------
    MissingLibraryError
        When there is none; h5py as it is installed otherwise writes serial files.
    """
    for name, variables in _VARIABLES.items():
        folder = Path(sys.prefix, "mpi", name)
        if (folder / "python" / "h5py").is_dir():
            env = {**os.environ, "MPI4PY_MPIABI": name, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            paths = {"LD_LIBRARY_PATH": "lib", "PATH": "bin"}
            for variable, part in paths.items():
                env[variable] = os.pathsep.join(filter(None, (str(folder / part), env.get(variable))))
            env["PYTHONPATH"] = os.pathsep.join([str(folder / "python"), *filter(None, sys.path)])
            return Overlay(str(folder / "bin" / "mpirun"), env | variables)
    raise MissingLibraryError(
        "bench staging: parallel-hdf5 needs h5py built for an MPI: run scripts/mpi_overlays; the h5py that is "
        "installed otherwise is serial, and its files are not compared"
    )


def run(case: Case, settings: Settings, crew: Crew, overlay: Overlay) -> Seen:
    """Writers, first readers and second readers, one group after the other, over files that are removed then."""
    told: dict[str, list[float]] = {}
    within_s = TIMEOUT_S + settings.steps * (case.delay_s + TIMEOUT_S)
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
        for group in ("writers", "first", "second"):
            role, ranks = ("write", case.writers) if group == "writers" else ("read", case.readers)
            program = (sys.executable, "-m", "thalweg.bench.staging.hdf5_rank", role, folder)
            what = (",".join(map(str, settings.domain)), str(case.subset), str(settings.steps), str(case.delay_s))
            command = (overlay.launcher, "-n", str(ranks), *program, *what)
            crew.order({"mpirun": Launching(command, overlay.env, within_s)})
            crew.go(["mpirun"])
            told[group] = crew.results(["mpirun"], within_s + TIMEOUT_S)["mpirun"]
    return Seen(
        write_s=told["writers"],
        read_s={which: told[which] for which in ("first", "second")},
        wait_s={which: [0.0] * settings.steps for which in ("first", "second")},
    )
