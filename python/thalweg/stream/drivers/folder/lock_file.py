"""Locks between processes that end with their holder, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from thalweg.errors import WaitTimeoutError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0001, 0.01


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file when nobody holds it; tell whether it is locked now."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(fd: int, timeout_s: float, what: str, *, shared: bool = False) -> None:
    """Lock an open file.

    Raises
    ------
    WaitTimeoutError
        When others hold it for so long.
    """
    until, pause_s = time.monotonic() + timeout_s, _FIRST_PAUSE_S
    while not try_lock(fd, shared=shared):
        if time.monotonic() >= until:
            raise WaitTimeoutError(f"{what}: another process held the lock for {timeout_s:g} s; see whether it hangs")
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def unlock(fd: int) -> None:
    """Let others have the lock."""
    fcntl.flock(fd, fcntl.LOCK_UN)


class LockFile:
    """A file that this object holds locked, from `take` until `release`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def take(self) -> bool:
        """Make the file and lock it, unless another holds it; tell whether it is held."""
        while self._fd < 0:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            if not try_lock(fd):
                os.close(fd)
                return False
            if self._is_named(fd):
                self._fd = fd
            else:  # removed between opening and locking
                os.close(fd)
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let others have it. Further calls do nothing."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        if remove:
            with contextlib.suppress(OSError):
                self._path.unlink()
        unlock(fd)
        os.close(fd)

    def _is_named(self, fd: int) -> bool:
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return False
        held = os.fstat(fd)
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
