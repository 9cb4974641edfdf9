"""Programs of compiled languages, built and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from source_tree import ROOT
from thalweg.cli.kokkos import find_kokkos

#: Building takes minutes on a slow machine; a build that hangs is ended.
BUILD_S = 280


def run(*command: str | Path, env: Mapping[str, str] | None = None, timeout_s: float = BUILD_S) -> str:
    """What a program prints; the test fails with it when the program does."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, cwd=ROOT, env=env, check=False)
    words = " ".join(str(word) for word in command)
    assert done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def built_faces() -> Path:
    """Build the faces of other languages; where `find_package(thalweg)` finds them. Skips where one cannot be built."""
    for program in ("cargo", "cmake", "cc", "c++", "gfortran"):
        if shutil.which(program, path=f"{os.environ['PATH']}:{Path.home() / '.cargo/bin'}") is None:
            pytest.skip(f"{program} is not installed")
    if find_kokkos() is None:
        pytest.skip("Kokkos is not installed")
    run(ROOT / "scripts" / "languages")
    return ROOT / "build" / "languages"


def build(source: Path, folder: Path, package: Path) -> Path:
    """Build a CMake project that finds Thalweg in `package`; the folder with its programs."""
    run("cmake", "-S", source, "-B", folder, f"-Dthalweg_DIR={package}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder, "--parallel", "2")
    return folder
