"""Programs with the distribution's netCDF and HDF5, serial and with MPI, exchange files that are never there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from plain_run import plain
from thalweg.staging import Server

RULES = """
deadline_s = 20
[[files]]
match = "*.nc"
[[files]]
match = "*.h5"
"""
SOURCES = Path(__file__).parent / "distribution"
LIBRARIES = next((path.parent for path in Path("/usr/lib").glob("*/libc.so*")), Path("/usr/lib"))
#: nc_create's modes: classic, 64-bit data, HDF5, HDF5 with the classic model.
MODES = {"classic": 0, "64-bit data": 0x20, "netCDF-4": 0x1000, "classic model": 0x1100}
#: By which MPI, and with which options of its launcher, HDF5 reaches its files: Open MPI has two ways.
MPIS = {
    "ompio": ("openmpi", ["--oversubscribe"]),
    "ROMIO in Open MPI": ("openmpi", ["--oversubscribe", "--mca", "io", "romio321"]),
    "ROMIO in MPICH": ("mpich", []),
}


def compile_(folder, name, compiler, *flags):
    to = folder / Path(name).stem
    done = subprocess.run(
        [compiler, "-O1", SOURCES / name, *flags, "-o", to], capture_output=True, text=True, timeout=100, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return to


def hdf5(flavour):
    return [f"-I/usr/include/hdf5/{flavour}", f"-L{LIBRARIES}/hdf5/{flavour}", "-lhdf5"]


@pytest.fixture(scope="module")
def netcdf(tmp_path_factory):
    """The folder of the programs with netCDF."""
    module = next(
        (path.parent for root in ("/usr/include", "/usr/lib") for path in Path(root).rglob("netcdf.mod")), None
    )
    if module is None or shutil.which("gfortran") is None:
        pytest.skip("libnetcdff-dev and gfortran are not installed")
    folder = tmp_path_factory.mktemp("netcdf")
    compile_(folder, "write_nc.c", "cc", "-lnetcdf")
    compile_(folder, "read_nc.f90", "gfortran", f"-I{module}", "-lnetcdff", "-lnetcdf")
    return folder


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The folder of the programs with HDF5 without MPI."""
    if not Path("/usr/include/hdf5/serial/hdf5.h").exists():
        pytest.skip("libhdf5-dev is not installed")
    folder = tmp_path_factory.mktemp("serial")
    for name in ("write_h5.c", "read_h5.c"):
        compile_(folder, name, "cc", *hdf5("serial"))
    return folder


@pytest.fixture(scope="module", params=MPIS)
def parallel(request, tmp_path_factory):
    """The launcher of an MPI, and the folder of the programs with its HDF5."""
    mpi, options = MPIS[request.param]
    launcher = shutil.which(f"mpiexec.{mpi}")
    if launcher is None or not Path(f"/usr/include/hdf5/{mpi}/hdf5.h").exists():
        pytest.skip(f"libhdf5-{mpi}-dev and this MPI are not installed")
    folder = tmp_path_factory.mktemp(mpi)
    for name in ("write_h5.c", "read_h5.c"):
        compile_(folder, name, f"mpicc.{mpi}", *hdf5(mpi))
    return [launcher, *options], folder


