"""Each thing that Thalweg can use, looked for without importing or starting it where that is enough."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from thalweg.sizes import format_size

_ASK_S = 10.0


class Item(NamedTuple):
    """One row of ``thalweg doctor``."""

    item: str
    found: bool
    version: str
    needed_for: str
    how_to_get: str


def examine() -> list[Item]:
    """All items, what is necessary first."""
    libraries = [
        ("numpy", "arrays", "pip install thalweg"),
        ("pyarrow", "event files of a run", "pip install thalweg"),
        ("matplotlib", "figures", "pip install thalweg"),
        ("torch", "AI components, the demo", "pip install 'thalweg[ai]'"),
        ("redis", "DataStore backend redis", "pip install 'thalweg[redis]'"),
        ("hiredis", "quick reads from Redis", "pip install 'thalweg[redis]'"),
        ("dragonhpc", "DataStore backend dragon", "pip install 'thalweg[dragon]'"),
        ("mpi4py", "peer MPICH in bench transport", "pip install mpi4py mpich"),
        ("iceoryx2", "peer in bench transport", "pip install iceoryx2"),
        ("pyzmq", "peer ZeroMQ in bench transport", "pip install pyzmq"),
        ("lmdb", "peer in bench transport", "pip install lmdb"),
    ]
    return [
        Item("python", sys.version_info >= (3, 10), platform.python_version(), "everything", "Python 3.10 or newer"),
        _native(),
        *(_library(*library) for library in libraries),
        _program("redis-server", ["--version"], "DataStore backend redis", "apt-get install redis-server"),
        _program("mpiexec", ["--version"], "peer MPICH in bench transport", "pip install mpi4py mpich"),
        _program("cargo", ["--version"], "building from source", "https://rustup.rs"),
        _program("nvidia-smi", ["--query-gpu=name", "--format=csv,noheader"], "kernels on cuda", "an NVIDIA driver"),
        _memfd(),
        _huge_pages(),
        _shared_memory(),
        _limit("open files", resource.RLIMIT_NOFILE, 1024, str, "many clients", "ulimit -n 4096"),
        _limit("locked memory", resource.RLIMIT_MEMLOCK, 8 << 20, format_size, "io_uring, RDMA", "ulimit -l unlimited"),
    ]


def _native() -> Item:
    how = "make setup (needs Rust 1.85 or newer)"
    try:
        import thalweg.staging  # noqa: F401

        version = importlib.metadata.version("thalweg")
    except (ImportError, importlib.metadata.PackageNotFoundError):
        return Item("native library", False, "not built", "staging service", how)
    return Item("native library", True, version, "staging service", how)


def _library(name: str, needed_for: str, how: str) -> Item:
    try:
        return Item(name, True, importlib.metadata.version(name), needed_for, how)
    except importlib.metadata.PackageNotFoundError:
        return Item(name, False, "", needed_for, how)


def _program(name: str, question: list[str], needed_for: str, how: str) -> Item:
    """A program on the path or beside this interpreter, and the first words of its answer that hold a digit."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.exists() else shutil.which(name)
    if path is None:
        return Item(name, False, "", needed_for, how)
    try:
        answer = subprocess.run([path, *question], capture_output=True, text=True, timeout=_ASK_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Item(name, False, f"{path} does not answer", needed_for, how)
    lines = [line.strip() for line in answer.splitlines() if any(letter.isdigit() for letter in line)]
    return Item(name, True, " ".join(lines[0].split())[:40] if lines else "", needed_for, how)


def _memfd() -> Item:
    how = "Linux 3.17 or newer, not forbidden by a sandbox"
    try:
        os.close(os.memfd_create("thalweg-doctor", os.MFD_ALLOW_SEALING))
    except OSError as error:
        return Item("memfd", False, str(error), "shared memory without names", how)
    return Item("memfd", True, platform.release(), "shared memory without names", how)


def _huge_pages() -> Item:
    """Shared memory is filled about three times quicker when the kernel gives it huge pages on advice."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    how = f"echo advise > {setting} (as root)"
    try:
        chosen = setting.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return Item("huge pages for shared memory", False, "", "quicker first use of memory", "a kernel that has them")
    useful = chosen in ("advise", "always", "within_size", "force")
    return Item("huge pages for shared memory", useful, chosen, "quicker first use of memory", how)


def _shared_memory() -> Item:
    try:
        size_bytes = shutil.disk_usage("/dev/shm").total
    except OSError:
        return Item("/dev/shm", False, "", "DataStore backend node-local", "mount -t tmpfs tmpfs /dev/shm")
    how = "mount -o remount,size=8G /dev/shm"
    return Item("/dev/shm", size_bytes >= 1 << 30, f"{size_bytes / 2**30:.1f} GiB", "DataStore backend node-local", how)


def _limit(name: str, which: int, enough: int, shown: Callable[[int], str], needed_for: str, how: str) -> Item:
    soft, _ = resource.getrlimit(which)
    unlimited = soft == resource.RLIM_INFINITY
    return Item(name, unlimited or soft >= enough, "unlimited" if unlimited else shown(soft), needed_for, how)
