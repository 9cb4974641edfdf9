"""netCDF-C's test programs and examples, and its tests of HDF5, built against the installed libraries."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from program import Program

FOLDERS = ("nc_test", "nc_test4", "h5_test", "unit_test", "ncdump", "examples/C")
#: What configure would have found out, for the tests and for the library's own headers that they include.
CONFIGURATION = """
#include <stdint.h>
#include <stddef.h>
#include <fcntl.h>
#include <unistd.h>
#define HAVE_UNISTD_H 1
#define HAVE_FCNTL_H 1
#define HAVE_STDINT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_STRDUP 1
#define HAVE_STRTOLL 1
#define HAVE_STRTOULL 1
#define HAVE_USHORT 1
#define HAVE_UINT 1
#define HAVE_UINT64_T 1
#define HAVE_UINTPTR_T 1
#define HAVE_PTRDIFF_T 1
#define HAVE_GETTIMEOFDAY 1
#define SIZEOF_SIZE_T 8
#define SIZEOF_OFF_T 8
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define USE_NETCDF4 1
#define USE_HDF5 1
#define HDF5_SUPPORTS_PAR_FILTERS 1
#define HAVE_H5Z_SZIP 1
#define ENABLE_CDF5 1
#define USE_CDF5 1
#define TEMP_LARGE "."
#define CHUNK_CACHE_SIZE 16777216
#define CHUNK_CACHE_NELEMS 4133
#define CHUNK_CACHE_PREEMPTION 0.75f
#define DEFAULT_CHUNK_SIZE 16777216
#define MAX_DEFAULT_CACHE_SIZE 67108864
#include "ncconfigure.h"
"""
#: Sources beside a program's own.
PARTS = {
    "nc_test/nc_test": ("error", "test_get", "test_put", "test_read", "test_write", "util"),
    "unit_test/tst_exhash": ("timer_utils",),
    "unit_test/tst_xcache": ("timer_utils",),
}
#: What is not run: why, and which.
NOT_RUN = {
    "it writes gigabytes": "nc_test: large_files quick_large_files tst_big_rvar tst_big_var tst_big_var2 tst_big_var6"
    " tst_large tst_large_cdf5 tst_cdf5_begin tst_diskless4; nc_test4: tst_large tst_large2;"
    " examples/C: quick_large_files",
    "it measures times": "nc_test: testnc3perf; nc_test4: tst_nc4perf tst_parallel4",
    "it reads from a server on the network": "nc_test: tst_byterange; unit_test: test_aws",
    "it needs a filter that the library's own build makes": "nc_test4: test_filter test_filter_misc tst_multifilter"
    " test_filter_order test_filter_reg test_filter_repeat tst_filter_avail; examples/C: filter_example",
    "it is a tool, to which shell scripts give files": "ncdump: ncdump nccopy nc4print ncvalidator ocprint printfqn"
    " ncpathcvt ncfilteravail nchdf5version bom nctrunc tst_rcmerge tst_compress tst_chunking; nc_test4: h5testszip",
    "the installed netCDF has no PnetCDF in it": "nc_test: tst_parallel2 tst_pnetcdf tst_addvar tst_formatx_pnetcdf"
    " tst_default_format_pnetcdf tst_cdf5format; examples/C: parallel_vara",
    "no test of the library runs it": "ncdump: tst_vlen_demo",
}
#: What is run, where it is more than the program alone, as the library's shell scripts do. {here}: the source's folder.
SAME = "sed 's/e+0/e+/g' | diff -b - {here}"
COMMANDS = {
    "nc_test/tst_diskless": "tst_diskless; tst_diskless netcdf4; tst_diskless persist; test -f tst_diskless.nc;"
    " rm tst_diskless.nc; tst_diskless netcdf4 persist; test -f tst_diskless.nc",
    "nc_test/tst_diskless2": "tst_diskless2; ncdump -n x tst_diskless2.nc | ncgen -k nc4 -o x.nc;"
    " diff -wb <(ncdump -n x tst_diskless2.nc) <(ncdump x.nc)",
    "nc_test/tst_diskless3": "tst_diskless3 file file:f.nc; tst_diskless3 diskless persist file:g.nc;"
    " diff <(ncdump -n x f.nc) <(ncdump -n x g.nc)",
    "nc_test/tst_diskless5": "ncgen -3 -lb -o tst_diskless5.nc {here}/tst_diskless5.cdl; tst_diskless5",
    "nc_test/tst_inmemory": "tst_inmemory; for n in 3 4; do"
    " diff -wb <(ncdump -n x tst_inmemory$n.nc) <(ncdump -n x tst_inmemory${n}_create.nc); done",
    "nc_test/tst_open_mem": "tst_open_mem {here}/f03tst_open_mem.nc",
    "nc_test/tst_open_cdf5": "tst_open_cdf5 {here}/bad_cdf5_begin.nc",
    "nc_test4/tst_charvlenbug": "tst_charvlenbug; ncdump tst_charvlenbug.nc",
    "nc_test4/renamegroup": "ncgen -k nc4 -o g.nc {here}/../ncdump/ref_tst_group_data.cdl; renamegroup g.nc g2/g3 g4;"
    " ncdump -h g.nc | grep 'group: g4'",
    "nc_test4/tst_fillonly": "ncgen -4 -b -o tmp_fillonly.nc {here}/ref_fillonly.cdl; tst_fillonly",
    "ncdump/tst_create_files": f"tst_create_files; ncdump tst_solar_1.nc | {SAME}/ref_tst_solar_1.cdl;"
    f" ncdump tst_solar_2.nc | {SAME}/ref_tst_solar_2.cdl",
    "ncdump/tst_group_data": f"tst_group_data; ncdump tst_group_data.nc | {SAME}/ref_tst_group_data.cdl;"
    f" ncdump -v g2/g3/var tst_group_data.nc | {SAME}/ref_tst_group_data_v23.cdl",
    "ncdump/tst_h_rdc0": "ncgen -k nc7 -b -o tst_netcdf4_c0.nc {here}/../ncgen/c0.cdl; tst_h_rdc0",
    "ncdump/tst_h_scalar": "tst_h_scalar; ncdump tst_h_scalar.nc | diff -b - {here}/cdl/ref_tst_h_scalar.cdl",
    "ncdump/tst_dimsizes": "tst_dimsizes; for f in classic 64offset 64data; do ncdump -h tst_dimsize_$f.nc; done",
    "ncdump/rewrite-scalar": "ncgen -b -o small.nc {here}/small.cdl; rewrite-scalar small.nc t; ncdump small.nc",
    **{
        f"ncdump/{name}": f"{name}; ncdump {name}.nc | {SAME}/ref_{name}.cdl"
        for name in ("tst_enum_data", "tst_opaque_data", "tst_comp", "tst_nans", "tst_fillbug")
    },
    **{
        f"examples/C/{name}_rd": f"{name}_wr; {name}_rd"
        for name in ("simple_xy", "sfc_pres_temp", "pres_temp_4D", "simple_nc4", "simple_xy_nc4")
    },
}
#: Programs with MPI, each with how many processes.
PARALLEL = {
    **{f"nc_test4/{name}": 4 for name in ("tst_mpi_parallel", "tst_parallel", "tst_parallel5", "tst_parallel6")},
    **{f"nc_test4/{name}": 4 for name in ("tst_parallel3", "tst_simplerw_coll_r", "tst_parallel_zlib")},
    **{f"nc_test4/{name}": 4 for name in ("tst_parallel_compress", "tst_quantize_par")},
    **{f"h5_test/{name}": 4 for name in ("tst_h_par", "tst_h_par_compress")},
    "nc_test4/tst_mode": 1,
}
#: Of the installed libraries.
LIBRARIES = next(path.parent for path in Path("/usr/lib").glob("*/libnetcdf.so"))
OPENMPI = "mpiexec.openmpi --allow-run-as-root --oversubscribe --mca btl_vader_single_copy_mechanism none"
#: What builds and starts programs with MPI: the compiler, the library netCDF where there is one, the launcher.
MPIS = {
    "openmpi": ("mpicc.openmpi", ["-lnetcdf_mpi"], OPENMPI),
    "mpich": ("mpicc.mpich", [], "mpiexec.mpich"),
}


def programs(source: Path, build: Path) -> Iterator[Program]:
    """Build each program and give it; those that are not run, with the reason."""
    build.mkdir(parents=True, exist_ok=True)
    (build / "config.h").write_text(CONFIGURATION)
    not_run = dict(_not_run())
    for folder in FOLDERS:
        names = _names(source / folder)
        with_others = {one for name in names for one in _run_by(source / folder, f"{folder}/{name}") if one != name}
        for name in names:
            whole = f"{folder}/{name}"
            if whole in not_run:
                yield Program(whole, [], build / "none", why_not=not_run[whole])
            elif whole in PARALLEL:
                for mpi in MPIS if folder == "h5_test" else ["openmpi"]:
                    yield _parallel(source, build, folder, name, mpi)
            elif name not in with_others:
                yield _serial(source, build, folder, name)


def _not_run() -> Iterator[tuple[str, str]]:
    for why, which in NOT_RUN.items():
        for of_folder in which.split("; "):
            folder, names = of_folder.split(": ")
            yield from ((f"{folder}/{name}", why) for name in names.split())


def _names(here: Path) -> list[str]:
    """The programs that the library's own build knows."""
    known = " ".join((here / made_by).read_text() for made_by in ("Makefile.am", "CMakeLists.txt"))
    words = set(re.split(r"[\s();]+", known))
    sources = sorted(path for path in here.glob("*.c") if re.search(r"\bmain\s*\(", path.read_text(errors="replace")))
    return [path.stem for path in sources if path.stem in words]


