"""One process of the synthetic workflow: follows orders that come over a socket until there are no more."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

_PR_SET_PDEATHSIG = 1


class _ConductorGoneError(Exception):
    """Nobody is there who would want to know."""


def main(arguments: list[str]) -> None:
    """``rank SOCKET CONDUCTOR``: the socket's descriptor, the conductor's process id."""
    descriptor, conductor = map(int, arguments)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != conductor:
        return  # it ended before the kernel knew what to do then
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line: Connection[Any, Any] = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError, _ConductorGoneError):
        while True:
            _follow(line.recv(), line)


def _follow(order: Any, line: Connection[Any, Any]) -> None:
    """Run an order: it says when it is ready, waits for the word, and its result or its failure is told."""

    def ready(what: Any = None) -> None:
        try:
            line.send(("ready", what))
            line.recv()
        except (EOFError, OSError):
            raise _ConductorGoneError from None

    try:
        told = ("done", order.run(ready))
    except Exception as error:
        if isinstance(error, _ConductorGoneError):
            raise
        told = ("failed", f"{type(error).__name__}: {error}")
    line.send(told)


if __name__ == "__main__":
    main(sys.argv[1:])
