"""Collecting pushed events into batches, which a thread appends one after the other."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from thalweg.errors import InvalidError, ServerGoneError, ThalwegError, WaitTimeoutError
from thalweg.stream.future import Appended, Derived, Future, Promise
from thalweg.stream.identity import EventId
from thalweg.stream.packed import Buffer, Packed

#: Where a batch that is adaptive is full.
MOST_EVENTS, MOST_BYTES = 16384, 8 << 20


class Batch:
    """Events of one partition that are appended together: singly pushed ones, or columns."""

    __slots__ = ("columns", "data", "data_sizes", "metadata", "partition", "promise", "size_bytes")

    def __init__(self, partition: int, what: str) -> None:
        self.partition = partition
        self.promise: Promise[int] = Promise(what)
        self.metadata: list[bytes] = []
        self.data: list[Buffer] = []
        self.data_sizes: list[int] = []
        self.size_bytes = 0
        self.columns: tuple[Packed, Packed | None] | None = None


class Batcher:
    """Takes events without waiting, until so many batches are under way.

    Parameters
    ----------
    append : callable
        Appends a batch and returns the number of its first event; called by one thread.
    batch_events : int
        The most events of a batch; 0 for what suits.
    timeout_s : float
        How long a full one blocks at most.
    """

    def __init__(
        self, append: Callable[[Batch], int], what: str, *, batch_events: int, max_num_batches: int, timeout_s: float
    ) -> None:
        self._append = append
        self._what = what
        self._most_events = batch_events or MOST_EVENTS
        self._most_batches = max_num_batches
        self._timeout_s = timeout_s
        self._open: dict[int, Batch] = {}
        self._waiting: deque[Batch] = deque()
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._writing: Batch | None = None
        self._idle = False
        self._failure: BaseException | None = None
        self._closing = False
        self._thread: threading.Thread | None = None

    def push(self, partition: int, metadata: bytes, data: Sequence[Buffer]) -> Future[EventId]:
        """Take an event."""
        size = 0
        for part in data:
            size += len(part)
        with self._lock:
            batch = self._open.get(partition)
            if batch is None or len(batch.metadata) >= self._most_events or batch.size_bytes >= MOST_BYTES:
                batch = self._new(partition)
                self._open[partition] = batch
            index = len(batch.metadata)
            batch.metadata.append(metadata)
            if size:
                batch.data.extend(data)
            batch.data_sizes.append(size)
            batch.size_bytes += size + len(metadata)
            if self._idle:
                self._idle = False
                self._work.notify()
        return Appended(batch.promise, partition, index)

    def push_many(self, partition: int, metadata: Packed, data: Packed | None) -> Future[range]:
        """Take columns of events."""
        count = len(metadata)
        with self._lock:
            batch = self._new(partition)
            self._open.pop(partition, None)  # what is pushed next comes behind
            batch.columns = metadata, data
            if self._idle:
                self._idle = False
                self._work.notify()
        return Derived(batch.promise, lambda first: range(first, first + count))

    def flush(self, timeout_s: float) -> None:
        """Wait for all that was taken."""
        until = time.monotonic() + timeout_s
        with self._lock:
            last = [*self._waiting, *([self._writing] if self._writing else [])]
        for batch in last:
            with contextlib.suppress(ThalwegError):
                batch.promise.result(max(until - time.monotonic(), 0))
            if not batch.promise.done():
                raise WaitTimeoutError(f"flush: {self._what}: {len(last)} batches were not appended in {timeout_s:g} s")
        with self._lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self, timeout_s: float) -> bool:
        """Stop the thread when it has appended all that was taken; tell whether it did in time."""
        with self._lock:
            self._closing = True
            self._work.notify()
            self._room.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True

    def _new(self, partition: int) -> Batch:
        """Begin a batch, as soon as there is room; the lock is held."""
        if self._closing:
            raise InvalidError(f"{self._what}: the producer is closed")
        if len(self._waiting) >= self._most_batches and not self._room.wait_for(
            lambda: len(self._waiting) < self._most_batches or self._closing, self._timeout_s
        ):
            raise WaitTimeoutError(
                f"{self._what}: {self._most_batches} batches were under way for {self._timeout_s:g} s; "
                "raise max_num_batches, or push more slowly"
            )
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._what, daemon=True)
            self._thread.start()
        batch = Batch(partition, self._what)
        self._waiting.append(batch)
        return batch

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    if self._closing:
                        return
                    self._idle = True
                    self._work.wait(60.0)
                    self._idle = False
                batch = self._waiting.popleft()
                self._writing = batch
                if self._open.get(batch.partition) is batch:
                    del self._open[batch.partition]
                self._room.notify()
            try:
                batch.promise.keep(self._append(batch))
            except ThalwegError as error:
                self._fail(batch, error)
            except Exception as error:
                self._fail(batch, ServerGoneError(f"{self._what}: {error!r}"))
            with self._lock:
                self._writing = None

    def _fail(self, batch: Batch, error: BaseException) -> None:
        with self._lock:
            self._failure = self._failure or error
        batch.promise.fail(error)
