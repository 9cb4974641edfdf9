"""HDF5's files stay in memory by a plugin of HDF5, with nothing loaded into the programs beforehand."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from thalweg.redirect import preload

KINDS = Path(__file__).parent / "kinds"
RULES = """
deadline_s = 30
[[files]]
match = "*.nc"
[[files]]
match = "*.h5"
"""
for library in ("h5py", "netCDF4", "h5netcdf", "xarray"):
    pytest.importorskip(library)

#: A function that lists the contents that this process has open.
CONTENTS = """
import os
def contents():
    def link(one):
        try:
            return os.readlink(f"/proc/self/fd/{one}")
        except OSError:
            return ""
    return [path for path in map(link, os.listdir("/proc/self/fd")) if path.startswith("/memfd:thalweg-file")]
"""


@pytest.fixture
def plugged(coupled) -> Callable[..., subprocess.CompletedProcess[str]]:
    return functools.partial(coupled, options=["--vol"])


@pytest.mark.parametrize("order", ["reader first", "writer first"])
def test_whatever_h5py_makes_is_read_as_from_a_file(plugged, tmp_path, order):
    write, read = ([sys.executable, str(KINDS / f"{what}.py"), "all.h5"] for what in ("write", "read"))
    plain = tmp_path / "plain"
    plain.mkdir()
    subprocess.run(write, cwd=plain, check=True, timeout=60)
    expected = subprocess.run(read, cwd=plain, check=True, timeout=60, capture_output=True, text=True).stdout
    expected = expected.replace(str(plain), str(tmp_path))
    assert f"True 42 {tmp_path}/other-all.h5" in expected
    first, second = (read, write) if order == "reader first" else (write, read)
    done = plugged(RULES, *first, ":", *second)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert {path.name for path in tmp_path.iterdir()} == {"plain", "coupling.toml"}


def test_nothing_is_loaded_beforehand_and_other_plugins_stay(plugged, program, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", "/opt/filters")
    look = program(
        "look.py",
        """
import h5py, os
before = open("/proc/self/maps").read()
print("LD_PRELOAD" in os.environ, "libthalweg-redirect" in before, os.environ["HDF5_PLUGIN_PATH"].split(":")[1:])
with h5py.File("a.h5", "w") as file:
    print("libthalweg-hdf5" in open("/proc/self/maps").read(), os.path.exists("a.h5"))
""",
    )
    done = plugged(RULES, *look)
    expected = ["False False ['/opt/filters']", "True False"]
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr


def test_turns_bring_each_round_to_who_reads_it(plugged, program):
    rules = """
deadline_s = 30
[components]
model = "model.py"
analysis = "analysis.py"
[[files]]
match = "state.h5"
turns = ["model", "analysis", "analysis", "model"]
"""
    model = program(
        "model.py",
        """
import h5py
for cycle in range(4):
    with h5py.File("state.h5", "w") as file:
        file["q"] = [cycle, 1, 2]
    with h5py.File("state.h5") as file:
        print("model", file["q"][:].tolist())
""",
    )
    analysis = program(
        "analysis.py",
        """
import h5py
for cycle in range(4):
    with h5py.File("state.h5") as file:
        q = file["q"][:]
    with h5py.File("state.h5", "r+") as file:
        file["q"][:] = q * 10
""",
    )
    done = plugged(rules, *model, ":", *analysis)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"model [{10 * cycle}, 10, 20]" for cycle in range(4)]


def test_a_deadline_that_passes_is_an_error_in_both_that_names_file_and_component(plugged, program, tmp_path):
    rules = """
deadline_s = 4
[components]
model = "model.py"
analysis = "analysis.py"
[[files]]
match = "state.h5"
turns = ["model", "analysis"]
"""
    model = program(
        "model.py",
        """
import h5py, time
with h5py.File("state.h5", "w") as file:
    file["q"] = 1
    time.sleep(6)
try:
    h5py.File("state.h5", "w")
except OSError as error:
    print("model", error.errno, "state.h5" in str(error))
    raise
""",
    )
    analysis = program(
        "analysis.py",
        """
import h5py
try:
    h5py.File("state.h5")
except OSError as error:
    print("analysis", type(error).__name__, "name = 'state.h5', errno = 110" in str(error))
    raise
""",
    )
    done = plugged(rules, *model, ":", *analysis)
    assert done.returncode == 1
    assert sorted(done.stdout.splitlines()) == ["analysis TimeoutError True", "model 5 True"], done.stderr
    assert f'"{tmp_path}/state.h5" waited 4 s for component "model", whose turn it is' in done.stderr
    assert 'component "analysis" failed: exit status 1' in done.stderr


def test_files_that_match_no_rule_are_left_alone(plugged, program, tmp_path):
    alone = program(
        "alone.py",
        CONTENTS
        + """
import h5py
with h5py.File("plain.hdf", "w") as file:
    file["q"] = [1, 2]
    file["away"] = h5py.ExternalLink("plain.hdf", "q")
with h5py.File("plain.hdf", "a") as file:
    print(file["away"][:].tolist(), file.driver, os.path.getsize("plain.hdf") > 0, contents())
