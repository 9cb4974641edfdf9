"""Python's wheels of netCDF4, h5py and xarray, each with its own libraries, exchange files that are never there."""

from __future__ import annotations

import pytest

from plain_run import plain

RULES = """
deadline_s = 20
[[files]]
match = "*.nc"
[[files]]
match = "*.h5"
"""
WRITE = """
import numpy as np, xarray as xr, netCDF4, h5py, os
field = xr.Dataset({"a": (("y", "x"), np.arange(12.0).reshape(3, 4))}, attrs={"run": 7})
field.to_netcdf("netcdf4.nc", engine="netcdf4")
field.to_netcdf("h5netcdf.nc", engine="h5netcdf")
field.to_netcdf("scipy.nc", engine="scipy")
with netCDF4.Dataset("classic.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
    file.createDimension("time", None)
    file.createVariable("t", "f4", ("time",))[:] = [1.0, 2.0, 3.0]
with h5py.File("own.h5", "w") as file:
    file.create_dataset("packed", data=np.arange(1000), compression="gzip")
with h5py.File("own.h5", "a") as file:  # which nobody reads: he might come between
    file["more"] = np.ones(3)
os.rename("own.h5", "h5py.h5")
np.arange(5.0).tofile("raw.nc")
os.rename("raw.nc", "renamed.nc")
"""
READ = """
import numpy as np, xarray as xr, netCDF4, h5py, os
for engine in ("netcdf4", "h5netcdf", "scipy"):
    with xr.open_dataset(f"{engine}.nc", engine=engine) as field:
        print(engine, field.a.values.tolist(), int(field.run))
with netCDF4.Dataset("classic.nc") as file:
    print(file.filepath(), file.data_model, file["t"][:].tolist())
with h5py.File("h5py.h5", "r") as file:
    print(file.filename, int(file["packed"][:].sum()), list(file))
print(np.fromfile("renamed.nc").tolist(), os.path.getsize("renamed.nc"), os.path.exists("never.nc"))
"""
for library in ("h5py", "netCDF4", "h5netcdf", "xarray", "scipy"):
    pytest.importorskip(library)


@pytest.mark.parametrize("order", ["reader first", "writer first"])
def test_every_engine_reads_what_it_reads_from_files(coupled, program, tmp_path, order):
    write, read = program("write.py", WRITE), program("read.py", READ)
    before = {path.name for path in tmp_path.iterdir()} | {"coupling.toml"}
    first, second = (read, write) if order == "reader first" else (write, read)
    done = coupled(RULES, *first, ":", *second)
    assert done.returncode == 0, done.stderr
    field = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    assert done.stdout.splitlines() == [
        *(f"{engine} {field} 7" for engine in ("netcdf4", "h5netcdf", "scipy")),
        "classic.nc NETCDF3_64BIT_OFFSET [1.0, 2.0, 3.0]",
        "h5py.h5 499500 ['more', 'packed']",
        "[0.0, 1.0, 2.0, 3.0, 4.0] 40 False",
    ]
    assert {path.name for path in tmp_path.iterdir()} == before


def test_libraries_read_files_into_their_own_memory_and_make_some_there(coupled, program, tmp_path):
    write = program(
        "write.py",
        """
import h5py, netCDF4
kinds = [("own", "NETCDF4"), ("classic", "NETCDF3_CLASSIC"), ("gone", "NETCDF4"), ("gone", "NETCDF3_CLASSIC")]
for name, kind in kinds:
    file = netCDF4.Dataset(f"{name}.nc", "w", format=kind, diskless=True, persist=name != "gone")
    file.createDimension("x", 3)
    file.createVariable("q", "i4", ("x",))[:] = [1, 2, 3]
    file.close()
with h5py.File("own.h5", "w", driver="core", backing_store=True) as file:
    file["q"] = [1, 2, 3]
with h5py.File("gone.h5", "w", driver="core", backing_store=False) as file:
    file["q"] = [1, 2, 3]
    file.flush()
    image = file.id.get_file_image()
print(h5py.File.in_memory(image)["q"][:].tolist())
""",
    )
    read = program(
        "read.py",
        """
import h5py, netCDF4, os
with h5py.File("own.h5", "r", driver="core", backing_store=False) as file:
    print(file["q"][:].tolist())
for name in ("own.nc", "classic.nc"):
    with netCDF4.Dataset(name, "a", diskless=True) as file:  # what is changed is not kept
        file["q"][:] = file["q"][:] * 2
    with netCDF4.Dataset(name, diskless=True) as file:
        print(file["q"][:].tolist())
print(os.path.exists("gone.nc"), os.path.exists("gone.h5"))
""",
    )
    expected = ["False False", *["[1, 2, 3]"] * 4]
    done = coupled(RULES, *write, ":", *read)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, expected), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml", "write.py", "read.py"}


