"""Each thing that Thalweg can use, looked for without importing or starting it where that is enough."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from thalweg.sizes import format_size

_ASK_S = 10.0
_MPI_SAYS = {"Open MPI": r"\(Open MPI\)\s+(\S+)", "MPICH": r"HYDRA build details:\s+Version:\s+(\S+)"}


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
        ("redis", "backend redis", "pip install 'thalweg[redis]'"),
        ("hiredis", "quick reads from Redis", "pip install 'thalweg[redis]'"),
        ("dragonhpc", "backend dragon", "pip install 'thalweg[dragon]'"),
        ("mpi4py", "collectives, IO with MPI", "pip install 'thalweg[mpi]'"),
        ("h5py", "IO kernels", "pip install 'thalweg[io]'"),
        ("xarray", "staged variables as datasets", "pip install 'thalweg[xarray]'"),
    ]
    peers = [
        ("iceoryx2", "peer in bench transport", "pip install iceoryx2"),
        ("pyzmq", "peer in bench transport, bench stream", "pip install pyzmq"),
        ("lmdb", "peer in bench transport", "pip install lmdb"),
        ("confluent-kafka", "peer in bench stream", "pip install confluent-kafka"),
    ]
    return [
        Item("python", sys.version_info >= (3, 10), platform.python_version(), "everything", "Python 3.10 or newer"),
        _native(),
        *(_library(*library) for library in libraries),
        _parallel_hdf5(),
        _program("redis-server", ["--version"], "backend redis", "apt-get install redis-server"),
        _program("java", ["--version"], "a Kafka broker", "apt-get install default-jre-headless"),
        _program("mvn", ["--version"], "fetching a Kafka broker", "apt-get install maven"),
        _mpi("Open MPI", "openmpi", "apt-get install openmpi-bin"),
        _mpi("MPICH", "mpich", "apt-get install mpich"),
        _program("srun", ["--version"], "remote components", "a cluster with Slurm"),
        _program("nvidia-smi", ["--query-gpu=name", "--format=csv,noheader"], "kernels on cuda", "an NVIDIA driver"),
        _library_named("CuPy", "cupy", "kernels on cuda", "pip install cupy-cuda12x"),
        _library_named("dpnp", "dpnp", "kernels on xpu", "pip install dpnp"),
        _gpus(),
        _program("cargo", ["--version"], "building from source", "https://rustup.rs"),
        _program("cmake", ["--version"], "C, C++, Fortran, Kokkos", "apt-get install cmake"),
        _program("gfortran", ["-dumpfullversion"], "Fortran", "apt-get install gfortran"),
        _kokkos(),
        _program("chromium", ["--version"], "tests of the reports", "apt-get install chromium"),
        *(_library(*library) for library in peers),
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


def _library_named(item: str, prefix: str, needed_for: str, how: str) -> Item:
    """A library whose package is called differently for each version of what it drives, such as ``cupy-cuda12x``."""
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"] or ""
        if name == prefix or name.startswith(f"{prefix}-"):
            return Item(item, True, f"{name} {package.version}", needed_for, how)
    return Item(item, False, "", needed_for, how)


def _parallel_hdf5() -> Item:
    """Whether h5py was built with MPI; asked of another process, as it would load MPI into this one."""
    item, needed_for = "h5py with MPI", "IO with MPI, one file"
    how = "HDF5_MPI=ON CC=mpicc pip install --no-binary=h5py h5py"
    answer = _answer([sys.executable, "-c", "import h5py; print(h5py.get_config().mpi, h5py.version.hdf5_version)"])
    parallel, _, version = (answer or "").strip().partition(" ")
    return Item(item, parallel == "True", f"HDF5 {version}" if parallel == "True" else "", needed_for, how)


def _mpi(item: str, launcher: str, how: str) -> Item:
    """An MPI's launcher, as a remote component would find it."""
    from thalweg.errors import MissingLibraryError
    from thalweg.workflow.launchers import find_launcher

    needed_for = "remote components, MPI"
    try:
        _, path = find_launcher(launcher, "doctor")
    except MissingLibraryError:
        return Item(item, False, "", needed_for, how)
    version = mpi_version(_answer([path, "--version"]) or "")
    return Item(item, True, f"{version or ''} ({Path(path).name})".strip(), needed_for, how)


def mpi_version(answer: str) -> str | None:
    """The version in what an MPI launcher says of itself."""
    own = re.search(r"(?:\(Open MPI\)|\(OpenRTE\)|HYDRA build details:\s+Version:)\s+(\S+)", answer)
    return own.group(1) if own else None


def _kokkos() -> Item:
    """The Kokkos that programs with staging views are compiled against."""
    from thalweg.cli.kokkos import find_kokkos

    needed_for, how = "Kokkos views in staging", "apt-get install libtrilinos-kokkos-dev"
    found = find_kokkos()
    if found is None:
        return Item("Kokkos", False, "", needed_for, how)
    enough = tuple(int(part) for part in found.version.split(".")) >= (3, 4)
    version = f"{found.version} ({', '.join(found.backends) or 'no backend'}) in {found.include}"
    return Item("Kokkos", enough, version, needed_for, "" if enough else "Kokkos 3.4 or newer")


def _gpus() -> Item:
    """GPUs as the kernel shows them; whether a library reaches them is in the rows above."""
    nvidia = list(Path("/proc/driver/nvidia/gpus").glob("*"))
    others = [] if nvidia else list(Path("/dev/dri").glob("renderD*"))
    count = len(nvidia) or len(others)
    maker = "NVIDIA" if nvidia else "render nodes"
    return Item(
        "GPUs", count > 0, f"{count} {maker}" if count else "none", "kernels on a GPU, NCCL", "a machine with one"
    )


def _answer(command: list[str]) -> str | None:
    """What a program prints; None when it fails or does not answer in time."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def _program(name: str, question: list[str], needed_for: str, how: str) -> Item:
    """A program on the path or beside this interpreter, and its version, else the words around a digit."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.exists() else shutil.which(name)
    if path is None:
        return Item(name, False, "", needed_for, how)
    answer = _answer([path, *question])
    if answer is None:
        return Item(name, False, f"{path} does not answer", needed_for, how)
    number = re.search(r"\d+(\.\d+)+[^\s\x1b]*", answer) if question == ["--version"] else None
    lines = [line.strip() for line in answer.splitlines() if any(letter.isdigit() for letter in line)]
    version = number.group() if number else " ".join(lines[0].split())[:40] if lines else ""
    return Item(name, True, version, needed_for, how)


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
        return Item("/dev/shm", False, "", "backend node-local", "mount -t tmpfs tmpfs /dev/shm")
    how = "mount -o remount,size=8G /dev/shm"
    return Item("/dev/shm", size_bytes >= 1 << 30, f"{size_bytes / 2**30:.1f} GiB", "backend node-local", how)


def _limit(name: str, which: int, enough: int, shown: Callable[[int], str], needed_for: str, how: str) -> Item:
    soft, _ = resource.getrlimit(which)
    unlimited = soft == resource.RLIM_INFINITY
    return Item(name, unlimited or soft >= enough, "unlimited" if unlimited else shown(soft), needed_for, how)
