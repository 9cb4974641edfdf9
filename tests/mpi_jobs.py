"""Programs under the mpirun of one MPI, with the environment that `scripts/mpi_overlays` built for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

OVERLAYS = Path(sys.prefix) / "mpi"
IMPLEMENTATIONS = ("openmpi", "mpich")

_ARGUMENTS = {"openmpi": ("--oversubscribe",), "mpich": ()}
_VARIABLES = {
    # Tests run as root in containers, and more ranks than cores must not spin against each other.
    "openmpi": {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    },
    "mpich": {},
}
_MARK = "THALWEG_TEST_MPI_JOB"


@dataclass(frozen=True)
class MPI:
    """One MPI of this machine.

    Attributes
    ----------
    name : str
        ``openmpi`` or ``mpich``.
    mpirun : str
        Path of its launcher.
    env : mapping
        Environment in which that launcher, mpi4py and h5py are of this MPI; ``PATH`` finds its mpirun and mpiexec.
    """

    name: str
    mpirun: str
    env: Mapping[str, str]

    def run(
        self, n: int, program: str | Path, *arguments: object, timeout_s: float = 120.0, env: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        """Run a Python program, the path of a file or its text, as `n` ranks to its end; exit status 0 is asserted.

        Whatever the job started is gone when this returns, also after the deadline or an exception.
        """
        python = [sys.executable, str(program)] if isinstance(program, Path) else [sys.executable, "-c", program]
        command = [self.mpirun, *_ARGUMENTS[self.name], "-n", str(n), *python, *map(str, arguments)]
        mark = uuid.uuid4().hex
        job = subprocess.Popen(
            command,
            env={**self.env, **env, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = job.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(mark)
            out, err = job.communicate()
            raise AssertionError(f"{self.name}: {n} ranks were not done in {timeout_s} s\n{out}{err}") from None
        finally:
            _kill(mark)
            job.wait()
        assert job.returncode == 0, f"{self.name}: exit status {job.returncode}\n{out}{err}"
        return subprocess.CompletedProcess(command, job.returncode, out, err)


def mpi_of(name: str) -> MPI:
    """Return one of `IMPLEMENTATIONS`.

    Raises
    ------
    LookupError
        When `scripts/mpi_overlays` has not built its environment; the message says what to do.
    """
    overlay = OVERLAYS / name
    if not (overlay / "python").is_dir():
        raise LookupError(f"no environment for {name} in {OVERLAYS}: run scripts/mpi_overlays")
    env = dict(os.environ)
    for variable, folder in (("PYTHONPATH", "python"), ("LD_LIBRARY_PATH", "lib"), ("PATH", "bin")):
        env[variable] = os.pathsep.join(filter(None, (str(overlay / folder), env.get(variable))))
    env |= {"MPI4PY_MPIABI": name, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **_VARIABLES[name]}
    return MPI(name, str(overlay / "bin" / "mpirun"), env)


def _kill(mark: str) -> None:
    """Kill what carries the mark: ranks are of other process groups than their launcher, and may have outlived it."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(_MARK) == mark:
                os.kill(process.pid, signal.SIGKILL)