def test_turns_bring_each_round_to_who_reads_it(coupled, program):
    rules = """
deadline_s = 20
[components]
model = "model.py"
analysis = "analysis.py"
[[files]]
match = "state.nc"
turns = ["model", "analysis", "analysis", "model"]
"""
    model = program(
        "model.py",
        """
import netCDF4
for cycle in range(4):
    with netCDF4.Dataset("state.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("q", "f8", ("x",))[:] = [cycle, 1, 2]
    with netCDF4.Dataset("state.nc") as file:
        print("model", file["q"][:].tolist())
""",
    )
    analysis = program(
        "analysis.py",
        """
import netCDF4
for cycle in range(4):
    with netCDF4.Dataset("state.nc") as file:
        q = file["q"][:]
    with netCDF4.Dataset("state.nc", "a") as file:
        file["q"][:] = q * 10
""",
    )
    done = coupled(rules, *model, ":", *analysis)
    assert done.returncode == 0, done.stderr
    expected = [f"model [{10.0 * cycle}, 10.0, 20.0]" for cycle in range(4)]
    assert done.stdout.splitlines() == expected


def test_a_program_sees_files_as_a_file_system_shows_them(coupled, program, tmp_path):
    alone = program(
        "alone.py",
        """
import os, pathlib, stat
path = pathlib.Path("sub/../data.nc")
pathlib.Path("sub").mkdir()
assert not path.exists() and not os.access(path, os.F_OK)
with open(path, "xb") as file:
    file.write(b"0123456789")
found = os.stat("data.nc")
assert stat.S_ISREG(found.st_mode) and found.st_size == 10 and found.st_nlink == 1
assert os.path.realpath("sub/../data.nc") == str(pathlib.Path.cwd() / "data.nc")
try:
    open(path, "xb")
except FileExistsError:
    pass
else:
    raise SystemExit("made twice")
os.truncate(path, 4)
with open(path, "ab") as file:
    file.write(b"ab")
assert path.read_bytes() == b"0123ab"
copy = os.dup(os.open(path, os.O_RDWR))
os.pwrite(copy, b"Z", 0)
os.close(copy)
os.replace(path, "outside.bin")
assert pathlib.Path("outside.bin").read_bytes() == b"Z123ab" and not path.exists()
os.rename("outside.bin", "inside.nc")
assert pathlib.Path("inside.nc").read_bytes() == b"Z123ab" and not pathlib.Path("outside.bin").exists()
os.unlink("inside.nc")
try:
    os.unlink("inside.nc")
except FileNotFoundError:
    print("done")
""",
    )
    done = coupled(RULES, *alone)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert not list(tmp_path.glob("*.nc"))


