"""Reading events of a topic."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from thalweg.errors import CorruptDataError, InvalidError, WaitTimeoutError
from thalweg.stream.drivers.transport import Begin, RawBatch, TransportConsumer
from thalweg.stream.event import Event, EventBatch
from thalweg.stream.future import TIMEOUT_S, Future, check_timeout
from thalweg.stream.packed import Packed
from thalweg.stream.rules.serializer import Serializer
from thalweg.stream.wanted import Wanted

T = TypeVar("T")
_SLICE_S = 0.25
_MOST = 1 << 20
#: So often it is asked whether a partition, of which events were fetched, is still held.
_LOOK_S = 0.1


class Consumer:
    """A member of a named consumer; made by `Topic.consumer`.

    Events that were fetched ahead stay with it until they are taken: a `pull` that times out, is cancelled, or whose
    data selector raises, takes nothing.
    """

    def __init__(
        self,
        topic: str,
        name: str,
        transport: TransportConsumer,
        wanted: Wanted,
        serializer: Serializer,
        timeout_s: float,
    ) -> None:
        self.topic = topic
        self.name = name
        self.timeout_s = timeout_s
        self._transport = transport
        self._wanted = wanted
        self._serializer = serializer
        self._acknowledge = transport.acknowledge
        self._reading = threading.Lock()
        self._batch: RawBatch | None = None
        self._at = 0
        self._look_at = 0.0
        self._closed = False

    def pull(self) -> Future[Event]:
        """Return the future of the next event; nothing is taken before it is waited for."""
        return _Pull(self, self._take_one)

    def pull_many(self, max_events: int = 1000) -> Future[EventBatch]:
        """Return the future of the next events of one partition, as many as are there, at least 1.

        Raises
        ------
        InvalidError
            When `max_events` is below 1.
        """
        if not isinstance(max_events, int) or max_events < 1:
            raise InvalidError(f"pull_many: max_events {max_events!r}; accepted are numbers from 1 on")
        return _Pull(self, lambda: self._take_many(max_events), max_events)

    def events(self, idle_s: float) -> Iterator[Event]:
        """Yield events until none came for `idle_s` seconds, or the consumer is closed."""
        check_timeout(idle_s, "events", "idle_s")
        while not self._closed:
            try:
                event = self.pull().result(idle_s)
            except WaitTimeoutError:
                return
            except InvalidError:
                if self._closed:
                    return
                raise
            yield event

    def __iter__(self) -> Iterator[Event]:
        while not self._closed:
            yield from self.events(self.timeout_s)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while not self._closed:
            try:
                event = await self.pull()
            except WaitTimeoutError:
                continue
            except InvalidError:
                if self._closed:
                    return
                raise
            yield event

    def acknowledge(self, what: Event | EventBatch, *, wait: bool = False) -> None:
        """Remember that this, with all before it in its partition, is done with: no member of this name gets it again.

        What was acknowledged never goes backwards, and outlives this consumer. A server that is killed may forget the
        acknowledgements of its last moments, and then gives these events again.

        Parameters
        ----------
        wait : bool
            Return when the acknowledgement survives the server being killed, for topics in files; acknowledgements of
            several consumers are written together.

        Raises
        ------
        WaitTimeoutError, ServerGoneError
            With `wait`, when the server did not answer within the consumer's `timeout_s`.
        """
        what.acknowledge(wait=wait)

    def seek(self, where: int | Begin, *, offset: int | None = None, time_s: float | None = None) -> None:
        """Read on from elsewhere; what was acknowledged stays so.

        Parameters
        ----------
        where : int or str
            A partition that this member holds, with `offset` or `time_s`; or ``"first"`` or ``"next"``, for all that it
            holds: from where they begin, or end, now.
        offset : int, optional
            The number of the event that comes next.
        time_s : float, optional
            Seconds since 1970: the first event that was appended then or later comes next.

        Raises
        ------
        InvalidError
            When the partition is not held, or there is no such event.
        """
        if isinstance(where, str):
            if where not in ("first", "next") or offset is not None or time_s is not None:
                raise InvalidError(
                    f"seek: {where!r}; accepted are 'first' and 'next', without offset and time_s, and a partition"
                )
            targets: dict[int, int | float | Begin] = dict.fromkeys(self._transport.held(), where)
        elif (offset is None) == (time_s is None):
            raise InvalidError("seek: a partition needs either offset or time_s")
        elif offset is not None:
            targets = {where: int(offset)}
        else:
            targets = {where: check_timeout(time_s, "seek: time_s")}
        self._lock_for_reading(self.timeout_s, "seek")
        try:
            for partition, target in targets.items():
                self._transport.seek(partition, target)
                if self._batch is not None and self._batch.partition == partition:
                    self._batch = None
        finally:
            self._reading.release()

    def lag(self) -> dict[int, int]:
        """Return how many events of each partition that this member holds are not acknowledged yet."""
        return {number: held.next - held.acknowledged for number, held in self._transport.held().items()}

    def close(self, *, forget: bool = False) -> None:
        """Let other members have the partitions; what waits for events here ends. Further calls do nothing.

        Parameters
        ----------
        forget : bool
            Forget the name too, with what it acknowledged, where no other member has it and the technology can.
        """
        if not self._closed:
            self._closed = True
            if forget:
                self._transport.forget()
            else:
                self._transport.close()
            self._batch = None

    def __enter__(self) -> Consumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill(self, max_events: int, until: float, timeout_s: float) -> None:
        """Wait until an event is there, in slices between which others may read; takes none."""
        while not self._fetch(max_events, max(until - time.monotonic(), 0.0)):
            if time.monotonic() >= until:
                raise WaitTimeoutError(
                    f"pull: no event of topic {self.topic!r} came to consumer {self.name!r} within {timeout_s:g} s"
                )

    def _fetch(self, max_events: int, timeout_s: float) -> bool:
        self._lock_for_reading(timeout_s, "pull")
        try:
            if self._closed:
                raise InvalidError(f"pull: consumer {self.name!r} of topic {self.topic!r} is closed")
            if self._batch is None:
                self._batch, self._at = self._transport.pull(max_events, min(timeout_s, _SLICE_S)), 0
            return self._batch is not None
        finally:
            self._reading.release()

    def _lock_for_reading(self, timeout_s: float, operation: str) -> None:
        if not self._reading.acquire(timeout=timeout_s):
            raise WaitTimeoutError(
                f"{operation}: another thread read from consumer {self.name!r} for {timeout_s:g} s; give each its own"
            )

    def _fetched(self) -> RawBatch | None:
        """Return what was fetched and not given out yet; nothing of a partition that another member has now."""
        now = time.monotonic()
        if self._batch is not None and now >= self._look_at:
            self._look_at = now + _LOOK_S
            if not self._transport.holds(self._batch.partition):
                self._batch = None
        return self._batch

    def _take_one(self) -> Event | None:
        with self._reading:
            batch, at = self._fetched(), self._at
            if batch is None:
                return None
            encoded = batch.metadata[at]
            event = Event(batch.partition, batch.first + at, encoded, None, self._serializer, self._acknowledge)
            if self._wanted.whole and batch.data is not None:
                event.data = batch.data[at]
            else:
                event.data = self._get(batch, at, lambda: event.metadata)
            self._advance(batch, at + 1)
            return event

    def _take_many(self, max_events: int) -> EventBatch | None:
        with self._reading:
            batch, at = self._fetched(), self._at
            if batch is None:
                return None
            end = min(at + max_events, len(batch.metadata))
            data: Packed | list[Any]
            if self._wanted.whole and batch.data is not None:
                data = batch.data.part(at, end)
            else:
                data = self._get_many(batch, at, end)
                end = at + len(data)
            self._advance(batch, end)
            return EventBatch(
                batch.partition,
                batch.first + at,
                batch.metadata.part(at, end),
                data,
                self._serializer,
                self._acknowledge,
            )

    def _get_many(self, batch: RawBatch, at: int, end: int) -> list[Any]:
        """Return what is wanted of the data of events, up to the first for which that raises, when it is not this."""
        found: list[Any] = []
        for number in range(at, end):
            decode = partial(self._serializer.decode, batch.metadata[number])
            try:
                found.append(self._get(batch, number, decode))
            except Exception:
                if not found:
                    raise
                break
        return found

    def _get(self, batch: RawBatch, number: int, metadata: Callable[[], Any]) -> Any:
        try:
            return self._wanted.get(self._transport, batch, number, metadata)
        except CorruptDataError:
            if number == self._at:  # else it would be met again and again
                self._advance(batch, number + 1)
            raise

    def _advance(self, batch: RawBatch, at: int) -> None:
        self._at = at
        if at >= len(batch.metadata):
            self._batch = None


class _Pull(Future[T]):
    """What a consumer takes when it is waited for, once."""

    __slots__ = ("_consumer", "_max_events", "_take", "_taken")

    def __init__(self, consumer: Consumer, take: Callable[[], T | None], max_events: int = _MOST) -> None:
        self._consumer = consumer
        self._take = take
        self._max_events = max_events
        self._taken: T | None = None

    def done(self) -> bool:
        return self._taken is not None

    def result(self, timeout_s: float = TIMEOUT_S) -> T:
        consumer = self._consumer
        if self._taken is None and consumer._batch is not None:
            self._taken = self._take()
        if self._taken is None:
            until = time.monotonic() + check_timeout(timeout_s, "pull")
            while self._taken is None:
                consumer._fill(self._max_events, until, timeout_s)
                self._taken = self._take()
        return self._taken

    def __await__(self) -> Generator[Any, None, T]:
        consumer = self._consumer
        until = time.monotonic() + consumer.timeout_s
        while self._taken is None:
            if consumer._batch is None:
                fetching = asyncio.get_running_loop().run_in_executor(
                    None, consumer._fetch, self._max_events, max(until - time.monotonic(), 0.0)
                )
                if not (yield from fetching) and time.monotonic() >= until:
                    raise WaitTimeoutError(
                        f"pull: no event of topic {consumer.topic!r} came to consumer {consumer.name!r} "
                        f"within {consumer.timeout_s:g} s"
                    )
            self._taken = self._take()
        return self._taken
