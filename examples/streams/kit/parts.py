"""Processes that perform calls for an example, started together and ended together."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any

from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.servers.child_process import start

TIMEOUT_S = 300.0
_STOP_S = 5.0


class Part:
    """One process; it performs a call at a time, and dies with the process that started it."""

    def __init__(self, name: str) -> None:
        self.name = name
        mine, its = socket.socketpair()
        home = str(Path(__file__).parent.parent)
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        env = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "kit.parts", str(its.fileno())]
        with its:  # a session of its own: Ctrl-C reaches the parent alone, which ends its parts
            self._process: subprocess.Popen[bytes] = start(
                command, env=env, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        self.connection = Connection(mine.detach())

    def close(self) -> None:
        """End the process; one that still works is killed."""
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if sys.exc_info()[0] else _STOP_S)
        self._process.kill()
        self._process.wait()


class Parts:
    """Several processes; a context manager that ends them all."""

    def __init__(self, names: Sequence[str]) -> None:
        self._parts: list[Part] = []
        try:
            for name in names:
                self._parts.append(Part(name))
        except BaseException:
            self.close()
            raise

    def begin(self, place: int, call: str, /, **arguments: Any) -> None:
        """Have one process perform ``"module:function"``; what it returns is to be had from `results`."""
        self._parts[place].connection.send((call, arguments))

    def results(self, timeout_s: float = TIMEOUT_S) -> list[Any]:
        """Wait for the answer of every process, in the order of the processes.

        Raises
        ------
        ComponentFailedError
            When one failed or ended; the others are not waited for.
        WaitTimeoutError
            When one took too long.
        """
        waiting: dict[Any, int] = {part.connection: place for place, part in enumerate(self._parts)}
        answers: list[Any] = [None] * len(self._parts)
        until = time.monotonic() + timeout_s
        while waiting:
            ready = wait(list(waiting), max(until - time.monotonic(), 0.0))
            if not ready:
                late = ", ".join(self._parts[place].name for place in waiting.values())
                raise WaitTimeoutError(f"{late}: not done within {timeout_s:g} s")
            for connection in ready:
                place = waiting.pop(connection)
                answers[place] = self._answer(self._parts[place])
        return answers

    def all(self, call: str, each: Sequence[dict[str, Any]]) -> list[Any]:
        """Have every process perform a call at once, each with arguments of its own; return their answers."""
        for place, arguments in enumerate(each):
            self.begin(place, call, **arguments)
        return self.results()

    def close(self) -> None:
        """End all processes."""
        for part in self._parts:
            part.close()

    def __enter__(self) -> Parts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _answer(part: Part) -> Any:
        try:
            failed, answer = part.connection.recv()
        except (EOFError, ConnectionError):
            raise ComponentFailedError(f"{part.name}: its process ended; what it said stands above") from None
        if failed:
            raise ComponentFailedError(f"{part.name}: {answer}")
        return answer


def serve(orders: Connection) -> None:
    """Perform calls until nobody gives any."""
    while True:
        try:
            call, arguments = orders.recv()
        except (EOFError, ConnectionError):
            return
        module, _, name = call.partition(":")
        try:
            answer = (False, getattr(importlib.import_module(module), name)(**arguments))
        except Exception as error:
            answer = (True, "".join(traceback.format_exception(error)))
        with contextlib.suppress(ConnectionError):
            orders.send(answer)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
