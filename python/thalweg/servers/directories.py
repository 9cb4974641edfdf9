"""The directories of the file backends: one namespace a run, removed at its end or, after a crash, by the next run."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from thalweg.errors import ConfigError
from thalweg.servers.server import Server, ServerConfig, new_namespace

PREFIX = "thalweg-"
OWNER = "owner.json"
_UNFINISHED, _REMOVED = ".new", ".removed"


class NodeLocalConfig(ServerConfig):
    """Configuration of `node-local`."""

    path: str | None = Field(None, min_length=1)
    shards: int = Field(16, ge=1, le=4096)


class FilesystemConfig(ServerConfig):
    """Configuration of `filesystem`."""

    path: str = Field(min_length=1)
    nodes: int = Field(1, ge=1)
    shards: int | None = Field(None, ge=1, le=65536)


class Namespace:
    """A directory of this process alone under `base`, with a directory for each of `shards`; `remove` it at the end.

    What dead processes left there is removed first, so nothing stays for longer than until the next start.
    """

    def __init__(self, base: Path, name: str, shards: int) -> None:
        sweep(base)
        self.root, self._held = make(base, name, shards)
        _owners.add(self)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        remove(self.root)
        self.let_go()

    def let_go(self) -> None:
        """Give back the lock that shows that this process lives."""
        _owners.discard(self)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


_owners: weakref.WeakSet[Namespace] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A forked child shares the lock; one that outlives the owner would keep its namespace from being swept."""
    for namespace in list(_owners):
        namespace.let_go()


os.register_at_fork(after_in_child=_let_go_in_child)


class _Directories(Server):
    backend: ClassVar[str]

    def __init__(self, name: str, config: NodeLocalConfig | FilesystemConfig) -> None:
        self._name = name
        self._base = Path(config.path) if config.path is not None else default_base()
        self._shards = config.shards or 16 * getattr(config, "nodes", 1)
        self._namespace: Namespace | None = None

    def start(self) -> dict[str, Any]:
        try:
            self._base.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"ServerManager: path: {self._base} cannot be made: {error.strerror}; "
                "give a directory that can be written"
            ) from error
        try:
            self._namespace = Namespace(self._base, self._name, self._shards)
        except OSError as error:
            raise ConfigError(
                f"ServerManager: path: {self._base} cannot be written: {error.strerror}; "
                "give a directory that can be written"
            ) from error
        root = self._namespace.root
        return {"backend": self.backend, "path": str(root), "shards": self._shards, "namespace": root.name}

    def stop(self) -> None:
        if self._namespace is not None:
            self._namespace.remove()
            self._namespace = None


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


def make(base: Path, name: str, shards: int) -> tuple[Path, int]:
    """Make a whole namespace under `base`; returns it, and the descriptor that shows its owner lives while it is open.

    It appears by a rename, so that a visible namespace always has its owner's description. While it is made its name
    tells the host, since only processes of one host may judge by locks whether another still makes it.
    """
    while True:
        root = base / (PREFIX + new_namespace(name))
        unfinished = root.with_name(f".{root.name}.{_host_tag()}{_UNFINISHED}")
        unfinished.mkdir(mode=0o700)
        held = -1
        try:
            held = os.open(unfinished / OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            locked = _lock(held)
            if locked is False:  # a sweep took it for the work of a dead process
                raise FileNotFoundError
            os.pwrite(held, json.dumps(owner("flock" if locked else None)).encode(), 0)
            for number in range(shards):
                (unfinished / f"{number:x}").mkdir(mode=0o700)
            unfinished.rename(root)
        except FileNotFoundError:
            if held >= 0:
                os.close(held)
            if not base.is_dir():
                raise
        except BaseException:
            if held >= 0:
                os.close(held)
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        else:
            return root, held


def owner(lock: str | None) -> dict[str, Any]:
    """Describe this process, and how another can tell later whether it still lives: by `lock`, or by its process id."""
    return {
        "host": socket.gethostname(),
        "uid": os.getuid(),
        "pid": os.getpid(),
        "start": _start_of(os.getpid()),
        "boot": _boot(),
        "lock": lock,
    }


def sweep(base: Path) -> list[Path]:
    """Remove what dead processes of this user left under `base`; returns it.

    That is: namespaces made on this host, also those that were never finished, and what a removal did not get to.
    """
    unfinished = base.glob(f".{PREFIX}*.{_host_tag()}{_UNFINISHED}")
    removed = [root for root in base.glob(PREFIX + "*") if _mine(root) and _remove_if_dead(root, os.O_RDWR)]
    removed += [root for root in unfinished if _mine(root) and _remove_if_dead(root, os.O_RDWR | os.O_CREAT)]
    for root in base.glob(f".{PREFIX}*{_REMOVED}"):  # nobody looks into these any more
        if _mine(root):
            shutil.rmtree(root, ignore_errors=True)
            removed.append(root)
    return removed


def _mine(root: Path) -> bool:
    try:
        status = root.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _remove_if_dead(root: Path, how: int) -> bool:
    """Remove a namespace when its owner was of this host and is dead; tell whether that was so.

    An unfinished one may have no owner's description yet, or half of one. Whoever gets the lock first has it: its
    maker, when it lives, finds it taken and makes another.
    """
    try:
        held = os.open(root / OWNER, how | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        try:
            made_by = json.loads(os.pread(held, 65536, 0))
        except ValueError:
            if not how & os.O_CREAT:
                return False
            made_by = owner("flock")
        if made_by.get("host") != socket.gethostname() or made_by.get("uid") != os.getuid():
            return False
        if made_by.get("lock") == "flock":
            dead = _lock(held) is True
        else:
            dead = made_by.get("boot") != _boot() or _start_of(made_by.get("pid", 0)) != made_by.get("start")
        if dead:
            remove(root)
        return dead
    except (OSError, AttributeError):
        return False
    finally:
        os.close(held)


def _lock(fd: int) -> bool | None:
    """Take the lock that a process keeps for as long as it lives; False: another has it; None: there are no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _host_tag() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def remove(root: Path) -> None:
    """Remove a namespace: first out of sight by a rename, then its files."""
    hidden = root.with_name(f".{root.name.removeprefix('.')}{_REMOVED}")
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