def test_modes_and_times_are_kept_as_a_file_system_keeps_them(coupled, program, tmp_path):
    alone = program(
        "alone.py",
        """
import os, shutil
with open("outside.bin", "wb") as file:
    file.write(b"12")
for mode in (0o640, 0o777):
    os.chmod("outside.bin", mode)
    os.utime("outside.bin", (1000, 2000))
    for copy, source in (("copy.nc", "outside.bin"), ("again.nc", "copy.nc"), ("back.bin", "again.nc")):
        shutil.copy2(source, copy)
        found = os.stat(copy)
        assert (found.st_mode & 0o777, found.st_mtime) == (mode, 2000), (copy, oct(found.st_mode), found.st_mtime)
        assert open(copy, "rb").read() == b"12"
with open("again.nc", "r+b") as file:
    os.fchmod(file.fileno(), 0o777)
os.chown("again.nc", os.getuid(), os.getgid())
assert os.path.getsize("again.nc") == 2
try:
    os.chmod("never.nc", 0o600)
except FileNotFoundError:
    print("done")
""",
    )
    done = coupled(RULES.replace("20", "2"), *alone)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert not list(tmp_path.glob("*.nc"))


def test_the_tools_of_a_shell_use_files_as_they_are_used_to(coupled, tmp_path):
    script = """
set -e
printf abc > outside.bin
cp outside.bin one.nc && mv one.nc two.nc && mv --no-clobber outside.bin two.nc && cmp outside.bin two.nc
mv two.nc moved.bin && mv moved.bin two.nc
tar cf - two.nc | tar xOf -
install -m 777 two.nc three.nc && touch three.nc && test -x three.nc || test -s three.nc
! ln two.nc linked.nc 2> /dev/null
dd if=three.nc of=four.nc bs=1 count=2 status=none && stat -c ' %s %a' three.nc && wc -c four.nc
rm two.nc three.nc four.nc && ! test -e two.nc
"""
    done = coupled(RULES.replace("20", "5"), "bash", "-c", "umask 022" + script)
    assert (done.returncode, done.stdout) == (0, "abc 3 777\n2 four.nc\n"), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml", "outside.bin"}


def test_folders_are_no_files_whatever_they_are_called(coupled, program, tmp_path):
    alone = program(
        "alone.py",
        """
import os, subprocess
for what in ("run.nc", "run.nc/inner.nc"):
    os.mkdir(what)
    assert os.path.isdir(what) and os.access(what, os.W_OK | os.X_OK)
os.close(os.open("run.nc", os.O_RDONLY))
with open("first.nc", "wb") as file:
    file.write(b"12")
subprocess.run(["cp", "first.nc", "second.nc"], check=True, timeout=15)
subprocess.run(["cp", "first.nc", "run.nc/inner.nc"], check=True, timeout=15)
assert open("second.nc", "rb").read() == open("run.nc/inner.nc/first.nc", "rb").read() == b"12"
os.rename("run.nc/inner.nc", "moved.nc")
os.rmdir("moved.nc")
os.rmdir("run.nc")
print("done")
""",
    )
    done = coupled(RULES, *alone)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"alone.py", "coupling.toml"}


