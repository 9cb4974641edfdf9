"""Tasks that a running component submits, and futures of their results."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

from thalweg.errors import ComponentFailedError, ConfigError, FullError, InvalidError

Result = TypeVar("Result")
LARGEST_BACKLOG = 100_000
DEEPEST = 8
_numbers = itertools.count()  # of the whole process: a late answer to one task is never taken for that to another


class TaskFuture(Future[Result]):
    """The result of a task to come; everything that takes a `concurrent.futures.Future` takes it."""

    taken = False
    _on_cancel: Callable[[], None] | None = None

    def result(self, timeout: float | None = None) -> Result:
        """Return what the task returned; blocks until it has ended, at most `timeout` seconds.

        Raises
        ------
        ComponentFailedError
            When the task failed, with its exception or signal and the last lines of its log.
        TimeoutError
            When the time has passed.
        """
        self.taken = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error of a task that failed, else None; blocks like `result`."""
        self.taken = True
        return super().exception(timeout)

    def cancel(self) -> bool:
        """Give the task up: it is not started if it waits, and its process is killed if it runs."""
        if self.cancelled() or not super().cancel():
            return self.cancelled()
        self.set_running_or_notify_cancel()  # so that wait() and as_completed() see it
        if self._on_cancel is not None:
            self._on_cancel()
        return True


