"""What code that runs inside a component can ask and tell."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable

from thalweg.workflow.progress import Progress

_SHORTEST_INTERVAL_S = 0.1


class ComponentContext:
    """The component that runs, and its line to the launcher."""

    def __init__(self, name: str, send: Callable[[Progress], None], stop: threading.Event) -> None:
        self.name = name
        self.stop = stop
        self._send = send
        self._last_s = float("-inf")

    def report(self, done: float, total: float, note: str) -> None:
        """Pass progress on, at most ten times a second; the last one (done == total) always."""
        now = time.monotonic()
        if done < total and now - self._last_s < _SHORTEST_INTERVAL_S:
            return
        self._last_s = now
        self._send(Progress(self.name, done, total, note))


_current: contextvars.ContextVar[ComponentContext | None] = contextvars.ContextVar("thalweg_component", default=None)


def enter(context: ComponentContext) -> None:
    """Make `context` the one of this thread."""
    _current.set(context)


def report_progress(done: float, total: float, note: str = "") -> None:
    """Tell the launcher how far this component is; cheap enough to call in every iteration. Nothing outside of one."""
    context = _current.get()
    if context is not None:
        context.report(done, total, note)


def stop_requested() -> bool:
    """Tell whether this component was asked to stop. Threads must ask; a process is ended by a signal."""
    context = _current.get()
    return context is not None and context.stop.is_set()
