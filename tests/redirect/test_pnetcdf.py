"""PnetCDF's programs in C and Fortran exchange files that are never there."""

from __future__ import annotations

import shutil

import pytest

from plain_run import plain

RULES = """
deadline_s = 20
[[files]]
match = "*.NC"
"""


@pytest.mark.parametrize("reader", ["read77", "read90"])
@pytest.mark.parametrize("order", ["reader first", "writer first"])
def test_fortran_reads_what_c_writes_as_from_a_file(coupled, pnetcdf, mpiexec, tmp_path, reader, order):
    plain(tmp_path, *mpiexec, pnetcdf / "write", "STEP.NC")
    expected = plain(tmp_path, *mpiexec, pnetcdf / reader, "STEP.NC")
    (tmp_path / "STEP.NC").unlink()
    writes, reads = ["-n", "2", pnetcdf / "write", "STEP.NC"], ["-n", "2", pnetcdf / reader, "STEP.NC"]
    first, second = (reads, writes) if order == "reader first" else (writes, reads)
    done = coupled(RULES, *mpiexec[:2], *first, ":", *second)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(expected.splitlines())
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml"}


def test_ncmpidump_shows_the_same_as_of_the_file(coupled, pnetcdf, mpiexec, tmp_path):
    if shutil.which("ncmpidump") is None:
        pytest.skip("pnetcdf-bin is not installed")
    plain(tmp_path, *mpiexec, pnetcdf / "write", "STEP.NC")
    expected = plain(tmp_path, "ncmpidump", "STEP.NC")
    (tmp_path / "STEP.NC").unlink()
    done = coupled(RULES, "ncmpidump", "STEP.NC", ":", *mpiexec, pnetcdf / "write", "STEP.NC")
    assert (done.returncode, done.stdout) == (0, expected)


def test_the_file_behind_memory_is_that_of_a_plain_run(coupled, pnetcdf, mpiexec, tmp_path):
    plain(tmp_path, *mpiexec, pnetcdf / "write", "plain.nc")
    done = coupled(RULES + 'mode = "both"', *mpiexec, pnetcdf / "write", "STEP.NC")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "STEP.NC").read_bytes() == (tmp_path / "plain.nc").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml", "plain.nc", "STEP.NC"}


def test_files_that_match_no_rule_are_left_alone(coupled, pnetcdf, mpiexec, tmp_path):
    done = coupled(RULES, *mpiexec, pnetcdf / "write", "step.nc")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "step.nc").stat().st_size > 0
