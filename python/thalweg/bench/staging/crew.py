"""The processes of the synthetic workflow: started once, given orders case by case, never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from time import monotonic
from types import TracebackType
from typing import Any

from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.workflow.uninterrupted import uninterrupted

_START_S = 60.0
_STOP_S = 10.0


class Member:
    """A process that follows orders; `name` is what people read."""

    def __init__(self, name: str) -> None:
        self.name = name
        mine, theirs = socket.socketpair()
        with theirs:
            self.line: Connection[Any, Any] = Connection(mine.detach())
            command = [sys.executable, "-m", "thalweg.bench.staging.rank", str(theirs.fileno()), str(os.getpid())]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True
            )

    def end(self) -> None:
        """End the process now."""
        self.line.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Crew:
    """Processes by name; a context manager that leaves none of them behind, whatever happens in its block."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._standing: dict[str, Any] = {}

    def order(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Give members their orders, and return what each says that others must know, once all are ready.

        A member that is not there yet is started.

        Raises
        ------
        ComponentFailedError
            When a member fails, with its cause.
        WaitTimeoutError
            When members are not ready in time, naming them.
        """
        for name, order in orders.items():
            if name not in self._members:
                with uninterrupted():  # an interruption inside Popen would lose a process that has started
                    self._members[name] = Member(name)
            self._say(name, order)
        return self._hear(list(orders), "ready", _START_S)

    def standing(self, orders: dict[str, Any]) -> list[Any]:
        """As `order`, for orders that have no end: those that were given before are not given again."""
        self._standing |= self.order({name: order for name, order in orders.items() if name not in self._standing})
        return [self._standing[name] for name in orders]

    def go(self, names: Sequence[str]) -> None:
        """Let members that are ready begin."""
        for name in names:
            self._say(name, "go")

    def results(self, names: Sequence[str], within_s: float) -> dict[str, Any]:
        """What members have to tell at the end of their orders. Raises as `order`."""
        return self._hear(names, "done", within_s)

    def _say(self, name: str, what: Any) -> None:
        try:
            self._members[name].line.send(what)
        except OSError:
            raise self._ended(name) from None

    def _hear(self, names: Sequence[str], expected: str, within_s: float) -> dict[str, Any]:
        """The next word of each; the failure of any member ends the wait."""
        told: dict[str, Any] = {}
        lines = {member.line: member.name for member in self._members.values()}
        deadline = monotonic() + within_s
        while len(told) < len(names):
            spoke = wait(list(lines), max(0.0, deadline - monotonic()))
            if not spoke:
                missing = ", ".join(name for name in names if name not in told)
                raise WaitTimeoutError(f"bench staging: no word ({expected}) from {missing} within {within_s:.0f} s")
            for line in spoke:
                name = lines[line]  # type: ignore[index]
                try:
                    kind, what = self._members[name].line.recv()
                except (EOFError, OSError):
                    raise self._ended(name) from None
                if kind == "failed":
                    raise ComponentFailedError(f"bench staging: the {name} failed: {what}")
                told[name] = what
        return {name: told[name] for name in names}

    def _ended(self, name: str) -> ComponentFailedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._members[name].process.wait(_STOP_S)
        status = self._members[name].process.returncode
        return ComponentFailedError(f"bench staging: the {name} ended without a word, exit status {status}")

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with uninterrupted():
            for member in self._members.values():
                member.end()
