"""Producer and consumer of one contender, alive between rounds, asleep when it is not their turn."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from thalweg.bench.contender import TIMEOUT_S, Contender
from thalweg.bench.exchange import Batch
from thalweg.errors import ComponentFailedError, WaitTimeoutError

_START_S = 60.0
_ANSWER_S = 4 * TIMEOUT_S
_STOP_S = 10.0
_ROLES = ("producer", "consumer")
_WORKER = (sys.executable, "-m", "thalweg.bench.worker")


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back until the block is done; a signal mask would not do, as other threads take them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    arrived: list[int] = []
    ends = (signal.SIGINT, signal.SIGTERM)
    earlier = {end: signal.signal(end, lambda number, frame: arrived.append(number)) for end in ends}
    try:
        yield
    finally:
        for end, handler in earlier.items():
            signal.signal(end, handler)
        for number in arrived[:1]:
            signal.raise_signal(number)


class Pair:
    """Both processes of one contender; a context manager that leaves nothing running.

    Raises
    ------
    ComponentFailedError
        When a side fails; the message is its own.
    WaitTimeoutError
        When a side does not answer.
    """

    def __init__(self, contender: Contender, locator: str) -> None:
        self.contender = contender
        self._locator = locator
        self._processes: list[subprocess.Popen[bytes]] = []
        self._sides: dict[str, Connection[Any, Any]] = {}
        self._inbox: dict[str, list[Any]] = {}
        self._ended = False

    def __enter__(self) -> Pair:
        try:
            self._open()
        except BaseException:
            self.end()
            raise
        return self

    def _open(self) -> None:
        place = self.contender.start()
        # What comes over these is unpickled: they have no name that anybody else could connect to.
        with contextlib.ExitStack() as theirs:
            channel = [theirs.enter_context(end) for end in socket.socketpair()]
            ends: dict[str, tuple[socket.socket, socket.socket]] = {}
            for role, end in zip(_ROLES, channel, strict=True):
                mine, its = socket.socketpair()
                self._sides[role], self._inbox[role] = Connection(mine.detach()), []
                ends[role] = (theirs.enter_context(its), end)
            with _uninterrupted():  # an interruption inside Popen would lose a process that has started
                if launcher := self.contender.launcher():
                    self._start([*launcher, *_WORKER, self._locator], list(ends.values()))
                else:
                    for role in _ROLES:
                        self._start([*_WORKER, self._locator, "--role", role], [ends[role]])
        pids = {role: self._hear(role, "here", _START_S)[1] for role in _ROLES}
        for role in _ROLES:
            self._sides[role].send(("open", place, pids["consumer"]))
            self._hear(role, "ready")

    def _start(self, command: list[str], ends: list[tuple[socket.socket, socket.socket]]) -> None:
        """Start processes that inherit control and channel of each of their roles."""
        descriptors = [end.fileno() for pair in ends for end in pair]
        self._processes.append(
            subprocess.Popen(
                [*command, *map(str, descriptors)],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=descriptors,
            )
        )

    def measure(self, batches: list[Batch]) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """(producer's times, consumer's times) of each batch; all batches are of one size."""
        for step, answer in ((("measure", batches), "prepared"), (("go",), "times")):
            for side in self._sides.values():
                side.send(step)
            answers = [self._hear(role, answer) for role in ("producer", "consumer")]
        return list(zip(answers[0][1], answers[1][1], strict=True))

    def _hear(self, role: str, expected: str, timeout_s: float = _ANSWER_S) -> Any:
        """The next answer of one side; the failure of either one ends the wait."""
        inbox = self._inbox[role]
        while not inbox:
            open_sides = {side: name for name, side in self._sides.items()}
            ready = wait(list(open_sides), timeout_s)
            if not ready:
                raise WaitTimeoutError(
                    f"bench: {self.contender.name}: the {role} did not answer ({expected}) within {timeout_s:.0f} s"
                )
            for side in ready:
                assert isinstance(side, Connection)
                self._receive(open_sides[side], side)
        return inbox.pop(0)

    def _receive(self, role: str, side: Connection[Any, Any]) -> None:
        try:
            message = side.recv()
        except (EOFError, OSError):
            codes = [process.poll() for process in self._processes]
            raise ComponentFailedError(
                f"bench: {self.contender.name}: the {role} ended without an answer, exit status {codes}"
            ) from None
        if message[0] == "failed":
            _, cause, is_consequence = message
            other = next(name for name in self._sides if name != role)
            if is_consequence and self._sides[other].poll(_STOP_S):
                self._receive(other, self._sides[other])
            raise ComponentFailedError(f"bench: {self.contender.name}: the {role} failed: {cause}")
        self._inbox[role].append(message)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._ended:
            self._part()
        self.end()

    def _part(self) -> None:
        """Ask both sides to leave, together: some transports part only that way."""
        try:
            for side in self._sides.values():
                side.send(("stop",))
            for role in list(self._sides):
                self._hear(role, "closed", _STOP_S)
                self._sides.pop(role).close()
            for process in self._processes:
                process.wait(_STOP_S)
        except (OSError, subprocess.TimeoutExpired, ComponentFailedError, WaitTimeoutError):
            pass  # everything was measured; what will not leave by itself is ended

    def end(self) -> None:
        """End both processes now and stop the servers; nothing happens the second time."""
        if self._ended:
            return
        self._ended = True
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for side in self._sides.values():
            side.close()
        self.contender.stop()
