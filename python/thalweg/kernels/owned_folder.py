"""A folder of one kernel's own: removed with the kernel, or, after a kill, by the next kernel that makes one there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

from thalweg.errors import ConfigError

PREFIX = "thalweg-kernel-"
_OWNER = "owner.lock"


class OwnedFolder:
    """A new, empty folder.

    Parameters
    ----------
    parent : str or None
        Where to make it; None for the system's temporary folder.
    keep : bool
        Whether it stays when the kernel is gone.

    Attributes
    ----------
    path : Path

    Raises
    ------
    ConfigError
        When `parent` cannot be made or written.
    """

    def __init__(self, parent: str | None, keep: bool) -> None:
        base = Path(parent if parent is not None else tempfile.gettempdir())
        try:
            base.mkdir(parents=True, exist_ok=True)
            _sweep(base)
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        except OSError as error:
            raise ConfigError(
                f"kernels: options.folder: {base} cannot be used: {error.strerror}; "
                "give a folder that can be made and written"
            ) from error
        self._remove = weakref.finalize(self, _nothing) if keep else weakref.finalize(self, _remove, *self._hold())

    def remove(self) -> None:
        """Remove it and what is in it, unless it is to be kept."""
        self._remove()

    def _hold(self) -> tuple[Path, int]:
        """Show by a lock that the owner lives; locked before it has its name, so that no sweep finds it unlocked."""
        unnamed = self.path / f"{_OWNER}.new"
        held = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: then no sweep gets one either
            fcntl.flock(held, fcntl.LOCK_EX)
        unnamed.rename(self.path / _OWNER)
        return self.path, held


def _remove(path: Path, held: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(held)


def _nothing() -> None:
    return


def _sweep(base: Path) -> None:
    """Remove the folders whose owners were killed."""
    for owner in base.glob(f"{PREFIX}*/{_OWNER}"):
        with contextlib.suppress(OSError):  # held by its living owner, or removed in this moment
            held = os.open(owner, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(owner.parent, ignore_errors=True)
            finally:
                os.close(held)
