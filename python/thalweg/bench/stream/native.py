"""The C programs of the systems: compiled for a run, against the libraries that are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import ComponentFailedError

_FOLDER = Path(__file__).with_name("programs")
_OPTIONS = ("-O3", "-march=native", "-std=gnu11")
_COMPILE_S = 120.0


@dataclass(frozen=True)
class Source:
    """A program: its file in ``programs`` or anywhere by its whole path, its header and libraries, how to get them.

    ``search`` says with which options more the compiler finds them, where it does not by itself.
    """

    file: str
    header: str
    libraries: tuple[str, ...]
    install: str
    search: Callable[[], Sequence[str]] = tuple


def missing(source: Source) -> str | None:
    """Say what to install to compile it; None when all is there."""
    compiler = _compiler()
    if compiler is None:
        return "there is no C compiler; install gcc, or set CC"
    done = subprocess.run(
        [compiler, *source.search(), "-fsyntax-only", "-include", source.header, "-x", "c", os.devnull],
        capture_output=True,
        timeout=_COMPILE_S,
    )
    if done.returncode:
        return f"{compiler} does not find {source.header}; install it ({source.install})"
    return None


def compiled(source: Source, folder: Path) -> Path:
    """Compile a program into a folder, once; returns it.

    Raises
    ------
    ComponentFailedError
        When it does not compile, with the compiler's words.
    """
    program = folder / Path(source.file).stem
    if not program.exists():
        libraries = [f"-l{library}" for library in source.libraries]
        done = subprocess.run(
            [
                _compiler() or "cc",
                *_OPTIONS,
                f"-I{_FOLDER}",
                str(_FOLDER / source.file),
                "-o",
                str(program),
                *libraries,
                *source.search(),
            ],
            capture_output=True,
            text=True,
            timeout=_COMPILE_S,
        )
        if done.returncode:
            raise ComponentFailedError(f"bench stream: {source.file} does not compile: {done.stderr.strip()}")
    return program


def _compiler() -> str | None:
    return next(filter(None, map(shutil.which, (os.environ.get("CC", ""), "cc", "gcc", "clang"))), None)