def _run_by(here: Path, whole: str) -> list[str]:
    """The programs of a folder that are run, one after the other, for the one that is called `whole`."""
    words = re.split(r"[\s;|]+", COMMANDS.get(whole, here.joinpath(whole).name))
    tools = ("ncdump", "ncgen")  # those of the system
    return [word for word in dict.fromkeys(words) if word not in tools and (here / f"{word}.c").exists()]


def _serial(source: Path, build: Path, folder: str, name: str) -> Program:
    here, own = source / folder, build / folder
    whole = f"{folder}/{name}"
    flags = ["-lnetcdf", "-I/usr/include/hdf5/serial", f"-L{LIBRARIES}/hdf5/serial", "-lhdf5_hl", "-lhdf5"]
    said = [_compile("gcc", source, build, folder, one, own / one, flags) for one in _run_by(here, whole)]
    command = COMMANDS.get(whole, name).replace("{here}", str(here))
    commands = [[f"export PATH={own}:$PATH srcdir={here}; {command}"]]
    return Program(whole, commands, own / name, _inputs(here, name), next(filter(None, said), ""))


def _inputs(here: Path, name: str) -> list[Path]:
    """The files of the source that a program reads where it is started."""
    named = re.findall(r'"(ref_\w+\.(?:nc|h5))"', (here / f"{name}.c").read_text(errors="replace"))
    return [here / file for file in named if (here / file).exists()]


