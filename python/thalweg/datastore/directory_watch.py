"""Waking up when a file is renamed into a directory: inotify where it is dependable, else polling that backs off."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import time
from collections.abc import Iterable
from pathlib import Path

_IN_MOVED_TO, _IN_CREATE, _IN_DELETE_SELF = 0x80, 0x100, 0x400
# statfs f_type of file systems on which every writer is on this node: a rename there always raises an event here.
_LOCAL = {0x01021994, 0x858458F6, 0xEF53, 0x58465342, 0x9123683E, 0x794C7630, 0xF2F52010, 0x2FC12FC1}
_SHORTEST_POLL_S, _LONGEST_POLL_S = 0.0005, 0.05
_SAFETY_POLL_S = 1.0


class _Libc:
    """The three calls that Python's standard library lacks."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def inotify_init(self) -> int:
        fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        return fd

    def add_watch(self, fd: int, path: Path, mask: int) -> None:
        if self._libc.inotify_add_watch(fd, os.fsencode(path), ctypes.c_uint32(mask)) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", str(path))

    def file_system(self, path: Path) -> int:
        buffer = (ctypes.c_long * 32)()
        if self._libc.statfs(os.fsencode(path), ctypes.byref(buffer)) != 0:
            return 0
        return int(buffer[0]) & 0xFFFFFFFF


_libc: _Libc | None = None


def _calls() -> _Libc:
    global _libc
    if _libc is None:
        _libc = _Libc()
    return _libc


def dependable(path: Path) -> bool:
    """Tell whether every rename under `path` can be seen by inotify on this node (not so on Lustre, NFS, GPFS)."""
    return _calls().file_system(path) in _LOCAL


class DirectoryWatch:
    """Sleeps until something is renamed into one of some directories. Keep it: ending one costs milliseconds.

    Watch the directories first, look for the file second, sleep third: then no rename is missed.

    Parameters
    ----------
    use_inotify : bool
        False: poll with a pause that grows from 0.5 ms to 50 ms.
    """

    def __init__(self, *, use_inotify: bool) -> None:
        self._fd = -1
        self._pause_s = _SHORTEST_POLL_S
        self._watched: set[Path] = set()
        if not use_inotify:
            return
        with contextlib.suppress(OSError):  # the user's limit on instances is reached: polling still works
            self._fd = _calls().inotify_init()
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)

    def watch(self, directories: Iterable[Path]) -> None:
        """Watch `directories`, which exist (else FileNotFoundError), from now on; what happened before is forgotten."""
        self._pause_s = _SHORTEST_POLL_S
        if self._fd < 0:
            return
        self._drain()
        try:
            for directory in set(directories) - self._watched:
                _calls().add_watch(self._fd, directory, _IN_MOVED_TO | _IN_CREATE | _IN_DELETE_SELF)
                self._watched.add(directory)
        except FileNotFoundError:
            raise
        except OSError:  # the user's limit on watches is reached: polling still works
            self.close()

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self._fd, 65536)) > 32768:
                pass

    def sleep(self, until: float) -> None:
        """Block until something happened, or ``time.monotonic()`` is `until`. May wake up for nothing."""
        left = until - time.monotonic()
        if left <= 0:
            return
        if self._fd < 0:
            time.sleep(min(left, self._pause_s))
            self._pause_s = min(self._pause_s * 2, _LONGEST_POLL_S)
            return
        self._poll.poll(min(left, _SAFETY_POLL_S) * 1000)
        self._drain()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
