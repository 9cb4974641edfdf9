"""Which member of a named consumer holds which partitions."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from thalweg.errors import WaitTimeoutError
from thalweg.stream.drivers.folder.lock_file import LockFile, try_lock, unlock
from thalweg.stream.drivers.folder.refusal import refusals

_PAUSE_S = 0.01


class Member:
    """A member of the consumer whose folder is `folder`; a partition is held by the lock on a file of its own.

    Attributes
    ----------
    held : dict
        The locks of the partitions that it holds.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._members = folder / "members"
        with refusals("consumer"):
            self._members.mkdir(parents=True, exist_ok=True)
            self._name = secrets.token_hex(8)
            self._alive = LockFile(self._members / self._name)
            self._alive.take()
        self.held: dict[int, LockFile] = {}

    def take(self, partitions: Sequence[int], timeout_s: float) -> None:
        """Hold these partitions.

        Raises
        ------
        WaitTimeoutError
            When others hold some for so long.
        """
        until = time.monotonic() + timeout_s
        for partition in partitions:
            while not self._take(partition):
                if time.monotonic() >= until:
                    raise WaitTimeoutError(
                        f"consumer {self._folder.name!r}: another member held partition {partition} for {timeout_s:g} s"
                    )
                time.sleep(_PAUSE_S)

    def share(self, partitions: int) -> tuple[list[int], list[int]]:
        """Hold as many partitions as are due to this member; return those that it took and those that it gave up."""
        due = self._due(partitions)
        given_up = sorted(self.held)[due:]
        for partition in given_up:
            self.held.pop(partition).release()
        taken: list[int] = []
        start = int(self._name, 16) % partitions  # so that not all try the same one first
        for number in range(partitions):
            if len(self.held) >= due:
                break
            partition = (start + number) % partitions
            if partition not in self.held and self._take(partition):
                taken.append(partition)
        return taken, given_up

    def close(self) -> None:
        """Give up all. Further calls do nothing."""
        while self.held:
            self.held.popitem()[1].release()
        self._alive.release(remove=True)

    def _due(self, partitions: int) -> int:
        """As many as there are for each living member; one more for the first of them, where they do not divide."""
        living = sorted(name for name in os.listdir(self._members) if name == self._name or self._lives(name))
        rank = living.index(self._name) if self._name in living else len(living)
        each, more = divmod(partitions, max(len(living), 1))
        return each + (rank < more)

    def _lives(self, name: str) -> bool:
        """Tell whether a member holds its file; that of a dead one is removed."""
        path = self._members / name
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            if not try_lock(fd):
                return True
            path.unlink(missing_ok=True)
            unlock(fd)
            return False
        finally:
            os.close(fd)

    def _take(self, partition: int) -> bool:
        held = LockFile(self._folder / f"{partition}.lock")
        if held.take():
            self.held[partition] = held
            return True
        return False