def _parallel(source: Path, build: Path, folder: str, name: str, mpi: str) -> Program:
    compiler, netcdf, launcher = MPIS[mpi]
    path = build / folder / f"{name}.{mpi}"
    hdf5 = [f"-I/usr/include/hdf5/{mpi}", f"-L{LIBRARIES}/hdf5/{mpi}", "-lhdf5_hl", "-lhdf5"]
    flags = ["-DUSE_PARALLEL=1", "-DUSE_PARALLEL4=1", f"-I{LIBRARIES}/netcdf/mpi/include", *netcdf, *hdf5]
    why_not = _compile(compiler, source, build, folder, name, path, flags)
    start = f"{launcher} -n {PARALLEL[f'{folder}/{name}']} {path}"
    return Program(f"{folder}/{name} {mpi}", [[start]], path, why_not=why_not)


def _compile(compiler: str, source: Path, build: Path, folder: str, name: str, to: Path, flags: list[str]) -> str:
    """Build a program, once; what the compiler said if it cannot be."""
    if to.exists():
        return ""
    to.parent.mkdir(parents=True, exist_ok=True)
    here = source / folder
    sources = [str(here / f"{part}.c") for part in (name, *PARTS.get(f"{folder}/{name}", ()))]
    include = [f"-I{path}" for path in (build, source / "include", here, source / "libsrc", source / "libhdf5")]
    defined = ["-DHAVE_CONFIG_H", "-D_GNU_SOURCE", f"-DTOPSRCDIR={source}", f"-DTOPBINDIR={build}"]
    command = [compiler, "-w", "-O1", *defined, *include, *sources, "-o", str(to), *flags, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
    return (lines or done.stderr.splitlines() or [f"{compiler} failed"])[0][:200]
