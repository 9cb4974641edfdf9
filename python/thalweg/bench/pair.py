"""Producer and consumer of one contender, alive between rounds, asleep when it is not their turn."""

from __future__ import annotations

import contextlib
import os
import secrets
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
        name, key = f"thalweg-bench-{secrets.token_hex(8)}", secrets.token_bytes(16)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("\0" + name)
            door.listen(2)
            door.settimeout(_START_S)
            worker = [sys.executable, "-m", "thalweg.bench.worker", name, key.hex(), self._locator]
            launcher = self.contender.launcher()
            commands = [launcher + worker] if launcher else [[*worker, "producer"], [*worker, "consumer"]]
            with _uninterrupted():  # an interruption inside Popen would lose a process that has started
                for command in commands:
                    self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))
            pids: dict[str, int] = {}
            while len(pids) < 2:
                role, pid, side = self._admit(door, key)
                self._sides[role], pids[role], self._inbox[role] = side, pid, []
        channel = f"{name}-channel"
        for role in ("producer", "consumer"):
            self._sides[role].send(("open", place, channel, pids["consumer"]))
            self._hear(role, "ready")

    def measure(self, batches: list[Batch]) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """(producer's times, consumer's times) of each batch; all batches are of one size."""
        for step, answer in ((("measure", batches), "prepared"), (("go",), "times")):
            for side in self._sides.values():
                side.send(step)
            answers = [self._hear(role, answer) for role in ("producer", "consumer")]
        return list(zip(answers[0][1], answers[1][1], strict=True))

    def _admit(self, door: socket.socket, key: bytes) -> tuple[str, int, Connection[Any, Any]]:
        """Role, process id and connection of the next side that knows the key."""
        while True:
            try:
                caller, _ = door.accept()
            except TimeoutError:
                raise WaitTimeoutError(
                    f"bench: {self.contender.name}: a side did not start within {_START_S:.0f} s"
                ) from None
            caller.setblocking(True)
            side: Connection[Any, Any] = Connection(caller.detach())
            try:
                if secrets.compare_digest(side.recv_bytes(64), key):
                    role, pid = side.recv()
                    return role, pid, side
            except (EOFError, OSError) as error:
                raise ComponentFailedError(f"bench: {self.contender.name}: a side ended while it started") from error
            side.close()

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
