"""Which Kokkos this machine has: its release, its backends, where it lies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Where a prefix has Kokkos' headers; Debian's come with Trilinos.
_UNDER = ("include", "include/kokkos", "include/trilinos")
_BACKENDS = {
    "SERIAL": "Serial",
    "OPENMP": "OpenMP",
    "THREADS": "Threads",
    "HPX": "HPX",
    "CUDA": "CUDA",
    "HIP": "HIP",
    "SYCL": "SYCL",
    "OPENMPTARGET": "OpenMPTarget",
    "OPENACC": "OpenACC",
}


class Kokkos(NamedTuple):
    """One installation."""

    version: str
    backends: list[str]
    include: Path


def find_kokkos() -> Kokkos | None:
    """Return the Kokkos that CMake would find: in ``Kokkos_ROOT``, ``CMAKE_PREFIX_PATH``, then the system's."""
    for prefix in _prefixes():
        for under in _UNDER:
            include = prefix / under
            found = read_kokkos(include / "KokkosCore_config.h")
            if found:
                return found
    return None


def read_kokkos(config: Path) -> Kokkos | None:
    """Return what a ``KokkosCore_config.h`` says; None when it is not there, or says no release."""
    try:
        text = config.read_text(errors="replace")
    except OSError:
        return None
    version = re.search(r"^#define KOKKOS_VERSION (\d+)$", text, flags=re.MULTILINE)
    if version is None:
        return None
    number = int(version.group(1))
    names = set(re.findall(r"^#define KOKKOS_ENABLE_(\w+)$", text, flags=re.MULTILINE))
    backends = [shown for name, shown in _BACKENDS.items() if name in names]
    return Kokkos(f"{number // 10000}.{number // 100 % 100}.{number % 100}", backends, config.parent)


def _prefixes() -> Iterator[Path]:
    for variable in ("Kokkos_ROOT", "CMAKE_PREFIX_PATH"):
        yield from (Path(part) for part in re.split(r"[:;]", os.environ.get(variable, "")) if part)
    yield from (Path("/usr/local"), Path("/usr"))
