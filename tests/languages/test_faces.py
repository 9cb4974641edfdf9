"""What each face promises, checked by programs of its own language that bring their own server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiled import build, run
from left_behind import nothing_left
from source_tree import ROOT
from thalweg.cli.kokkos import find_kokkos
from thalweg.staging import Server

FACES = ROOT / "bindings"


@pytest.mark.parametrize("name", ["refusals", "cxx_face", "fortran_face", "kokkos_traps"])
def test_program_finds_what_it_was_promised(programs: Path, name: str) -> None:
    with nothing_left() as mark:
        run(programs / name, env=mark.env, timeout_s=120)


def test_refusals_touch_no_memory_that_is_not_theirs(programs: Path) -> None:
    # What the library keeps for its own threads until the process ends is no leak of the caller's.
    options = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "halt_on_error=1"}
    run(programs / "refusals_watched", env={**os.environ, **options}, timeout_s=240)


@pytest.mark.parametrize("link", ["node", "network"])
@pytest.mark.parametrize("name", ["streams", "streams_watched", "cxx_streams"])
def test_a_stream_gives_what_was_pushed(programs: Path, name: str, link: str, tmp_path: Path) -> None:
    topics, data = tmp_path / "topics", tmp_path / "data"
    topics.mkdir()
    data.mkdir()
    limit, token = 64 << 20, "a secret of the test"
    with (
        Server(memory_limit_bytes=limit, listen="127.0.0.1:0", token=token, stream_folder=topics) as server,
        nothing_left() as mark,
    ):
        address = server.address if link == "node" else server.tcp_address
        assert address is not None
        options = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "halt_on_error=1"}
        env = {**mark.env, **options, "THALWEG_ADDRESS": address, "THALWEG_TOKEN": token}
        words = [data] if name.startswith("streams") else []
        assert run(programs / name, *words, env=env, timeout_s=240) == "OK\n"


#: Programs that must not compile, and what the compiler must say.
NOT_COMPILED = {
    "a type that differs": ("Kokkos::deep_copy(staged, floats);", "converts no values: give a view of the same type"),
    "a rank that differs": ("Kokkos::deep_copy(staged, line);", "needs views of the same rank"),
    "a target that is const": ("Kokkos::deep_copy(constant, staged);", "a destination that is not const"),
    "a part of a staging view": ("Kokkos::subview(staged, Kokkos::ALL, 1);", "use of deleted function"),
    "too few bounds": ("Kokkos::Staging::set_lower_bound(staged, 1);", "one bound for each axis of the view"),
    "a bound that is no number of cells": (
        "Kokkos::Staging::set_lower_bound(staged, 1.5, 2);",
        "bounds are whole numbers",
    ),
    "a view that is not staged": ("Kokkos::Staging::set_version(floats, 1);", "must be in thalweg::StagingSpace"),
    "layouts of views of other types": (
        "Kokkos::Staging::view_bind_layout(staged, single);",
        "both views must have cells of the same type",
    ),
}
AROUND = """
#include <Kokkos_Core.hpp>
#include <thalweg/KokkosStaging.hpp>
void f(Kokkos::View<double**, Kokkos::LayoutLeft, thalweg::StagingSpace> staged,
       Kokkos::View<float**, Kokkos::LayoutLeft, thalweg::StagingSpace> single,
       Kokkos::View<float**, Kokkos::HostSpace> floats, Kokkos::View<double*, Kokkos::HostSpace> line,
       Kokkos::View<const double**, Kokkos::HostSpace> constant, Kokkos::View<double**, Kokkos::HostSpace> target) {
  (void)single; (void)floats; (void)line; (void)constant;
  Kokkos::deep_copy(target, staged);
  STATEMENT
}
"""


def compiled(statement: str) -> subprocess.CompletedProcess[str]:
    """The compiler's word on a program with this statement."""
    found = find_kokkos()
    compiler = shutil.which("c++")
    if found is None or compiler is None:
        pytest.skip("Kokkos or a C++ compiler is not installed")
    includes = [f"-I{FACES / face / 'include'}" for face in ("c", "cxx", "kokkos")]
    command = [compiler, "-std=c++17", "-fsyntax-only", *includes, "-isystem", str(found.include), "-x", "c++", "-"]
    text = AROUND.replace("STATEMENT", statement)
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


def test_the_program_around_compiles() -> None:
    done = compiled("")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", NOT_COMPILED)
def test_what_could_go_wrong_in_silence_does_not_compile(case: str) -> None:
    statement, said = NOT_COMPILED[case]
    done = compiled(statement)
    assert done.returncode != 0
    assert said in done.stderr


def test_fortran_arrays_are_what_their_maker_makes() -> None:
    made = run(sys.executable, FACES / "fortran/make_arrays.py")
    assert made == (FACES / "fortran/thalweg_arrays.f90").read_text(), "run make_arrays.py and commit what it prints"


def test_a_program_fails_in_fortran_as_the_language_does(programs: Path, tmp_path: Path) -> None:
    """Without stat= an error ends the program, with its message."""
    source = tmp_path / "ends.f90"
    source.write_text(
        "program ends\n  use thalweg\n  type(thalweg_client) :: client\n"
        "  call thalweg_connect(client, addresses='ftp:x')\n  print *, 'not reached'\nend program ends\n"
    )
    package = ROOT / "build/languages"
    flags = [f"-I{package / 'modules'}", f"-L{package / 'lib'}", "-lthalweg_fortran", "-lthalweg"]
    run("gfortran", source, "-o", tmp_path / "ends", *flags, f"-Wl,-rpath,{package / 'lib'}")
    done = subprocess.run([tmp_path / "ends"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "accepted are unix:NAME and tcp:HOST:PORT" in done.stderr
    assert "not reached" not in done.stdout


def test_an_installed_package_is_found(package: Path, tmp_path: Path) -> None:
    """By CMake and by pkg-config, also where it was moved to."""
    run("cmake", "--install", package, "--prefix", tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / "moved")
    prefix = tmp_path / "moved"
    built = build(ROOT / "examples/figure6", tmp_path / "figure6", next(prefix.glob("lib*/cmake/thalweg")))
    assert sorted(path.name for path in built.glob("figure6_*")) == [
        "figure6_c",
        "figure6_cxx",
        "figure6_fortran",
        "figure6_kokkos",
    ]
    paths = ":".join(str(path) for path in prefix.glob("**/pkgconfig"))
    env = {**os.environ, "PKG_CONFIG_PATH": paths}
    for compiler, name, source in (("cc", "thalweg", "figure6.c"), ("gfortran", "thalweg-fortran", "figure6.f90")):
        flags = run("pkg-config", "--cflags", "--libs", name, env=env).split()
        run(compiler, ROOT / "examples/figure6" / source, "-o", tmp_path / source.replace(".", "_"), *flags)
