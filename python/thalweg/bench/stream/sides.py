"""The processes of one run: started, told to begin, heard, and gone at its end."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from thalweg.bench.stream.order import Order
from thalweg.bench.stream.system import TIMEOUT_S
from thalweg.errors import ComponentFailedError, WaitTimeoutError
from thalweg.servers.child_process import start
from thalweg.servers.log_tail import last_lines

_START_S = 60.0
#: A run may take this long for all its events; a side gives up earlier when none comes.
_RUN_S = 10 * TIMEOUT_S


@dataclass(frozen=True)
class Heard:
    """What a side said: the clock at each part of its events, its CPU time, latencies of `pull`, seconds of `push`."""

    stamps_ns: tuple[int, ...]
    cpu_s: float
    latencies_ns: tuple[int, ...] = field(default=(), repr=False)
    pushing_s: float = 0.0


class Side:
    """One side in a process of its own; a context manager that leaves nothing running.

    Raises
    ------
    ComponentFailedError
        When it ends before it should; the message has its last lines.
    WaitTimeoutError
        When it does not answer.
    """

    def __init__(self, name: str, command: Sequence[str], order: Order) -> None:
        self._name = f"bench stream: {name}: the side to {order.role}"
        self._log_fd = os.memfd_create("thalweg-bench-log", os.MFD_CLOEXEC)
        self._said = b""
        self._process = start(
            [*command, *order.words()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log_fd
        )

    def ready(self) -> None:
        """Return when it is connected."""
        if self._line(_START_S) != "ready":
            raise ComponentFailedError(f"{self._name} did not become ready")

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # who is gone is heard of when it should answer
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()

    def heard(self) -> Heard:
        """What it says when it is done."""
        told: dict[str, Any] = json.loads(self._line(_RUN_S))
        stamps, latencies = tuple(told["stamps_ns"]), tuple(told.get("latencies_ns", ()))
        return Heard(stamps, told["cpu_s"], latencies, told.get("pushing_s", 0.0))

    def _line(self, timeout_s: float) -> str:
        assert self._process.stdout is not None
        until = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._said:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise WaitTimeoutError(f"{self._name} did not answer within {timeout_s:.0f} s")
                more = os.read(self._process.stdout.fileno(), 1 << 20)
                if not more:
                    status = self._process.wait(TIMEOUT_S)
                    raise ComponentFailedError(f"{self._name} ended with status {status}: {last_lines(self._log_fd)}")
                self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return line.decode()

    def __enter__(self) -> Side:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            if kind is None:
                self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise WaitTimeoutError(f"{self._name} did not end within {TIMEOUT_S:.0f} s") from None
        finally:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdout.close()
            os.close(self._log_fd)


def run(name: str, command: Sequence[str], orders: Sequence[Order]) -> Iterator[Heard]:
    """Run sides at the same time; the first one is ready before the next starts, all begin together.

    Yields
    ------
    Heard
        Of each side, in their order.
    """
    with contextlib.ExitStack() as running:
        sides = []
        for order in orders:
            sides.append(running.enter_context(Side(name, command, order)))
            sides[-1].ready()
        for side in sides:
            side.go()
        yield from [side.heard() for side in sides]
