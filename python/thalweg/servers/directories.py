"""The directories of the file backends: one namespace a run, removed at its end or, after a crash, by the next run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from thalweg.errors import ConfigError
from thalweg.servers.server import Server, ServerConfig, new_namespace

PREFIX = "thalweg-"
OWNER = "owner.json"


class NodeLocalConfig(ServerConfig):
    """Configuration of `node-local`."""

    path: str | None = Field(None, min_length=1)
    shards: int = Field(16, ge=1, le=4096)


class FilesystemConfig(ServerConfig):
    """Configuration of `filesystem`."""

    path: str = Field(min_length=1)
    nodes: int = Field(1, ge=1)
    shards: int | None = Field(None, ge=1, le=65536)


class _Directories(Server):
    backend: ClassVar[str]

    def __init__(self, name: str, config: NodeLocalConfig | FilesystemConfig) -> None:
        self._name = name
        self._base = Path(config.path) if config.path is not None else default_base()
        self._shards = config.shards or 16 * getattr(config, "nodes", 1)
        self._root: Path | None = None

    def start(self) -> dict[str, Any]:
        try:
            self._base.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"ServerManager: path: {self._base} cannot be made: {error.strerror}; "
                "give a directory that can be written"
            ) from error
        sweep(self._base)
        root = self._base / (PREFIX + new_namespace(self._name))
        try:
            root.mkdir(mode=0o700)
        except OSError as error:
            raise ConfigError(
                f"ServerManager: path: {self._base} cannot be written: {error.strerror}; give a directory that can be"
            ) from error
        self._root = root
        (root / OWNER).write_text(json.dumps(owner()))
        for number in range(self._shards):
            (root / f"{number:x}").mkdir(mode=0o700)
        return {"backend": self.backend, "path": str(root), "shards": self._shards, "namespace": root.name}

    def stop(self) -> None:
        if self._root is not None:
            remove(self._root)
            self._root = None


class NodeLocalServer(_Directories):
    """A namespace in the node's memory, by default under /dev/shm."""

    Config = NodeLocalConfig
    backend = "node-local"


class FilesystemServer(_Directories):
    """A namespace on a shared file system; shards grow with `nodes`."""

    Config = FilesystemConfig
    backend = "filesystem"


def default_base() -> Path:
    """Return /dev/shm where it can be written, else $TMPDIR or /tmp."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def owner() -> dict[str, Any]:
    """Describe this process so that another can tell later whether it still lives."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "uid": os.getuid(), "pid": pid, "start": _start_of(pid), "boot": _boot()}


def sweep(base: Path) -> list[Path]:
    """Remove the namespaces under `base` that dead processes of this user on this node left; returns them."""
    removed = []
    for root in base.glob(PREFIX + "*"):
        try:
            made_by = json.loads((root / OWNER).read_text())
        except (OSError, ValueError):
            continue
        here = made_by.get("host") == socket.gethostname() and made_by.get("uid") == os.getuid()
        alive = made_by.get("boot") == _boot() and _start_of(made_by.get("pid", 0)) == made_by.get("start")
        if here and not alive:
            remove(root)
            removed.append(root)
    return removed


def remove(root: Path) -> None:
    """Remove a namespace: first out of sight by a rename, then its files."""
    hidden = root.with_name(f".{root.name}.removed")
    with contextlib.suppress(OSError):
        root.rename(hidden)
        root = hidden
    shutil.rmtree(root, ignore_errors=True)


def _start_of(pid: int) -> str | None:
    """Return when a process started, in clock ticks since boot; None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