def test_children_of_a_program_end_nothing_of_its_own(coupled, program):
    parent = program(
        "parent.py",
        """
import os, subprocess, sys
file = open("run.nc", "wb", buffering=0)
file.write(b"12")
if os.fork() == 0:
    file.write(b"34")
    file.close()
    sys.exit(0)
os.wait()
subprocess.run([sys.executable, "-c", "print('child')"], check=True, close_fds=False)
file.write(b"56")
file.close()
print(open("run.nc", "rb").read())
""",
    )
    done = coupled(RULES, *parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child\nb'123456'\n", "")


def test_who_looks_sees_a_running_exchange(coupled, program):
    writer = program(
        "writer.py",
        """
import netCDF4, subprocess, sys
file = netCDF4.Dataset("run.nc", "w", format="NETCDF3_CLASSIC")
file.createDimension("x", 3)
file.createVariable("q", "i4", ("x",))[:] = [1, 2, 3]
file.sync()
import os
environment = {**os.environ, "THALWEG_REDIRECT_LOOK": "1", "THALWEG_REDIRECT_COMPONENT": "-look"}
look = "import netCDF4; print(netCDF4.Dataset('run.nc')['q'][:].tolist())"
subprocess.run([sys.executable, "-c", look], env=environment, check=True, timeout=60)
file.close()
""",
    )
    rules = RULES.replace('match = "*.nc"', 'match = "*.nc"\nturns = ["writer.py", "reader.py"]')
    done = coupled(rules, *writer)
    assert (done.returncode, done.stdout) == (0, "[1, 2, 3]\n"), done.stderr


def test_components_come_one_after_the_other_to_a_service_that_stays(coupled, program):
    from thalweg.staging import Server

    write = program("write.py", "import numpy as np; np.arange(3.0).tofile('later.nc')")
    read = program("read.py", "import numpy as np; print(np.fromfile('later.nc').tolist())")
    with Server() as server:
        options = ["--service", server.address, "--coupling", "evening"]
        assert coupled(RULES, *write, options=options).returncode == 0
        done = coupled(RULES, *read, options=options)
        assert (done.returncode, done.stdout) == (0, "[0.0, 1.0, 2.0]\n"), done.stderr
        look = coupled(RULES, *read, options=[*options, "--look"])
        assert (look.returncode, look.stdout) == (0, "[0.0, 1.0, 2.0]\n"), look.stderr
        other = coupled(RULES.replace("20", "1"), *read, options=["--service", server.address, "--coupling", "other"])
        assert other.returncode == 1
        assert 'later.nc" waited 1 s for a component that writes it' in other.stderr


def test_files_behind_memory_are_what_they_would_be_without_it(coupled, program, tmp_path):
    text = """
import os
os.umask(0o027)
for name in ("kept", "moved", "removed", "replaced"):
    with open(f"{name}.nc", "w") as file:
        file.write(f"{name}, as it was made")
os.chmod("kept.nc", 0o600)
os.rename("moved.nc", "moved-2.nc")
os.remove("removed.nc")
os.rename("replaced.nc", "kept-2.nc")
os.rename("moved-2.nc", "kept-2.nc")
with open("open.nc", "w") as file:
    os.rename("open.nc", "closed.nc")
    file.write("written under another name")
"""

    def listing(folder):
        return {p.name: (oct(p.stat().st_mode), p.read_text()) for p in folder.glob("*.nc")}

    command = program("model.py", text)
    beside = tmp_path / "plain"
    beside.mkdir()
    plain(beside, command[0], tmp_path / command[1])
    done = coupled('[[files]]\nmatch = "*.nc"\nmode = "both"\n', *command)
    assert done.returncode == 0, done.stderr
    assert listing(tmp_path) == listing(beside) and len(listing(beside)) == 3


def test_a_coupling_goes_on_when_a_killed_component_is_started_again(coupled, program):
    from thalweg.staging import Server

    rules = """
deadline_s = 100
[components]
model = "model*.py"
analysis = "analysis.py"
[[files]]
match = "*.nc"
turns = ["model", "analysis"]
"""
    killed = program("model-1.py", "import os\nos.write(os.open('step.nc', 65, 0o644), b'ha'); os.kill(os.getpid(), 9)")
    again = program("model-2.py", "open('step.nc', 'w').write('half and half')")
    read = program("analysis.py", "print(open('step.nc').read())")
    with Server() as server:
        options = ["--service", server.address]
        first = coupled(rules, *killed, options=options)
        assert first.returncode == 1
        assert coupled(rules, *again, options=options).returncode == 0
        done = coupled(rules, *read, options=options)
        assert (done.returncode, done.stdout) == (0, "half and half\n"), done.stderr


def test_what_is_still_being_written_counts_as_memory(coupled, program):
    text = """
import errno
grown = open("large.nc", "wb")
grown.truncate(1 << 40)  # as long as one likes: only what is written takes memory
grown.write(bytes(3 << 20))
grown.flush()
open("small.nc", "w").close()
grown.write(bytes(3 << 20))
grown.flush()
try:
    open("another.nc", "w")
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    done = coupled('memory_limit_bytes = 5_000_000\n[[files]]\nmatch = "*.nc"\n', *program("model.py", text))
    assert (done.returncode, done.stdout) == (0, "ENOSPC\n"), done.stderr
