"""Whatever way values are put, and by whom, they come out; and what nobody puts is no value."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

RULES = """
deadline_s = 200
components = {{ writer = "put", reader = "get" }}
[[files]]
match = "*.nc"
unwritten = "{unwritten}"
"""


def exchange(coupled, pnetcdf, mpiexec, case, unwritten="error"):
    """What a reader of one process says to what a writer of two puts."""
    put = ["-n", "2", pnetcdf / "cases", "put", case, "FIELD.nc"]
    get = ["-n", "1", pnetcdf / "cases", "get", case, "FIELD.nc"]
    return coupled(RULES.format(unwritten=unwritten), *mpiexec[:2], *get, ":", *put)


@pytest.mark.parametrize("case", ["strided", "mapped", "vard", "independent"])
def test_values_come_out_in_whatever_way_they_were_put(coupled, pnetcdf, mpiexec, tmp_path, case):
    done = exchange(coupled, pnetcdf, mpiexec, case)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml"}


def test_one_call_takes_more_than_two_gib(coupled, pnetcdf, mpiexec):
    done = exchange(coupled, pnetcdf, mpiexec, "large")
    assert (done.returncode, done.stdout) == (0, "1 0 2\n"), done.stderr


def test_what_nobody_wrote_fails_reader_and_writer_by_name(coupled, pnetcdf, mpiexec):
    begin = time.monotonic()
    done = exchange(coupled, pnetcdf, mpiexec, "hole")
    assert time.monotonic() - begin < 150, "nobody waits for the deadline"
    assert done.returncode == 1
    assert 'FIELD.nc: variable "field": nobody has written [0:6, 7:8], which was asked for' in done.stderr
    assert "component 'reader' failed" in done.stderr


def test_what_nobody_wrote_may_be_allowed(coupled, pnetcdf, mpiexec):
    done = exchange(coupled, pnetcdf, mpiexec, "hole", unwritten="allow")
    assert (done.returncode, done.stdout) == (0, "differ\n"), done.stderr


def test_programs_may_say_who_they_are_and_when_a_file_is_handed_over(coupled, pnetcdf, mpiexec, tmp_path):
    # The reader reads while the writer has the file open; it would wait in vain for the writer to close it.
    world = ["-n", "1", pnetcdf / "explicit", "step.nc", ":", "-n", "1", pnetcdf / "explicit_read", "step.nc"]
    rules = 'deadline_s = 100\n[[files]]\nmatch = "step.nc"\n'
    done = coupled(rules, *mpiexec[:2], *world, options=["--joint-world"])
    assert done.returncode == 0, done.stderr
    written = "init 0 transfer 0, of another file 0; put NC_EPERM, get NC_NOERR, init again -1"
    assert sorted(done.stdout.splitlines()) == ["finalize 0", written, "read 1.0 2.0 3.0 4.0"]
    assert "this process is model, as it has used files already" in done.stderr
    assert not (tmp_path / "step.nc").exists()


def test_what_is_written_beside_pnetcdf_is_no_hole(coupled, pnetcdf, mpiexec):
    done = exchange(coupled, pnetcdf, mpiexec, "hole that is mended")
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


def test_a_writer_that_goes_on_hears_what_its_reader_missed(coupled, pnetcdf, mpiexec):
    rules = RULES.format(unwritten="error") + 'turns = ["writer", "reader"]\n'
    put = ["-n", "2", pnetcdf / "cases", "put", "hole", "FIELD.nc", "FIELD.nc"]  # again, when it has been read
    get = ["-n", "1", pnetcdf / "cases", "get", "hole", "FIELD.nc"]
    done = coupled(rules, *mpiexec[:2], *put, ":", *get)
    assert done.returncode == 1
    assert 'component "reader" failed: ' in done.stderr and "nobody has written [0:6, 7:8]" in done.stderr
    assert "component 'writer' failed" in done.stderr


def test_a_collective_call_that_fails_for_one_process_ends_for_all(coupled, pnetcdf, mpiexec):
    done = exchange(coupled, pnetcdf, mpiexec, "wrong on one")
    assert (done.returncode, done.stdout) == (0, "differ\n"), done.stderr


def test_memory_that_is_used_again_never_shows_an_older_file(coupled, pnetcdf, mpiexec):
    # the second file is written in part only: its reader must not take the first one's values for it
    rules = RULES.format(unwritten="error") + 'turns = ["writer", "reader"]\nreplay = true\n'
    files = ["FIELD1.nc", "FIELD2.nc"]
    put = ["-n", "2", pnetcdf / "cases", "put", "less each time", *files]
    get = ["-n", "1", pnetcdf / "cases", "get", "less each time", *files]
    done = coupled(rules, *mpiexec[:2], *put, ":", *get)
    assert (done.returncode, done.stdout) == (1, "equal\n")
    assert 'FIELD2.nc: variable "field": nobody has written [0:6, 7:8]' in done.stderr


@pytest.mark.parametrize("first", range(3))
def test_several_components_write_and_read_a_file_in_whatever_order_they_come(coupled, program, first):
    rules = """
deadline_s = 100
[components]
model = "model.py"
filter = "filter.py"
plot = "plot.py"
check = "check.py"
[[files]]
match = "*.nc"
turns = ["model", "filter", "plot", "check"]
"""
    write = """
import netCDF4
for step in range(3):
    with netCDF4.Dataset("STEP.nc", {mode!r}) as file:
        {body}
"""
    parts = {
        "model": write.format(mode="w", body="file.createDimension('x', 4); "
                              "file.createVariable('rho', 'd', ('x',))[:] = step"),
        "filter": write.format(mode="a", body="file.createVariable('mean', 'd', ('x',))[:] = 10 * "
                               "file.variables['rho'][:]"),
        **{name: write.format(mode="r", body=f"print('{name}', step, file.variables['mean'][3])")
           for name in ("plot", "check")},
    }  # fmt: skip
    commands = [program(f"{name}.py", text) for name, text in parts.items()]
    commands = commands[first:] + commands[:first]
    line = [word for command in commands for word in (*command, ":")][:-1]
    done = coupled(rules, *line)
    assert done.returncode == 0, done.stderr
    expected = [f"{name} {step} {10.0 * step}" for name in ("plot", "check") for step in range(3)]
    assert sorted(done.stdout.splitlines()) == sorted(expected)


IN_C = "int puts(const char *); void *fopen(const char *, const char *); int fputs(const char *, void *);\n"
IN_C += 'int main(void) { fputs("all of it\\n", fopen("left.nc", "w")); return 0; }\n'
IN_FORTRAN = "open(10, file='left.nc', access='stream', form='unformatted')\nwrite(10) 'all of it', achar(10)\nend\n"


@pytest.mark.parametrize(("compiler", "source", "text"), [("gcc", "put.c", IN_C), ("gfortran", "put.f90", IN_FORTRAN)])
def test_a_file_that_a_program_leaves_open_is_whole_when_it_has_ended(
    coupled, program, tmp_path, compiler, source, text
):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / source).write_text(text)
    subprocess.run([compiler, source, "-o", "put"], cwd=tmp_path, check=True)
    read = program("get.py", "print(open('left.nc').read(), end='')")
    done = coupled(RULES.format(unwritten="error").replace('"get"', '"get.py"'), "./put", ":", *read)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
