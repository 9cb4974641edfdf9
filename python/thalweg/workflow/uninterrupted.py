"""Doing something that a signal must not cut in two."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back what Ctrl-C, SIGTERM and SIGHUP raise until the block is done.

    A process that was started, but is written down nowhere yet, would be left behind. Blocking the signals would not
    do: another thread of the process takes them, and Python then runs the handler in the main thread all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    held: list[int] = []
    before: dict[int, Any] = {}

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)

    try:
        for number in _ENDING:
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, hold)
        yield
    finally:
        for replaced, handler in before.items():
            signal.signal(replaced, handler)
    for late in held:
        before[late](late, None)