""",
    )
    done = plugged(RULES, *alone)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2] sec2 True []\n", "")
    shutil.copy(tmp_path / "plain.hdf", tmp_path / "kept.h5")  # left alone by a rule
    rules = RULES.replace("[[files]]", '[[files]]\nmatch = "kept.h5"\nmode = "file"\n[[files]]', 1)
    read = program("read.py", "import h5py; print(h5py.File('kept.h5')['q'][:].tolist())")
    done = plugged(rules, *read)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2]\n", "")


WRITE_BOTH = """
import h5py, netCDF4, numpy as np, xarray as xr
with netCDF4.Dataset("netcdf.nc", "w") as file:
    file.createDimension("time", None)
    file.createGroup("inner").createVariable("q", "i4", ("time",), zlib=True)[:] = [1, 2, 3]
xr.Dataset({"a": (("y",), np.arange(4.0))}, attrs={"run": 7}).to_netcdf("xarray.nc", engine="netcdf4")
xr.Dataset({"a": (("y",), np.arange(4.0))}, attrs={"run": 8}).to_netcdf("h5netcdf.nc", engine="h5netcdf")
with h5py.File("own.h5", "w") as file:
    file["q"] = np.arange(3)
"""
READ_BOTH = """
import h5py, netCDF4, xarray as xr
netCDF4.Dataset("mine.nc", "w").close()  # its HDF5 has the plugin too
with h5py.File("netcdf.nc") as file:
    print(file["inner/q"][:].tolist())
for name in ("xarray", "h5netcdf"):
    with xr.open_dataset(f"{name}.nc", engine="h5netcdf") as field:
        print(field.a.values.tolist(), int(field.run))
with h5py.File("own.h5") as file:
    print(file["q"][:].tolist())
"""


@pytest.mark.parametrize("order", ["reader first", "writer first"])
def test_both_wheels_in_one_process_make_files_each_with_its_own_hdf5(plugged, program, tmp_path, order):
    write, read = program("write.py", WRITE_BOTH), program("read.py", READ_BOTH)
    first, second = (read, write) if order == "reader first" else (write, read)
    done = plugged(RULES, *first, ":", *second)
    field = "[0.0, 1.0, 2.0, 3.0]"
    expected = ["[1, 2, 3]", f"{field} 7", f"{field} 8", "[0, 1, 2]"]
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".nc", ".h5")]


def test_netcdf_says_why_it_cannot_read_one(plugged, program, tmp_path):
    rules = RULES.replace('match = "*.nc"', 'match = "*.nc"\nmode = "both"', 1)
    text = """
import netCDF4
with netCDF4.Dataset("own.nc", "w") as file:
    file.createDimension("x", 2)
    file.createVariable("q", "i4", ("x",))[:] = [1, 2]
try:
    netCDF4.Dataset("own.nc")
except FileNotFoundError:
    print("not found")
"""
    done = plugged(RULES, *program("read.py", text))
    assert (done.returncode, done.stdout) == (0, "not found\n")
    assert "own.nc: netCDF reads its first bytes past HDF5 and finds none; read it by h5py or h5netcdf" in done.stderr
    done = plugged(rules, *program("write.py", text.partition("try:")[0]))
    assert (done.returncode, done.stderr) == (0, "")
    import netCDF4

    with netCDF4.Dataset(tmp_path / "own.nc") as file:  # behind memory, it is written
        assert file["q"][:].tolist() == [1, 2]


def test_a_use_ends_with_the_last_object_of_the_file(plugged, program):
    write = program(
        "write.py",
        CONTENTS
        + """
import h5py
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
access.set_fclose_degree(h5py.h5f.CLOSE_WEAK)
file = h5py.h5f.create(b"weak.h5", h5py.h5f.ACC_TRUNC, fapl=access)
h5py.File(file)["q"] = [1, 2, 3]
opened = h5py.h5d.open(file, b"q")
other = h5py.h5f.open(b"weak.h5", h5py.h5f.ACC_RDWR, fapl=access)  # of the same use
file.close()
other.close()
print("file closed", len(contents()) > 0)
h5py.Dataset(opened)[0] = 42
opened.close()
print("dataset closed", contents())
for n in range(50):
    with h5py.File("weak.h5", "r+") as file:
        file.require_group(f"g{n}")
    try:
        h5py.File("weak.h5", "x")
    except FileExistsError:
        pass
print("again", contents())
left = h5py.File("left.h5", "w")
left["q"] = 5
""",
    )
    read = program(
        "read.py",
        """
import h5py
print("read", h5py.File("weak.h5")["q"][:].tolist(), h5py.File("left.h5")["q"][()])
""",
    )
    turns = ["write.py"] * 51 + ["read.py"]
    done = plugged(RULES.replace('"*.nc"', f'"weak.h5"\nturns = {turns}', 1), *write, ":", *read)
    expected = ["again []", "dataset closed []", "file closed True", "read [42, 2, 3] 5"]
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, expected), done.stderr


def test_files_that_hdf5_keeps_in_its_own_memory_and_drivers_of_several_files(plugged, program, tmp_path):
    alone = program(
        "alone.py",
        CONTENTS
        + """
