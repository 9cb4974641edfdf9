"""Where Thalweg's own C library is: built in the source tree that this package is of, or installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_ANSWER_S = 10.0


def options() -> list[str]:
    """With which the compiler finds it, and a program later; none when it is nowhere, or where a compiler looks."""
    root = Path(__file__).parents[3]
    header, built = root / "bindings/c/include", root / "build/languages/lib"
    if (header / "thalweg.h").is_file() and (built / "libthalweg.so").exists():
        return [f"-I{header}", f"-L{built}", f"-Wl,-rpath,{built}"]
    found = [*_packaged("--cflags"), *_packaged("--libs-only-L")]
    return [*found, *(f"-Wl,-rpath,{word[2:]}" for word in found if word.startswith("-L"))]


def _packaged(what: str) -> list[str]:
    program = shutil.which("pkg-config")
    if program is None:
        return []
    done = subprocess.run([program, what, "thalweg"], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    return done.stdout.split() if done.returncode == 0 else []
