"""netCDF-Fortran's test programs and examples, built against the installed library."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from program import Program

FOLDERS = ("nf_test", "nf03_test", "nf_test4", "nf03_test4", "examples/F77", "examples/F90")
#: The sources of the one program that has several.
NF_TEST = ("f03lib_f_interfaces.f90", "f03lib.c", "nf_error.F", "nf_test.F", "test_get.F", "test_put.F")
PARTS = {
    "nf_test/nf_test": (*NF_TEST, "test_read.F", "test_write.F", "util.F"),
    "nf_test/ftest": ("f03lib_f_interfaces.f90", "f03lib.c", "handle_err.F", "ftest.F"),
}
#: What configure would have found out about this Fortran compiler.
TYPES = {"NF_INT1_T": "integer*1", "NF_INT2_T": "integer*2", "NCBYTE_T": "integer*1", "NCSHORT_T": "integer*2"}
SAME_TYPES = ("INT1_IS_C_SIGNED_CHAR", "INT2_IS_C_SHORT", "INT_IS_C_INT", "REAL_IS_C_FLOAT")
MACROS = [
    *(f"-D{name}={meaning}" for name, meaning in TYPES.items()),
    "-DNF_RELAX_COORD_BOUND",
    *(f"-DNF_{same}=1" for same in (*SAME_TYPES, "DOUBLEPRECISION_IS_C_DOUBLE")),
]
#: What is not run: why, and the patterns of names.
NOT_RUN = {
    "the installed netCDF-Fortran has no MPI": r".*_par(allel)?(_.*|\d)?|ftst_parallel.*|simple_xy_par.*",
    "it needs a filter that the library's own build makes": r"ftst_filter",
    "it writes gigabytes": r"f90tst_flarge",
    "it measures times": r"f90tst_io",
}
#: Where the library's module is, and its header.
INCLUDE = next((path.parent for path in Path("/usr/include").rglob("netcdf.inc")), Path("/usr/include"))


def programs(source: Path, build: Path) -> Iterator[Program]:
    """Build each program and give it; those that are not run, with the reason."""
    for folder in FOLDERS:
        here, own = source / folder, build / folder
        own.mkdir(parents=True, exist_ok=True)
        for first in sorted(path for path in here.iterdir() if re.fullmatch(r"\.[fF](90)?", path.suffix)):
            whole = f"{folder}/{first.stem}"
            if not _is_program(first) or first.stem.endswith("_wr"):
                continue
            why_not = next((why for why, which in NOT_RUN.items() if re.fullmatch(which, first.stem)), "")
            names = [first.stem.replace("_rd", "_wr"), first.stem] if first.stem.endswith("_rd") else [first.stem]
            for name in names:
                parts = PARTS.get(whole, (name + first.suffix,))
                why_not = why_not or _compile([here / part for part in parts], own / name)
            commands = [[str(own / name)] for name in names]
            if whole == "nf_test/ftest":
                commands.insert(0, ["cp", str(here / "ref_fills.nc"), "fills.nc"])
            yield Program(whole, commands, own / first.stem, why_not=why_not)


def _is_program(source: Path) -> bool:
    return re.search(r"^\s*program\s", source.read_text(errors="replace"), re.IGNORECASE | re.MULTILINE) is not None


def _compile(sources: list[Path], to: Path) -> str:
    """Build a program, once; what the compiler said if it cannot be."""
    if to.exists():
        return ""
    flags = [
        "-w",
        "-O1",
        "-cpp",
        "-fallow-argument-mismatch",
        "-fno-range-check",
        *MACROS,
        f"-I{INCLUDE}",
        f"-J{to.parent}",
    ]
    objects: list[str] = []
    for source in sources:
        objects.append(f"{to}.{source.stem}.o")
        fortran = ["gfortran", *flags, f"-I{source.parent}"]
        command = ["gcc", "-w"] if source.suffix == ".c" else fortran
        said = _run([*command, "-c", str(source), "-o", objects[-1]])
        if said:
            return said
    return _run(["gfortran", *objects, "-o", str(to), "-lnetcdff", "-lnetcdf"])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "rror" in line or "undefined" in line]
    return (lines or done.stderr.splitlines() or [f"{command[0]} failed"])[0][:200]
