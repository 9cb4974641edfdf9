"""Facts about the machine and the libraries of a run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import socket
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "pyarrow", "torch", "redis", "pydantic", "cloudpickle", "matplotlib")


def machine() -> dict[str, Any]:
    """Return hostname, cpu, cores (usable ones), memory_bytes, kernel, python."""
    return {
        "hostname": socket.gethostname(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Thalweg and of those of `LIBRARIES` that are installed; imports none of them."""
    import thalweg

    found = {"thalweg": thalweg.__version__}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
