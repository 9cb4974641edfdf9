"""Couplings under test: programs built once, run by ``thalweg redirect`` in a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from command_line import PROGRAM
from mpi_jobs import _VARIABLES
from thalweg.redirect import preload

PROGRAMS = Path(__file__).parent / "programs"
BINDINGS = Path(__file__).parents[2] / "bindings"
DEADLINE_S = 300
#: Rules without turns, for files of every library.
RULES = """
deadline_s = 20
[[files]]
match = "*.nc"
[[files]]
match = "*.h5"
"""

Coupled = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _built():
    preload.environment()


@pytest.fixture
def coupled(tmp_path: Path) -> Coupled:
    """A function that runs ``thalweg redirect -- COMMAND`` with these rules in an empty folder."""

    def run(rules: str, *command: object, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        (tmp_path / "coupling.toml").write_text(rules)
        return subprocess.run(
            [*PROGRAM, "redirect", "--config", "coupling.toml", *options, "--", *map(str, command)],
            cwd=tmp_path,
            env={**os.environ, **_VARIABLES["openmpi"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """A function that writes a Python program and returns the command that runs it."""

    def write(name: str, text: str) -> list[str]:
        (tmp_path / name).write_text(text)
        return [sys.executable, name]

    return write


@pytest.fixture(scope="session")
def mpiexec() -> list[str]:
    launcher = shutil.which("mpiexec.openmpi")
    if launcher is None:
        pytest.skip("Open MPI is not installed")
    return [launcher, "--oversubscribe", "-n", "2"]


@pytest.fixture(scope="session")
def pnetcdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the PnetCDF programs, built with the compilers of Open MPI against the system's library."""
    if not Path("/usr/include/pnetcdf.h").exists() or shutil.which("mpif90.openmpi") is None:
        pytest.skip("libpnetcdf-dev and Open MPI's compilers are not installed")
    folder = tmp_path_factory.mktemp("programs")
    # The Fortran parts lie where Debian has them.
    places = [place for pattern in ("*/pnetcdf.inc", "*/fortran/gfortran-mod-*/pnetcdf.mod")
              for root in ("/usr/include", "/usr/lib") for place in Path(root).glob(pattern)]  # fmt: skip
    include = [f"-I{place.parent}" for place in places] + [f"-I{BINDINGS / face}" for face in ("c/include", "fortran")]
    for source in sorted(PROGRAMS.iterdir()):
        compiler = "mpicc.openmpi" if source.suffix == ".c" else "mpif90.openmpi"
        words = [compiler, "-O1", *include, str(source)]
        done = subprocess.run(
            [*words, "-o", str(folder / source.stem), "-lpnetcdf"],
            capture_output=True,
            text=True,
            timeout=100,
            cwd=folder,  # where a Fortran compiler leaves modules
        )
        assert done.returncode == 0, done.stderr
    return folder