class TaskBook:
    """The tasks that one component has submitted and that have not ended.

    A component is done when its function has returned and its tasks have ended: a task never outlives who submitted it,
    and a failure that nobody looked at fails the component.
    """

    def __init__(self, name: str, rank: int, depth: int, send: Callable[[str, Any], None]) -> None:
        self._name, self._rank, self._depth, self._send = name, rank, depth, send
        self._changed = threading.Condition()
        self._futures: dict[int, TaskFuture[Any]] = {}
        self._failed: list[TaskFuture[Any]] = []
        self._listen: Callable[[], None] | None = None
        self._closed = False

    def listen_with(self, listen: Callable[[], None]) -> None:
        """Call `listen` in a thread of its own as soon as there are answers to wait for; it returns when they end."""
        self._listen = listen

    def submit(
        self, name: str, retries: int, timeout_s: float | None, call: tuple[Any, tuple[Any, ...], dict[str, Any]]
    ) -> TaskFuture[Any]:
        """Send a task to the launcher; see `Tasks.submit`."""
        import cloudpickle

        if self._depth >= DEEPEST:
            raise FullError(f"submit: task {name!r} would be {self._depth + 1} tasks deep; expected at most {DEEPEST}")
        try:
            packed = cloudpickle.dumps(call)
        except Exception as error:
            raise InvalidError(
                f"submit: task {name!r} cannot be sent to another process: {error}; give plain data as arguments"
            ) from error
        future: TaskFuture[Any] = TaskFuture()
        number = next(_numbers)
        future._on_cancel = lambda: self._give_up(number)
        with self._changed:
            if self._closed:
                raise InvalidError(f"submit: {self._name!r} has ended; submit task {name!r} before it returns")
            if len(self._futures) >= LARGEST_BACKLOG:
                raise FullError(
                    f"submit: {len(self._futures)} tasks of {self._name!r} have not ended; expected at most "
                    f"{LARGEST_BACKLOG}: wait for some before submitting more"
                )
            self._futures[number] = future
            if self._listen is not None:
                context = contextvars.copy_context()  # callbacks of futures run there, and may submit tasks
                listener = threading.Thread(target=context.run, args=(self._listen,), name="thalweg-tasks", daemon=True)
                listener.start()
                self._listen = None
        self._send(
            "submit",
            {
                "origin": self._rank,
                "number": number,
                "name": name,
                "retries": retries,
                "timeout_s": timeout_s,
                "depth": self._depth,
                "call": packed,
            },
        )
        return future

    def settle(self, answer: dict[str, Any]) -> None:
        """Take in the launcher's word that a task has ended; runs the callbacks of its future."""
        number = answer["number"]
        with self._changed:
            future = self._futures.get(number)
        if future is None:
            return
        try:
            if answer["done"]:
                future.set_result(pickle.loads(answer["result"]))
            else:
                self._fail(future, ComponentFailedError(answer["error"]))
        except InvalidStateError:
            pass  # cancelled
        except Exception as error:
            self._fail(future, ComponentFailedError(f"task: its result cannot be read here: {error}"))
        self._forget(number)  # only now: a callback may have submitted another task, which `finish` must see

    def lost(self, why: str) -> None:
        """Fail what has not ended: nobody will answer any more."""
        with self._changed:
            self._closed = True
            futures = dict(self._futures)
        for number, future in futures.items():
            if not future.done():
                self._fail(future, ComponentFailedError(why))
            self._forget(number)

    def finish(self) -> None:
        """Wait until all tasks have ended (the launcher's deadlines hold).

        Raises
        ------
        ComponentFailedError
            For a task that failed without anybody having looked at its future.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._futures)
            self._closed = True
        for future in self._failed:
            if not future.taken:
                raise future.exception() or AssertionError

    def _give_up(self, number: int) -> None:
        self._forget(number)
        self._send("cancel", {"origin": self._rank, "number": number})

    def _forget(self, number: int) -> None:
        with self._changed:
            self._futures.pop(number, None)
            self._changed.notify_all()

    def _fail(self, future: TaskFuture[Any], error: ComponentFailedError) -> None:
        self._failed.append(future)
        with contextlib.suppress(InvalidStateError):
            future.set_exception(error)


class Tasks:
    """A kind of task: what its events and its log are called, and what happens when one fails.

    Parameters
    ----------
    name : str
        Name of the kind; default: that of the function.
    retries : int
        How often a task is started again when it fails.
    timeout_s : float, optional
        Seconds after which one attempt counts as failed, and its process is killed.

    Examples
    --------
    >>> from thalweg import Workflow
    >>> from thalweg.workflow import Tasks
    >>> w = Workflow("squares")
    >>> @w.component()
    ... def steer():
    ...     square = Tasks("square", retries=1)
    ...     return sum(future.result() for future in [square.submit(pow, number, 2) for number in range(4)])
    >>> w.launch(timeout_s=30)
    {'steer': 14}
    """

    def __init__(self, name: str | None = None, *, retries: int = 0, timeout_s: float | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise ConfigError(f"Tasks: name is {name!r}; give text that is not empty, or None")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ConfigError(f"Tasks: retries is {retries!r}; give an integer of 0 or more")
        if timeout_s is not None and (
            isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < float("inf")
        ):
            raise ConfigError(f"Tasks: timeout_s is {timeout_s!r}; give seconds, more than 0, or None")
        self.name, self.retries, self.timeout_s = name, retries, timeout_s

    def submit(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> TaskFuture[Result]:
        """Run ``function(*args, **kwargs)`` in another process as soon as one is free; returns at once.

        Raises
        ------
        InvalidError
            Outside of a component, or when function or arguments cannot be pickled.
        FullError
            When too many tasks have not ended yet (100,000), or submit each other too deep (8).
        """
        from thalweg.workflow.inside import current

        context = current()
        if context is None:
            raise InvalidError("submit: no component runs this code; call it in the function of a workflow's component")
        if not callable(function):
            raise InvalidError(f"submit: {function!r} cannot be called; give a function, then its arguments")
        name = self.name or getattr(function, "__name__", None) or type(function).__name__
        return context.tasks.submit(name, self.retries, self.timeout_s, (function, args, kwargs))


def submit(function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> TaskFuture[Result]:
    """Run ``function(*args, **kwargs)`` as a task of the running component; see `Tasks.submit`."""
    return Tasks().submit(function, *args, **kwargs)
