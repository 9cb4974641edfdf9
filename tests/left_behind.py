"""What a program leaves behind: processes that carry a mark in their environment, entries of shared folders."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

_MARK = "THALWEG_TEST_MARK"
_MEMORY = Path("/dev/shm")
_PATIENCE_S = 20.0


class Mark:
    """An environment in which all that a program starts can be found again."""

    def __init__(self) -> None:
        self._value = uuid.uuid4().hex

    @property
    def env(self) -> Mapping[str, str]:
        """The environment for the program."""
        return {**os.environ, _MARK: self._value}

    def processes(self) -> list[psutil.Process]:
        """Return what carries the mark and runs."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(_MARK) == self._value and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


@contextlib.contextmanager
def nothing_left(*folders: Path) -> Iterator[Mark]:
    """Assert that of what ran in the yielded mark's environment neither a process nor an entry of `folders` stays.

    In /dev/shm, which others use as well, entries of other living processes do not count.
    """
    mark, before = Mark(), {folder: set(folder.iterdir()) for folder in (_MEMORY, *folders)}
    try:
        yield mark
        until = time.monotonic() + _PATIENCE_S
        while (left := mark.processes()) and time.monotonic() < until:  # what the kernel kills takes a moment to go
            time.sleep(0.01)
        assert [(process.pid, process.cmdline()) for process in left] == []
        new = {entry for folder in before for entry in set(folder.iterdir()) - before[folder]}
        assert {entry for entry in new if entry.parent != _MEMORY or _is_abandoned(entry)} == set()
    finally:
        for process in mark.processes():
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


def _is_abandoned(entry: Path) -> bool:
    """Tell whether it is Thalweg's, and its owner is dead."""
    if "thalweg" not in entry.name:
        return False
    try:
        return not psutil.pid_exists(json.loads((entry / "owner.json").read_text())["pid"])
    except (OSError, ValueError):
        return entry.exists()
