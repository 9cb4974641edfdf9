"""The lock on a result folder: one run at a time writes into it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

from thalweg.errors import FolderInUseError, InvalidError

#: File inside the folder; it is there while a run goes on, and is left behind, unlocked, by a run that was killed.
LOCK_NAME = "run.lock"


class FolderLock:
    """Holds a result folder for one run; makes the folder when it is not there. Does not block.

    The lock ends with `release`, with this object, or with the process, however that ends.

    Parameters
    ----------
    folder : Path
        The result folder.

    Raises
    ------
    FolderInUseError
        When a run of any process holds it; the message names the process.
    InvalidError
        When the folder cannot be made or written into.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._fd = -1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while not self._take():
                pass
        except BlockingIOError:
            owner = self._owner()
            raise FolderInUseError(
                f"RunFolder: {folder} is in use by a run of process {owner}; wait for its end or give another folder"
            ) from None
        except OSError as error:
            raise InvalidError(
                f"RunFolder: {folder} cannot hold a run: {error.strerror}; give a folder that can be made and written"
            ) from None

    @staticmethod
    def held(folder: Path) -> bool:
        """Does a run of any process hold the folder now? Looking takes it for an instant."""
        try:
            fd = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def release(self) -> None:
        """Let other runs have the folder. Further calls do nothing."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        with contextlib.suppress(OSError):  # while it is still locked, so that nobody else's file is removed
            self._path.unlink()
        fcntl.flock(fd, fcntl.LOCK_UN)  # a forked child may hold a copy of the descriptor
        os.close(fd)

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        if self._fd >= 0:  # no release: in a forked child, it would end the lock of its parent
            os.close(self._fd)

    def _take(self) -> bool:
        """Lock the file; False when its last holder removed it meanwhile, so that what was locked is nobody's."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._is(fd):
                os.close(fd)
                return False
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(fd)
            raise
        self._fd = fd
        return True

    def _is(self, fd: int) -> bool:
        """Is the locked file the one that has the name?"""
        try:
            named, held = os.stat(self._path), os.fstat(fd)
        except FileNotFoundError:
            return False
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def _owner(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8").strip() or "(just started)"
        except OSError:
            return "(just ended)"