import h5py
with h5py.File("gone.h5", "w", driver="core", backing_store=False) as file:
    file["q"] = 1
with h5py.File("own.h5", "w", driver="core", backing_store=True) as file:
    file["q"] = 1
with h5py.File("own.h5", "r+", driver="core", backing_store=False) as file:
    file["q"][()] = 2  # which is not kept
    print(file["q"][()])
print(h5py.File("own.h5")["q"][()], h5py.File("own.h5", driver="stdio")["q"][()])
try:
    h5py.File("gone.h5")
except FileNotFoundError:
    print("gone")
h5py.h5f.create(b"third.h5").close()
print(h5py.h5f.is_hdf5(b"third.h5"), contents())
try:
    h5py.File("parts.h5", "w", driver="split", meta_ext=b"-m", raw_ext=b"-r")
except OSError as error:
    print(error.errno)
""",
    )
    done = plugged(RULES.replace("30", '3\ncomponents.alone = "alone.py"'), *alone)
    assert (done.returncode, done.stdout.split()) == (0, ["2", "1", "1", "gone", "True", "[]", "95"]), done.stderr
    assert "parts.h5: HDF5's driver of it makes no single file of this name" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"coupling.toml", "alone.py"}


def test_who_looks_sees_what_was_flushed(plugged, program):
    writer = program(
        "writer.py",
        """
import h5py, os, subprocess, sys
file = h5py.File("run.h5", "w")
file["q"] = [1, 2, 3]
file.flush()
environment = {**os.environ, "THALWEG_REDIRECT_LOOK": "1", "THALWEG_REDIRECT_COMPONENT": "-look"}
look = "import h5py; print(h5py.File('run.h5', locking=False)['q'][:].tolist())"
subprocess.run([sys.executable, "-c", look], env=environment, check=True, timeout=60)
file.close()
""",
    )
    done = plugged(RULES, *writer)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2, 3]\n", "")


#: An HDF5 library that is none: it loads a plugin as HDF5 does, and shows a connector of the version that it is given.
FAKE = """
#include <dlfcn.h>
#include <stdint.h>
typedef int64_t hid_t;
hid_t H5E_CANTOPENFILE_g, H5E_ERR_CLS_g, H5E_FILE_g;
unsigned connector[200];
int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { *a = 9, *b = 8, *c = 7; return 0; }
hid_t H5VLget_connector_id_by_name(const char *name) { return *name == 'n' ? 1 : -1; }
int H5VLintrospect_get_conn_cls(void *object, hid_t id, int level, const void **shown) {
  *shown = connector;
  return object && id == 1 && level == 0 ? 0 : -1;
}
#define NONE(name) int name(void) { return 0; }
NONE(H5Eclear2) NONE(H5Eget_auto2) NONE(H5Eget_current_stack) NONE(H5Epush2) NONE(H5Eset_auto2)
NONE(H5Eset_current_stack) NONE(H5FDdriver_query) NONE(H5FDregister) NONE(H5Iis_valid) NONE(H5Pclose) NONE(H5Pcopy)
NONE(H5Pget_driver) NONE(H5Pget_fapl_core) NONE(H5Pget_file_image) NONE(H5Pset_driver) NONE(H5VLclose)
#ifndef LACKS
NONE(H5Pset_fapl_sec2)
#endif
int loads(const char *path, unsigned version) {
  const void *(*info)(void) = (const void *(*)(void))dlsym(dlopen(path, RTLD_LAZY | RTLD_LOCAL), "H5PLget_plugin_info");
  connector[0] = version;
  const unsigned *made = info();
  return made ? (int)*made : -1;
}
"""


@pytest.mark.parametrize(
    ("version", "lacks", "said"),
    [
        (3, False, ""),
        (4, False, "HDF5 9.8.7 has a virtual object layer of version 4; this connector is for version 3 "),
        (3, True, "HDF5 9.8.7 has no H5Pset_fapl_sec2, which this connector needs; run the program without --vol"),
    ],
)
def test_an_hdf5_of_another_interface_is_refused_with_its_version(tmp_path, version, lacks, said):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("a C compiler is not installed")
    (tmp_path / "fake.c").write_text(FAKE)
    library = tmp_path / "libhdf5-fake.so"
    words = [compiler, "-shared", "-fPIC", "-o", str(library), str(tmp_path / "fake.c"), "-ldl"]
    subprocess.run([*words, *(["-DLACKS"] if lacks else [])], check=True, timeout=60)
    plugin = Path(preload.plugin()["HDF5_PLUGIN_PATH"].split(":")[0]) / "libthalweg-hdf5.so"
    load = f"import ctypes; print(ctypes.CDLL({str(library)!r}).loads({str(plugin)!r}.encode(), {version}))"
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{-1 if said else version}\n"), done.stderr
    assert (done.stderr == "") if not said else done.stderr.startswith(f"thalweg redirect: {said}")
