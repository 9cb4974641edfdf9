"""The machine that a figure was measured on, in the words of a result file."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path


def describe() -> dict[str, object]:
    """Host name, processor, usable cores, memory in bytes, kernel and Python version of this machine."""
    return {
        "hostname": socket.gethostname(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu() -> str:
    """The processor's model name as the kernel gives it; the architecture where it gives none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
