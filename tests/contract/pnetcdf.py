"""PnetCDF's test programs, built with Open MPI against the installed library."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from program import Program

#: The folders whose programs are run; those of `fandc` are only there to be compiled, and the large ones of `largefile`
#: write more than a test should.
FOLDERS = (
    *("C", "CXX", "F90", "cdf_format", "header", "largefile"),
    *("nc_test", "nf_test", "nf90_test", "nonblocking", "testcases"),
)
LARGE = {"largefile/" + name for name in ("bigrecords", "large_files", "tst_flarge", "large_coalesce", "large_var")}
#: They write and read more than 4 GiB.
LARGE |= {"testcases/large_var_cdf5", "testcases/last_large_var", "nonblocking/large_num_reqs"}
#: Sources that are parts of another program, or need a library that is built otherwise (netCDF-4, threads).
PARTS = {"nc_test": ("error", "util", "test_get", "test_put", "test_iget", "test_iput", "test_read", "test_write")}
PARTS["nf_test"] = ("nf_error", "fortlib", *PARTS["nc_test"])
PARTS["nf90_test"] = ("nf90_error", "fortlib", *PARTS["nc_test"])
NOT_HERE = {"testcases/tst_pthread"}
#: The tests that PnetCDF itself runs with one process.
ALONE = {"F90/tst_io", "cdf_format/tst_open_cdf5", "cdf_format/test_inq_format", "cdf_format/tst_corrupt"}
ALONE_FOLDERS = ("nc_test", "nf_test", "nf90_test")
MPIEXEC = [
    *("mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe"),
    *("--mca", "btl_vader_single_copy_mechanism", "none"),
]
PROCESSES = 4

#: The names of types that the library's own configuration defines, and what it found.
TYPES = {"schar": "signed char", "uchar": "unsigned char", "longlong": "long long", "ulonglong": "unsigned long long"}
MACROS = [
    *(f"-D{name}={meaning}" for name, meaning in TYPES.items()),
    "-DF77_NAME_LOWER_USCORE",
    *("-DHAVE_STRDUP", "-DHAVE_STRCASECMP", "-DHAVE_DECL_MPI_OFFSET", "-DRELAX_COORD_BOUND"),
]
COMPILERS = {
    ".c": ["mpicc.openmpi"],
    ".cpp": ["mpicxx.openmpi"],
    ".f": ["mpif90.openmpi", "-ffixed-form"],
    ".F": ["mpif90.openmpi", "-ffixed-form", "-cpp"],
    ".f90": ["mpif90.openmpi", "-ffree-form"],
    ".F90": ["mpif90.openmpi", "-ffree-form", "-cpp"],
}
#: What configure would have found out about this Fortran compiler.
FORTRAN_TYPES = {
    "NF_INT1_T": "integer*1",
    "NF_INT2_T": "integer*2",
    "NF_INT8_T": "integer*8",
    "PNF_X_INT8_MIN": "-9223372036854775807_8",
    "PNF_X_INT8_MAX": "9223372036854775807_8",
    "PNF_X_UINT_MAX": "4294967295_8",
}
M4_FORTRAN = ["-DHAVE_F77_GNU_INT", "-DHAVE_F77_INT2", "-DHAVE_F77_INT8"]


def programs(source: Path, build: Path) -> Iterator[Program]:
    """Build each program and give it."""
    build.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        yield from _of_folder(source, build, folder)


def _of_folder(source: Path, build: Path, folder: str) -> Iterator[Program]:
    here = source / "test" / folder
    own = build / folder
    own.mkdir(exist_ok=True)
    made = {path.stem: path for path in sorted(here.iterdir()) if path.suffix in COMPILERS or path.suffix == ".m4"}
    made.pop("tests.h", None)
    parts = PARTS.get(folder, ())
    for name, first in made.items():
        whole = f"{folder}/{name}"
        if name in parts or whole in NOT_HERE or whole in LARGE or name == "pres_temp_4D_rd":
            continue
        sources = [first]
        if name == folder:
            sources += [made[part] for part in parts if part in made]
        path = own / name
        why_not = "" if path.exists() else _compile(source, own, here, sources, path)
        if name == "pres_temp_4D_wr" and not why_not:
            _compile(source, own, here, [made["pres_temp_4D_rd"]], own / "pres_temp_4D_rd")
        for label, commands in _commands(whole, path, here):
            # They try to open these, as what is no netCDF file.
            inputs = [path] if name == "nf_test" else sorted(own.glob("test_get.F90")) if name == "nf90_test" else []
            yield Program(label, commands, path, inputs, why_not)


def _commands(whole: str, path: Path, here: Path) -> Iterator[tuple[str, list[list[str]]]]:
    folder, name = whole.split("/")
    start = [*MPIEXEC, "-n", str(1 if folder in ALONE_FOLDERS or whole in ALONE else PROCESSES), str(path)]
    if name in ALONE_FOLDERS:
        for format_ in ("", "-2", "-5"):
            yield f"{whole} {format_}".strip(), [[*start, format_, "-d", "{out}"]]
    elif whole in ("F90/tst_io",):
        yield whole, [[*start, "{out}"]]
    elif whole == "C/pres_temp_4D_wr":
        reads = [*start[:-1], str(path.with_name("pres_temp_4D_rd"))]
        yield whole + ", _rd", [[*start, "{out}/both.nc"], [*reads, "{out}/both.nc"]]
    elif whole in ("cdf_format/test_inq_format", "cdf_format/tst_corrupt"):
        yield whole, [[*start, str(here)]]
    elif whole == "cdf_format/tst_open_cdf5":
        yield whole, [[*start, str(here / "bad_begin.nc5")]]
    elif name == "tst_version":
        yield whole, [start]
    else:
        yield whole, [[*start, "{out}/" + name + ".nc"]]


def _compile(source: Path, own: Path, here: Path, sources: list[Path], to: Path) -> str:
    """Build a program; what the compiler said if it cannot be."""
    common = source / "test" / "common"
    include = [f"-I{here}", f"-I{own}", f"-I{common}"]
    fortran = any(path.suffix.lower().startswith(".f") for path in sources) or own.name.startswith("nf")
    if (here / "tests.h.m4").exists():
        (own / "tests.h").write_bytes(_m4(source, here / "tests.h.m4", []))
    if fortran:
        _headers_of_fortran(own, here)
        include += [f"-I{folder}" for folder in _folders_of_fortran()]
    ending = {"nf_test": ".F", "nf90_test": ".F90"}.get(own.name, ".c")
    objects: list[str] = []
    for path in [*sources, common / ("testutilsf.F90" if fortran else "testutils.c")]:
        plain = path
        if path.suffix == ".m4":
            plain = own / (path.stem + ending)
            plain.write_bytes(_m4(source, path, M4_FORTRAN if fortran else []))
        to_object = str(own / f"{to.name}.{path.stem}.o")
        command = [*COMPILERS[plain.suffix], "-w", "-O1", *MACROS, *include, "-c", str(plain), "-o", to_object]
        if plain.suffix.lower().startswith(".f"):
            form = "fixed" if plain.suffix.lower() == ".f" else "free"
            command += ["-fallow-argument-mismatch", f"-J{own}", f"-f{form}-line-length-none"]
        said = _run(command)
        if said:
            return said
        objects.append(to_object)
    linker = "mpif90.openmpi" if fortran else "mpicxx.openmpi"
    return _run([linker, *objects, "-o", str(to), "-lpnetcdf", "-lm", "-lpthread"])


def _folders_of_fortran() -> list[Path]:
    """Where the distribution has put the module and the header of PnetCDF's Fortran interfaces."""
    listed = subprocess.run(["dpkg", "-L", "libpnetcdf-dev"], capture_output=True, text=True, check=True).stdout
    return [path.parent for path in map(Path, listed.split()) if path.name in ("pnetcdf.mod", "pnetcdf.inc")]


def _headers_of_fortran(own: Path, here: Path) -> None:
    """The headers that PnetCDF's configure makes for its Fortran tests."""
    template = here / "tests.inc.in"
    if not template.exists():
        return
    text = template.read_text()
    for name, type_ in FORTRAN_TYPES.items():
        text = text.replace(f"@{name}@", type_)
    (own / "tests.inc").write_text(text)
    (own / "mpinetcdf_impl.h").write_text("#include <mpi.h>\n")
    (own / "mpifnetcdf.h").write_text("#define FORTRAN_API\n#define FORT_CALL\n")


def _m4(source: Path, path: Path, options: list[str]) -> bytes:
    command = ["m4", "-DPNETCDF", f"-I{source / 'm4'}", *options, str(path)]
    return subprocess.run(command, capture_output=True, check=True, cwd=path.parent).stdout


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "rror" in line or "undefined" in line]
    return (lines or done.stderr.splitlines() or [f"{command[0]} failed"])[0][:200]
