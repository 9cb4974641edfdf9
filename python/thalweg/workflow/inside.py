"""What code that runs inside a component can ask and tell."""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from thalweg.workflow.tasks import TaskBook

_SHORTEST_INTERVAL_S = 0.1


class ComponentContext:
    """The component that runs, and its line to the launcher.

    Parameters
    ----------
    send : callable
        Sends one message, a kind and its content, to the launcher.
    stop : threading.Event
        Set when the component is asked to stop.
    depth : int
        0 for a component, one more for a task than for what submitted it.
    """

    def __init__(
        self, name: str, rank: int, send: Callable[[str, Any], None], stop: threading.Event, depth: int = 0
    ) -> None:
        self.name, self.rank, self.stop = name, rank, stop
        self.tasks = TaskBook(name, rank, depth, send)
        self._send = send
        self._last_s = float("-inf")

    def report(self, done: float, total: float, note: str) -> None:
        """Pass progress on, at most ten times a second; the last one (done == total) always. Rank 0 speaks for all."""
        now = time.monotonic()
        if self.rank != 0 or (done < total and now - self._last_s < _SHORTEST_INTERVAL_S):
            return
        self._last_s = now
        self._send("progress", (self.name, done, total, note))


_current: contextvars.ContextVar[ComponentContext | None] = contextvars.ContextVar("thalweg_component", default=None)
_of_process: ComponentContext | None = None


def enter(context: ComponentContext, *, whole_process: bool) -> None:
    """Make `context` the one of this thread, or of all threads of a process that runs nothing else."""
    global _of_process
    if whole_process:
        _of_process = context
    else:
        _current.set(context)


def current() -> ComponentContext | None:
    """Return the component that runs this code, or None outside of one."""
    return _current.get() or _of_process


def _leave_in_child() -> None:
    """A forked child shares the line to the launcher, but nobody in it reads the answers."""
    global _of_process
    _of_process = None
    _current.set(None)


os.register_at_fork(after_in_child=_leave_in_child)


def report_progress(done: float, total: float, note: str = "") -> None:
    """Tell the launcher how far this component is; cheap enough to call in every iteration. Nothing outside of one."""
    context = current()
    if context is not None:
        context.report(done, total, note)


def stop_requested() -> bool:
    """Tell whether this component was asked to stop. Threads must ask; a process is ended by a signal."""
    context = current()
    return context is not None and context.stop.is_set()
