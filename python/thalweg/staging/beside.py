"""Calls that run beside their caller, and end with their client or with the interpreter."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from thalweg.errors import FullError

#: Calls of one variable that may run beside the caller at a time, each in a thread of its own.
MOST = 64
#: How long the interpreter waits at its end for the threads, in seconds; they look several times a second.
LAST_S = 2.0

_all: weakref.WeakSet[Beside] = weakref.WeakSet()


class Beside:
    """The threads of one variable; `end` makes its waiting calls return."""

    def __init__(self, name: str, end: Callable[[], None]) -> None:
        self._name, self._end = name, end
        self._threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._room = threading.BoundedSemaphore(MOST)

    def thread(self, run: Callable[..., None], *args: Any) -> threading.Thread:
        """Start a thread."""
        if not _all:
            # Once is enough, and twice does no harm.
            atexit.register(_end_all)
        _all.add(self)
        # The interpreter does not wait for a daemon: `_end_all` ends it in time.
        thread = threading.Thread(target=run, args=args, name=f"thalweg {self._name}", daemon=True)
        thread.start()
        self._threads.add(thread)
        return thread

    def call(self, function: Callable[..., Any], *args: Any, **how: Any) -> Future[Any]:
        """Call `function` in a thread; `FullError` when there are too many."""
        if not self._room.acquire(blocking=False):
            detail = f"{MOST} calls beside are under way; wait for one of their futures"
            raise FullError(f"stage: variable {self._name!r}: {detail}")
        future: Future[Any] = Future()
        self.thread(self._run, future, function, args, how)
        return future

    def _run(self, future: Future[Any], function: Callable[..., Any], args: Any, how: Any) -> None:
        future.set_running_or_notify_cancel()
        try:
            result = function(*args, **how)
        except BaseException as error:  # whatever it is, who asks the future is told
            self._room.release()
            future.set_exception(error)
        else:
            self._room.release()
            future.set_result(result)

    def end(self) -> list[threading.Thread]:
        """End what waits; the threads that still run."""
        threads = [thread for thread in self._threads if thread.is_alive()]
        if threads:
            self._end()
        return threads


def _end_all() -> None:
    for thread in [thread for beside in list(_all) for thread in beside.end()]:
        if thread is not threading.current_thread():
            thread.join(LAST_S)
