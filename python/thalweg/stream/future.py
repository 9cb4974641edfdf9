"""What will be known later: waited for by a thread or in asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from thalweg.errors import InvalidError, WaitTimeoutError
from thalweg.stream.identity import EventId

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")

TIMEOUT_S = 30.0
_lock = threading.Lock()


def check_timeout(timeout_s: object, operation: str, name: str = "timeout_s") -> float:
    """Return a number of seconds to wait, given as the argument `name`.

    Raises
    ------
    InvalidError
        When it is not one, at least 0 and finite.
    """
    if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not 0 <= timeout_s < math.inf:
        raise InvalidError(f"{operation}: {name} {timeout_s!r}; accepted are seconds, at least 0 and finite")
    return float(timeout_s)


def until_called(
    give: Callable[[Callable[[], None]], object], forget: Callable[[Callable[[], None]], object] = lambda wake: None
) -> Generator[Any, None, None]:
    """Wait in asyncio until what `give` is given is called, by whatever thread; `forget` takes it back afterwards."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def release() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(release)

    give(wake)
    try:
        yield from waiter
    finally:
        forget(wake)


class Future(ABC, Generic[T_co]):
    """A value that comes later; `result` blocks for it, ``await`` waits in asyncio."""

    __slots__ = ()

    @abstractmethod
    def done(self) -> bool:
        """Tell whether the value, or an error in its place, is there."""

    @abstractmethod
    def result(self, timeout_s: float = TIMEOUT_S) -> T_co:
        """Return the value.

        Raises
        ------
        WaitTimeoutError
            When it did not come in time; it may be asked for again.
        ThalwegError
            The error that came in its place.
        """

    @abstractmethod
    def __await__(self) -> Generator[Any, None, T_co]: ...

    def exception(self, timeout_s: float = TIMEOUT_S) -> BaseException | None:
        """Return the error that came in the value's place, or None.

        Raises
        ------
        WaitTimeoutError
            When neither came in time.
        """
        try:
            self.result(timeout_s)
        except WaitTimeoutError:
            if not self.done():
                raise
            return self._error_met()
        except Exception as error:
            return error
        return None

    def _error_met(self) -> BaseException | None:
        try:
            self.result(0)
        except Exception as error:
            return error
        return None


class Promise(Future[T]):
    """A future that somebody keeps by `keep` or breaks by `fail`, once; later calls do nothing.

    Parameters
    ----------
    what : str
        Operation and context, for the message when a wait passes its deadline.
    """

    __slots__ = ("_callbacks", "_error", "_settled", "_value", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._settled = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], object]] = []

    def keep(self, value: T) -> None:
        """Give the value."""
        self._settle(value, None)

    def fail(self, error: BaseException) -> None:
        """Give an error in the value's place."""
        self._settle(None, error)

    def done(self) -> bool:
        return self._settled

    def result(self, timeout_s: float = TIMEOUT_S) -> T:
        if not self._settled and not self._wait(check_timeout(timeout_s, self._what)):
            raise WaitTimeoutError(f"{self._what}: no answer within {timeout_s:g} s; wait longer or ask again")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def __await__(self) -> Generator[Any, None, T]:
        if not self._settled:
            yield from until_called(self.when_done, self._forget)
        return self.result(0)

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call `callback` when it is settled, at once where it is; it must neither block nor raise."""
        with _lock:
            if not self._settled:
                self._callbacks.append(callback)
                return
        callback()

    def _wait(self, timeout_s: float) -> bool:
        settled = threading.Event()
        self.when_done(settled.set)
        try:
            return settled.wait(timeout_s)
        finally:
            self._forget(settled.set)

    def _forget(self, callback: Callable[[], object]) -> None:
        with _lock, contextlib.suppress(ValueError):
            self._callbacks.remove(callback)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        with _lock:
            if self._settled:
                return
            self._value, self._error, self._settled = value, error, True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class Derived(Future[T], Generic[S, T]):
    """What is made of other futures' values when they are there."""

    __slots__ = ("_convert", "_source")

    def __init__(self, source: Future[S], convert: Callable[[S], T]) -> None:
        self._source = source
        self._convert = convert

    def done(self) -> bool:
        return self._source.done()

    def result(self, timeout_s: float = TIMEOUT_S) -> T:
        return self._convert(self._source.result(timeout_s))

    def __await__(self) -> Generator[Any, None, T]:
        value = yield from self._source.__await__()
        return self._convert(value)


class Appended(Future[EventId]):
    """The identity of one event of a batch, whose promise is the number of its first event."""

    __slots__ = ("_batch", "_index", "_partition")

    def __init__(self, batch: Future[int], partition: int, index: int) -> None:
        self._batch = batch
        self._partition = partition
        self._index = index

    def done(self) -> bool:
        return self._batch.done()

    def result(self, timeout_s: float = TIMEOUT_S) -> EventId:
        return EventId(self._partition, self._batch.result(timeout_s) + self._index)

    def __await__(self) -> Generator[Any, None, EventId]:
        first = yield from self._batch.__await__()
        return EventId(self._partition, first + self._index)


class All(Future[list[T]]):
    """The values of several futures, in their order."""

    __slots__ = ("_futures",)

    def __init__(self, futures: Sequence[Future[T]]) -> None:
        self._futures = futures

    def done(self) -> bool:
        return all(future.done() for future in self._futures)

    def result(self, timeout_s: float = TIMEOUT_S) -> list[T]:
        until = time.monotonic() + check_timeout(timeout_s, "result")
        return [future.result(max(until - time.monotonic(), 0)) for future in self._futures]

    def __await__(self) -> Generator[Any, None, list[T]]:
        values = []
        for future in self._futures:
            values.append((yield from future.__await__()))
        return values
