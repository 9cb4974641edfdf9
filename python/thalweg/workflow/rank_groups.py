"""The process groups that an MPI launcher gave its ranks on this node, which end with their ranks."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal

from thalweg.workflow.guard import Guard


class RankGroups:
    """Signals what the ranks on this node started, and no group that has the number of one that ended.

    The kernel gives the number of a group again when its last process has gone. So the leader of each is watched, and
    its group killed and forgotten as soon as it has ended.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._leaders: dict[int, int] = {}  # group: descriptor of the process that leads it
        self._ranks: dict[int, int] = {}  # group: how many ranks are in it

    def add(self, group: int) -> None:
        """Take the group of one more rank; it is ours to signal unless its leader has ended."""
        if group <= 1 or group == os.getpgid(0):
            return
        self._ranks[group] = self._ranks.get(group, 0) + 1
        if group not in self._leaders:
            with contextlib.suppress(OSError):
                self._leaders[group] = os.pidfd_open(group)
                self._guard.watch(group)

    def interests(self) -> list[tuple[int, int]]:
        """Return descriptors that are ready when a leader has ended."""
        return [(fd, selectors.EVENT_READ) for fd in self._leaders.values()]

    def reap(self) -> None:
        """Forget the groups whose leader has ended, and kill what it left; other ranks may be in some: not those."""
        poll = select.poll()
        for fd in self._leaders.values():
            poll.register(fd, select.POLLIN)
        ended = {fd for fd, _ in poll.poll(0)}
        for group in [group for group, fd in self._leaders.items() if fd in ended]:
            if self._ranks[group] == 1:
                _signal(group, signal.SIGKILL)
            self._forget(group)

    def signal(self, number: signal.Signals) -> None:
        """Signal all groups that are left."""
        for group in list(self._leaders):
            _signal(group, number)

    def close(self) -> None:
        """Kill and forget all."""
        self.signal(signal.SIGKILL)
        for group in list(self._leaders):
            self._forget(group)

    def _forget(self, group: int) -> None:
        self._guard.forget(group)
        os.close(self._leaders.pop(group))


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