def left(folder):
    return {path.name for path in folder.iterdir()} - {"coupling.toml"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", ["reader first", "writer first"])
def test_fortran_reads_what_c_writes_as_from_a_file(coupled, netcdf, tmp_path, mode, order):
    write, read = [netcdf / "write_nc", "step.nc", MODES[mode]], [netcdf / "read_nc", "step.nc"]
    plain(tmp_path, *write)
    expected = plain(tmp_path, *read)
    (tmp_path / "step.nc").unlink()
    first, second = (read, write) if order == "reader first" else (write, read)
    done = coupled(RULES, *first, ":", *second)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert expected.split()[-1] == "redefinition" and not left(tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_ncdump_shows_the_same_as_of_the_file(coupled, netcdf, tmp_path, mode):
    if shutil.which("ncdump") is None:
        pytest.skip("netcdf-bin is not installed")
    write = [netcdf / "write_nc", "step.nc", MODES[mode]]
    plain(tmp_path, *write)
    expected = plain(tmp_path, "ncdump", "step.nc")
    (tmp_path / "step.nc").unlink()
    done = coupled(RULES, "ncdump", "step.nc", ":", *write)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    with Server() as server:
        options = ["--service", server.address]
        assert coupled(RULES, *write, options=options).returncode == 0
        look = coupled(RULES, "ncdump", "step.nc", options=[*options, "--look"])
    assert (look.returncode, look.stdout) == (0, expected), look.stderr
    assert not left(tmp_path)


def test_netcdf_says_of_a_file_that_is_there_what_it_always_says(coupled, netcdf, tmp_path):
    once = f"{netcdf / 'write_nc'} step.nc 0x1000 && {netcdf / 'write_nc'} step.nc"
    for mode in (0x1004, 0x0004):  # which must not make it anew
        done = coupled(RULES, "sh", "-c", f"{once} {mode:#x}")
        assert done.returncode == 1
        assert "nc_create(argv[1], mode, &file): NetCDF: File exists && NC_NOCLOBBER" in done.stderr


@pytest.mark.parametrize("mode", [0x8, 0x1008])
def test_a_file_that_netcdf_keeps_to_itself_takes_no_turn(coupled, netcdf, tmp_path, mode):
    rules = RULES.replace('match = "*.nc"', 'match = "*.nc"\nturns = ["model", "reader"]')
    rules += '[components]\nmodel = "sh"\nreader = "read_nc"\n'
    write = netcdf / "write_nc"
    model = ["sh", "-c", f"{write} step.nc {mode} && {write} step.nc"]
    done = coupled(rules, *model, ":", netcdf / "read_nc", "step.nc")
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["redefinition"]), done.stderr
    assert not left(tmp_path)


def test_c_reads_with_hdf5_what_c_writes(coupled, serial, tmp_path):
    done = coupled(RULES, serial / "read_h5", "step.h5", ":", serial / "write_h5", "step.h5")
    assert (done.returncode, done.stdout) == (0, "1 ranks wrote 512 values, sum 130816.0\n"), done.stderr
    assert not left(tmp_path)


def test_files_of_mpi_io_are_memory(coupled, parallel, tmp_path):
    launcher, programs = parallel
    both = ["-n", "2", programs / "read_h5", "step.h5", ":", "-n", "2", programs / "write_h5", "step.h5"]
    done = coupled(RULES, *launcher, *both)
    assert (done.returncode, done.stdout) == (0, "2 ranks wrote 1024 values, sum 523776.0\n"), done.stderr
    assert not left(tmp_path)


def test_turns_are_those_of_all_ranks(coupled, parallel, tmp_path):
    launcher, programs = parallel
    rules = RULES.replace('match = "*.h5"', 'match = "*.h5"\nturns = ["model", "reader"]')
    rules += '[components]\nmodel = "sh"\nreader = "bash"\n'
    model, reader = (
        [shell, "-ec", f"for n in 1 2 3; do {' '.join(launcher)} -n 2 {programs / program} step.h5; done"]
        for shell, program in (("sh", "write_h5"), ("bash", "read_h5"))
    )
    done = coupled(rules, *model, ":", *reader)
    assert (done.returncode, done.stdout) == (0, "2 ranks wrote 1024 values, sum 523776.0\n" * 3), done.stderr
    assert not left(tmp_path)


def test_a_program_without_mpi_reads_what_ranks_wrote(coupled, parallel, serial, tmp_path):
    launcher, programs = parallel
    done = coupled(RULES, serial / "read_h5", "step.h5", ":", *launcher, "-n", "2", programs / "write_h5", "step.h5")
    assert (done.returncode, done.stdout) == (0, "2 ranks wrote 1024 values, sum 523776.0\n"), done.stderr
    assert not left(tmp_path)


def test_what_parallel_hdf5_writes_is_the_same_behind_memory(coupled, parallel, tmp_path):
    launcher, programs = parallel
    plain(tmp_path, *launcher, "-n", "2", programs / "write_h5", "plain.h5")
    done = coupled('[[files]]\nmatch = "*.h5"\nmode = "both"\n', *launcher, "-n", "2", programs / "write_h5", "step.h5")
    assert done.returncode == 0, done.stderr
    expected = plain(tmp_path, *launcher, "-n", "2", programs / "read_h5", "plain.h5")
    assert plain(tmp_path, *launcher, "-n", "2", programs / "read_h5", "step.h5") == expected
    assert (tmp_path / "step.h5").stat().st_size == (tmp_path / "plain.h5").stat().st_size
